package runs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"usher/caps/value"
	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/store"
)

// Sessions keeps conversations: each a head and the pages of one log.
type Sessions struct {
	book *Book

	removing sync.Mutex // held while a session is removed; taken before mu

	mu       sync.Mutex
	gone     map[string]struct{} // by head key, that are being removed
	removals uint64              // that have begun
	open     map[string]*Session // by head key
	idle     []*Session          // that nobody uses, the longest idle first
	held     int                 // bytes of the logs of the idle ones
}

func (s *Sessions) init(ctx context.Context, b *Book) error {
	s.book, s.open, s.gone = b, make(map[string]*Session), make(map[string]struct{})
	for key, err := range store.Keys(ctx, b.opts.Store, gonePrefix, "") {
		if err != nil {
			return err
		}
		s.gone[prefix+"head/"+key[len(gonePrefix):]] = struct{}{}
	}
	return nil
}

// Bounds of the sessions that stay in memory when nobody uses them.
const (
	MaxIdle      = 1024
	MaxIdleBytes = 4 << 20 // of their logs, as far as the next request needs them
)

// Session is a conversation that is open.
type Session struct {
	*runtime.Session
	log   *sessionLog
	users int // guarded by Sessions.mu
	size  int // of its log while it is idle
}

// Head is a session in few words.
type Head struct {
	ID      string    `json:"sessionId"`
	Began   time.Time `json:"began"`
	Last    time.Time `json:"last"`    // event
	Turns   int       `json:"turns"`   // that began
	First   string    `json:"first"`   // that was said, the first 200 characters of it
	Waiting int       `json:"waiting"` // messages that the next turn hears
	Seq     uint64    `json:"seq"`     // of the last event
	From    uint64    `json:"from"`    // first event that the next request needs

	Interrupted uint64 `json:"interrupted,omitempty"` // event that says so of the last turn; left out where that came to its end
	Run         string `json:"run,omitempty"`         // whose turn has no end yet
}

// MarshalJSON writes the head: each turn stores it twice.
func (h Head) MarshalJSON() ([]byte, error) {
	w := value.NewWriter()
	w.Text("sessionId", h.ID)
	w.Time("began", h.Began)
	w.Time("last", h.Last)
	w.Int("turns", int64(h.Turns))
	w.Text("first", h.First)
	w.Int("waiting", int64(h.Waiting))
	w.Int("seq", int64(h.Seq))
	w.Int("from", int64(h.From))
	w.Count("interrupted", int64(h.Interrupted))
	w.Some("run", h.Run)
	return w.Object(), nil
}

const maxFirst = 200 // characters

func headPrefix(of tools.Life) string         { return prefix + "head/" + string(of) + "/" }
func headKey(of tools.Life, id string) string { return headPrefix(of) + id }
func waitPrefix(of tools.Life) string         { return prefix + "wait/" + string(of) + "/" }
func waitKey(of tools.Life, id string) string { return waitPrefix(of) + id }
func entriesOf(of tools.Life) string          { return prefix + "ses/" + string(of) + "/" }
func entryPrefix(of tools.Life, id string) string {
	return entriesOf(of) + id + "/"
}

func entryKey(of tools.Life, id string, seq uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(entryPrefix(of, id)), seq))
}

// NoSession says that an agent has no session of an id.
func NoSession(agent, id string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("there is no such session: agent %s has none called %q", agent, id))
}

// Open returns the session id of a life of an agent, and a function to call when
// done with it. A session that does not exist is made, or is [NoSession]
// where mustExist says so.
func (s *Sessions) Open(ctx context.Context, of tools.Life, id string, mustExist bool) (*Session, func(), error) {
	key := headKey(of, id)
	for {
		open, gone, removals := s.use(key)
		if gone { // it begins anew when nothing is left of it
			if err := s.finish(ctx, key, func(ctx context.Context) error { return ctx.Err() }); err != nil {
				return nil, nil, err
			}
			continue
		}
		if open != nil {
			return open, func() { s.release(key, open) }, nil
		}
		made, err := s.make(ctx, of, id, key, mustExist)
		if err != nil {
			return nil, nil, err
		}
		if open = s.add(key, made, removals); open == nil {
			continue
		}
		return open, func() { s.release(key, open) }, nil
	}
}

