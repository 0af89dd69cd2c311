package runs

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/store"
)

// Prune removes the sessions that nobody uses and that need not stay, with their
// pages, the records of their turns and what they have spent: of each agent those
// beyond a number, by their last event, and those whose last event was before a
// time. Sessions in which messages wait stay, and those whose last turn has not ended. It
// returns how many went.
func (s *Sessions) Prune(ctx context.Context, keep Keep, rest Rest) (n int, err error) {
	fail := func(err error) (int, error) { return n, fmt.Errorf("prune sessions: %w", err) }
	for key, err := range store.Keys(ctx, s.book.opts.Store, gonePrefix, "") { // what a crash left
		if err == nil {
			err = s.finish(ctx, prefix+"head/"+strings.TrimPrefix(key, gonePrefix), rest)
		}
		if err != nil {
			return fail(err)
		}
	}
	remove := func(h heading) error {
		went, err := s.remove(ctx, h, rest)
		if went {
			n++
		}
		return err
	}
	var latest latestHeads // of the life at hand
	var of string
	for from, more := "", true; more; {
		rows, next, err := s.book.opts.Store.Page(ctx, prefix+"head/", from, prunedBatch)
		if err != nil {
			return fail(err)
		}
		for _, row := range rows {
			h := heading{key: row.Key, rev: row.Rev}
			if err := json.Unmarshal(row.Value, &h.Head); err != nil {
				return fail(fmt.Errorf("read session %s: %w", row.Key, err))
			}
			if life := h.life(); life != of {
				latest, of = nil, life
			}
			rests, err := s.rests(ctx, &h)
			switch {
			case err != nil || rests || h.Waiting > 0:
			case before(h.Last.UnixMilli(), keep.Before):
				err = remove(h)
			case keep.Number > 0:
				if heap.Push(&latest, h); len(latest) > keep.Number {
					err = remove(heap.Pop(&latest).(heading))
				}
			}
			if err != nil {
				return fail(err)
			}
		}
		from, more = next, next != ""
		if err := rest(ctx); err != nil {
			return fail(err)
		}
	}
	return n, nil
}

// rests reports whether the last turn of a session has not ended: it waits, or executes.
// A copy's is another session's.
func (s *Sessions) rests(ctx context.Context, h *heading) (bool, error) {
	if h.Run == "" {
		return false, nil
	}
	of := tools.Life(h.life())
	owner, err := ucan.ParseDID(of.Owner())
	if err != nil {
		return false, err
	}
	rec, err := s.book.Find(ctx, owner, h.Run)
	if fault.Of(err) == fault.NotFound { // another principal's
		return true, nil
	}
	return rec.Of == of && rec.Session == h.ID && !rec.Over(), err
}

// heading is a head, and where it stands.
type heading struct {
	Head
	key string
	rev uint64
}

// life is whose session it is, as the key says: lives have slashes, sessions none.
func (h *heading) life() string {
	return strings.TrimPrefix(h.key[:strings.LastIndexByte(h.key, '/')], prefix+"head/")
}

// latestHeads is a heap of heads, with that of the oldest event first.
type latestHeads []heading

var _ heap.Interface = (*latestHeads)(nil)

func (l latestHeads) Len() int { return len(l) }
func (l latestHeads) Less(i, j int) bool {
	return cmp.Or(l[i].Last.Compare(l[j].Last), strings.Compare(l[i].ID, l[j].ID)) < 0
}
func (l latestHeads) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *latestHeads) Push(h any)   { *l = append(*l, h.(heading)) }
func (l *latestHeads) Pop() any {
	last := len(*l) - 1
	h := (*l)[last]
	*l = (*l)[:last]
	return h
}

// gonePrefix is where sessions are marked whose pages are still to be removed:
// gone/<life>/<session>.
const gonePrefix = prefix + "gone/"

func graveKey(headKey string) string { return gonePrefix + strings.TrimPrefix(headKey, prefix+"head/") }

// remove removes a session that nobody uses: in one step its head, and then what
// is left. It reports whether it did.
func (s *Sessions) remove(ctx context.Context, h heading, rest Rest) (bool, error) {
	s.removing.Lock()
	defer s.removing.Unlock()
	s.mu.Lock()
	if open := s.open[h.key]; open != nil {
		if open.users > 0 {
			s.mu.Unlock()
			return false, nil
		}
		s.wake(open)
		delete(s.open, h.key)
	}
	s.gone[h.key] = struct{}{} // whoever opens it now waits, and whoever has begun to begins again
	s.removals++
	s.mu.Unlock()
	moved, err := s.book.opts.Store.Apply(ctx, map[string]uint64{h.key: h.rev}, map[string][]byte{graveKey(h.key): {}}, []string{h.key})
	if err != nil || moved != "" {
		s.mu.Lock()
		delete(s.gone, h.key)
		s.mu.Unlock()
		return false, err
	}
	return true, s.clear(ctx, h.key, rest)
}

// finish removes what is left of a session whose head is gone, and its mark last.
func (s *Sessions) finish(ctx context.Context, headKey string, rest Rest) error {
	s.removing.Lock()
	defer s.removing.Unlock()
	_, rev, err := s.book.opts.Store.Get(ctx, graveKey(headKey))
	if err != nil || rev == 0 {
		return err // somebody else was faster
	}
	return s.clear(ctx, headKey, rest)
}

// clear is finish with the removing that the caller holds.
func (s *Sessions) clear(ctx context.Context, headKey string, rest Rest) error {
	st, h := s.book.opts.Store, heading{key: headKey}
	of, id := tools.Life(h.life()), headKey[strings.LastIndexByte(headKey, '/')+1:]
	for {
		rows, _, err := st.Page(ctx, entryPrefix(of, id), "", prunedBatch)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		if err := s.removeEntries(ctx, of, rows); err != nil {
			return err
		}
		if err := rest(ctx); err != nil {
			return err
		}
	}
	if s.book.opts.Forget != nil {
		if err := s.book.opts.Forget(ctx, of, id); err != nil {
			return err
		}
	}
	if _, err := st.Apply(ctx, nil, nil, []string{graveKey(headKey)}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.gone, headKey)
	return nil
}

// removeEntries removes entries of a session with the records of the turns that
// they are of. The records of tasks stay: they hold what came of them.
func (s *Sessions) removeEntries(ctx context.Context, of tools.Life, rows []store.Row) error {
	st := s.book.opts.Store
	seen := make(map[string]bool)
	var del []string
	for _, row := range rows {
		del = append(del, row.Key)
		var e struct {
			Run string `json:"run"`
		}
		if err := json.Unmarshal(row.Value, &e); err != nil {
			return err
		}
		if e.Run == "" || seen[e.Run] {
			continue
		}
		seen[e.Run] = true
		key := prefix + "run/" + of.Owner() + "/" + e.Run
		raw, _, err := st.Get(ctx, key)
		if err != nil {
			return err
		}
		var rec Record
		if raw != nil {
			if err := json.Unmarshal(raw, &rec); err != nil {
				return fmt.Errorf("read run %s: %w", e.Run, err)
			}
		}
		if rec.Kind == Turn && rec.Status != Started {
			spent, err := s.book.opts.Spending.Forget(ctx, of.Owner()+"/"+e.Run)
			if err != nil {
				return err
			}
			del = append(append(del, key), spent...)
		}
	}
	_, err := st.Apply(ctx, nil, nil, del)
	return err
}
