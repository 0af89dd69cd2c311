package runs

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/store"
)

// Keep says what stays of what is over.
type Keep struct {
	Number int       // so many of the latest; 0 keeps all
	Before time.Time // what ended at that time and later; zero keeps all
}

// Rest is called between two batches of removing, which ends with its error.
type Rest func(context.Context) error

// prunedBatch is how many records one batch of removing looks at.
const prunedBatch = 256

// Prune removes the runs that are over and need not stay, with their logs: of each
// owner those beyond a number, the oldest first, and those that ended before a
// time. What executes stays, and what the run above it, which has not ended, may ask for
// again. The events of turns belong to sessions, and stay with them. It returns how many
// went.
func (b *Book) Prune(ctx context.Context, keep Keep, rest Rest) (n int, err error) {
	const all = prefix + "run/"
	for from := ""; err == nil; {
		page, _, err := b.opts.Store.PageKeys(ctx, all, from, 1)
		if err != nil {
			return n, fmt.Errorf("prune runs: %w", err)
		}
		if len(page) == 0 {
			break
		}
		owner, _, _ := strings.Cut(strings.TrimPrefix(page[0], all), "/")
		of, err := b.pruneOf(ctx, owner+"/", keep, rest)
		if n += of; err != nil {
			return n, fmt.Errorf("prune runs: %w", err)
		}
		from = all + owner + "0" // behind "/"
	}
	return n, nil
}

// pruneOf prunes the runs of an owner, "<owner>/". Their ids sort by time.
func (b *Book) pruneOf(ctx context.Context, owner string, keep Keep, rest Rest) (n int, err error) {
	all := prefix + "run/" + owner
	beyond := 0
	if keep.Number > 0 {
		beyond = -keep.Number
		for from := ""; ; {
			keys, next, err := b.opts.Store.PageKeys(ctx, all, from, 16*prunedBatch)
			if err == nil {
				err = rest(ctx)
			}
			if err != nil {
				return 0, err
			}
			if beyond += len(keys); next == "" {
				break
			}
			from = next
		}
	}
	for from := ""; ; {
		rows, next, err := b.opts.Store.Page(ctx, all, from, prunedBatch)
		if err != nil {
			return n, err
		}
		for _, row := range rows {
			var rec Record
			if err := json.Unmarshal(row.Value, &rec); err != nil {
				return n, fmt.Errorf("read run %s: %w", row.Key, err)
			}
			if beyond <= 0 && !before(rec.Created, keep.Before) {
				return n, nil // and neither is any behind it
			}
			if !rec.Over() || beyond <= 0 && !before(rec.Updated, keep.Before) || b.executes(rec.ID) {
				continue
			}
			wanted, err := b.wanted(ctx, owner, &rec)
			if err != nil {
				return n, err
			}
			if wanted {
				continue
			}
			if err := b.removeRun(ctx, row.Key, row.Rev, owner, &rec, rest); err != nil {
				return n, err
			}
			n++
			beyond--
		}
		if from = next; next == "" {
			return n, nil
		}
		if err := rest(ctx); err != nil {
			return n, err
		}
	}
}

// before reports whether a time in milliseconds lies before another that is given.
func before(ms int64, t time.Time) bool { return !t.IsZero() && ms < t.UnixMilli() }

func (b *Book) executes(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.live[id] != nil
}

// wanted reports whether the run above one of an owner's, "<owner>/", goes on: it makes the call of
// the key again where it has no answer to it yet, and nothing is to be done twice.
func (b *Book) wanted(ctx context.Context, owner string, rec *Record) (bool, error) {
	if rec.Key == "" || rec.Parent == "" {
		return false, nil
	}
	did, err := ucan.ParseDID(strings.TrimSuffix(owner, "/"))
	if err != nil {
		return false, err
	}
	parent, err := b.Find(ctx, rec.above(did), rec.Parent)
	if fault.Of(err) == fault.NotFound {
		return false, nil
	}
	return err == nil && !parent.Over(), err
}

// removeRun removes a run of an owner, "<owner>/", with its own log, which goes first. Its key
// goes with it: a call that has the key later is a new one.
func (b *Book) removeRun(ctx context.Context, key string, rev uint64, owner string, rec *Record, rest Rest) error {
	of := owner + rec.ID
	if err := b.removeBelow(ctx, prefix+"log/"+of+"/", rest); err != nil {
		return err
	}
	if notes := b.opts.Notes; notes != nil {
		if err := b.removeBelow(ctx, notes.Beside(of), rest); err != nil {
			return err
		}
	}
	expect, del := map[string]uint64{key: rev}, []string{key} // unless it has changed
	if rec.Key != "" {
		call := keysOf + owner + rec.Key
		id, at, err := b.opts.Store.Get(ctx, call)
		if err != nil {
			return err
		}
		if string(id) == rec.ID {
			expect[call], del = at, append(del, call)
		}
	}
	_, err := b.opts.Store.Apply(ctx, expect, nil, del)
	return err
}

// removeBelow removes the rows below a prefix, with rests between.
func (b *Book) removeBelow(ctx context.Context, prefix string, rest Rest) error {
	for {
		keys, next, err := b.opts.Store.PageKeys(ctx, prefix, "", prunedBatch)
		if err != nil || len(keys) == 0 {
			return err
		}
		if _, err := b.opts.Store.Apply(ctx, nil, nil, keys); err != nil {
			return err
		}
		if err := rest(ctx); err != nil || next == "" {
			return err
		}
	}
}

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

func goneKey(headKey string) string { return gonePrefix + strings.TrimPrefix(headKey, prefix+"head/") }

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
	moved, err := s.book.opts.Store.Apply(ctx, map[string]uint64{h.key: h.rev}, map[string][]byte{goneKey(h.key): {}}, []string{h.key})
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
	_, rev, err := s.book.opts.Store.Get(ctx, goneKey(headKey))
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
	if _, err := st.Apply(ctx, nil, nil, []string{goneKey(headKey)}); err != nil {
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
			del = append(del, key)
		}
	}
	_, err := st.Apply(ctx, nil, nil, del)
	return err
}