// make reads the session of a key, or makes one.
func (s *Sessions) make(ctx context.Context, of tools.Life, id, key string, mustExist bool) (*Session, error) {
	if err := s.book.open(); err != nil {
		return nil, err
	}
	head, err := s.head(ctx, key, id)
	if err != nil {
		return nil, err
	}
	if head.Seq == 0 && mustExist {
		return nil, NoSession(of.Agent(), id)
	}
	log := newLog(s.book, of, id, key, head)
	past, err := s.past(ctx, log)
	if err != nil {
		return nil, err
	}
	return &Session{Session: runtime.NewSession(id, log, past...), log: log}, nil
}

// Interrupted returns how the last turn of a session was cut, or nil where it came to
// its end or is driven. The code of one that waits is [fault.Waiting].
func (s *Sessions) Interrupted(ctx context.Context, of tools.Life, id string) (*runtime.TurnFinished, error) {
	key := headKey(of, id)
	head, err := s.head(ctx, key, id)
	if err != nil {
		return nil, err
	}
	if head.Run != "" {
		return s.resting(ctx, of, key, &head)
	}
	if head.Interrupted == 0 {
		return nil, nil
	}
	for e, err := range s.Entries(ctx, of, id, head.Interrupted) {
		if err != nil {
			return nil, err
		}
		if end, ok := e.Event.(runtime.TurnFinished); ok {
			return &end, nil
		}
		break
	}
	return nil, nil
}

// resting is how the turn would end that has no end yet; nil where it is driven.
func (s *Sessions) resting(ctx context.Context, of tools.Life, key string, head *Head) (*runtime.TurnFinished, error) {
	owner, err := ucan.ParseDID(of.Owner())
	if err != nil || s.book.Live(owner, head.Run) != nil {
		return nil, err
	}
	if rec, err := s.book.Find(ctx, owner, head.Run); err == nil && (rec.Status == Waiting || rec.holds()) {
		end := &runtime.TurnFinished{Error: "it waits for " + strings.Join(rec.Waits, ", "), Code: string(fault.Waiting)}
		if rec.holds() {
			end.Error = "it is paused"
		}
		return end, nil
	}
	open, err := s.make(ctx, of, head.ID, key, true)
	if err != nil {
		return nil, err
	}
	end := open.Cutting()
	return &end, nil
}

// past reads what the next request needs of a session.
func (s *Sessions) past(ctx context.Context, log *sessionLog) (past []runtime.Entry, err error) {
	if log.head.Seq == 0 {
		return nil, nil
	}
	for row, err := range store.Rows(ctx, s.book.opts.Store, string(log.below), log.key(log.head.From)) {
		var e runtime.Entry
		if err == nil {
			err = json.Unmarshal(row.Value, &e)
		}
		if err != nil {
			return nil, err
		}
		past = append(past, e)
		log.has(&e, len(row.Value))
	}
	return past, nil
}

// use returns a session that is open, or else whether it is being removed, and how
// many removals have begun.
func (s *Sessions) use(key string) (open *Session, gone bool, removals uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open = s.open[key]; open != nil {
		s.take(open)
	}
	_, gone = s.gone[key]
	return open, gone && open == nil, s.removals
}

// take counts one more user. The caller holds mu.
func (s *Sessions) take(open *Session) {
	if open.users++; open.users == 1 {
		s.wake(open)
	}
}

// wake takes a session off the idle ones. The caller holds mu.
func (s *Sessions) wake(open *Session) {
	if i := slices.Index(s.idle, open); i >= 0 {
		s.idle = slices.Delete(s.idle, i, i+1)
		s.held -= open.size
	}
}

// add keeps a session that was read, unless another reader was faster. It returns
// nil where a removal has begun since: the session may be the one.
func (s *Sessions) add(key string, made *Session, removals uint64) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.removals != removals {
		return nil
	}
	if open := s.open[key]; open != nil {
		s.take(open)
		return open
	}
	made.users = 1
	s.open[key] = made
	return made
}

func (s *Sessions) release(key string, open *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open.users--; open.users > 0 || s.open[key] != open {
		return
	}
	if open.log.broken() {
		delete(s.open, key) // what is in memory is not what is stored
		return
	}
	open.size = open.log.bytes()
	s.idle, s.held = append(s.idle, open), s.held+open.size
	for len(s.idle) > MaxIdle || s.held > MaxIdleBytes {
		oldest := s.idle[0]
		s.idle, s.held = s.idle[1:], s.held-oldest.size
		delete(s.open, oldest.log.headKey)
	}
}

// forget drops the sessions of a life from memory.
func (s *Sessions) forget(of tools.Life) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.idle[:0]
	for _, open := range s.idle {
		if open.log.of == of {
			s.held -= open.size
		} else {
			kept = append(kept, open)
		}
	}
	clear(s.idle[len(kept):])
	s.idle = kept
	for key, open := range s.open {
		if open.log.of == of {
			delete(s.open, key)
		}
	}
}

// Head returns the session of an id in few words; the zero head where there is none.
func (s *Sessions) Head(ctx context.Context, of tools.Life, id string) (Head, error) {
	return s.head(ctx, headKey(of, id), id)
}

func (s *Sessions) head(ctx context.Context, key, id string) (h Head, err error) {
	raw, _, err := s.book.opts.Store.Get(ctx, key)
	if err != nil || raw == nil {
		return h, err
	}
	if err := json.Unmarshal(raw, &h); err != nil {
		return h, fmt.Errorf("read session %s: %w", id, err)
	}
	return h, nil
}

// Heads yields the sessions of a life in the order of their ids.
func (s *Sessions) Heads(ctx context.Context, of tools.Life) iter.Seq2[Head, error] {
	return func(yield func(Head, error) bool) {
		for row, err := range store.Rows(ctx, s.book.opts.Store, headPrefix(of), "") {
			var h Head
			if err == nil {
				err = json.Unmarshal(row.Value, &h)
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// Page returns at most limit sessions of a life, the last by their ids first: that is the
// one that began last, where the venue named them. It begins before an id, if that is given.
// more is where the next page begins; empty when nothing follows.
func (s *Sessions) Page(ctx context.Context, of tools.Life, before string, limit int) (list []Head, more string, err error) {
	all, from := headPrefix(of), ""
	if before != "" {
		from = all + before
	}
	rows, next, err := s.book.opts.Store.PageBack(ctx, all, from, limit+1)
	if err != nil {
		return nil, "", err
	}
	for _, row := range rows {
		if row.Key == from {
			continue
		}
		if len(list) == limit {
			return list, list[limit-1].ID, nil
		}
		var h Head
		if err := json.Unmarshal(row.Value, &h); err != nil {
			return nil, "", fmt.Errorf("read session %s: %w", row.Key[len(all):], err)
		}
		list = append(list, h)
	}
	if next != "" && len(list) > 0 {
		more = list[len(list)-1].ID
	}
	return list, more, nil
}

// Count returns how many sessions a life has, and how many messages wait in them,
// without reading the heads.
func (s *Sessions) Count(ctx context.Context, of tools.Life) (sessions, waiting int, err error) {
	for _, err := range store.Keys(ctx, s.book.opts.Store, headPrefix(of), "") {
		if err != nil {
			return 0, 0, err
		}
		sessions++
	}
	for row, err := range store.Rows(ctx, s.book.opts.Store, waitPrefix(of), "") {
		var n int
		if err == nil {
			n, err = strconv.Atoi(string(row.Value))
		}
		if err != nil {
			return 0, 0, err
		}
		waiting += n
	}
	return sessions, waiting, nil
}

// Entries yields the log of a session from the number from on.
func (s *Sessions) Entries(ctx context.Context, of tools.Life, id string, from uint64) iter.Seq2[runtime.Entry, error] {
	return func(yield func(runtime.Entry, error) bool) {
		for row, err := range store.Rows(ctx, s.book.opts.Store, entryPrefix(of, id), entryKey(of, id, from)) {
			var e runtime.Entry
			if err == nil {
				err = json.Unmarshal(row.Value, &e)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Copy lets another life begin with the sessions of one: the entries before the
// heads, by which they are found.
func (s *Sessions) Copy(ctx context.Context, from, to tools.Life) error {
	return s.book.opts.Store.CopyBelow(ctx,
		[2]string{entriesOf(from), entriesOf(to)}, [2]string{waitPrefix(from), waitPrefix(to)}, [2]string{headPrefix(from), headPrefix(to)})
}

// Remove removes the sessions of a life: a turn that still runs writes into a past
// that nobody reads.
func (s *Sessions) Remove(ctx context.Context, of tools.Life) error {
	s.forget(of)
	for _, below := range [...]func(tools.Life) string{headPrefix, waitPrefix, entriesOf} {
		if err := s.book.opts.Store.RemoveBelow(ctx, below(of)); err != nil {
			return err
		}
	}
	return nil
}

// beginning cuts a text to what a head shows of it.
func beginning(text string) string {
	n := 0
	for i := range text {
		if n++; n > maxFirst {
			return text[:i]
		}
	}
	return text
}
