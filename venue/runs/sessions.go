package runs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"sync"

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
	gone     map[string]struct{}      // by head key, that are being removed
	removals uint64                   // that have begun
	open     map[string]*Session      // by head key
	reading  map[string]chan struct{} // by head key, those that are being read: closed when they were
	idle     []*Session               // that nobody uses, the longest idle first
	held     int                      // bytes of the logs of the idle ones
}

func (s *Sessions) init(ctx context.Context, b *Book) error {
	s.book, s.open, s.gone, s.reading = b, make(map[string]*Session), make(map[string]struct{}), make(map[string]chan struct{})
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

// Open returns the session id of a life of an agent, and a function to call when
// done with it. A session that does not exist is made, or is [NoSession]
// where mustExist says so.
func (s *Sessions) Open(ctx context.Context, of tools.Life, id string, mustExist bool) (*Session, func(), error) {
	key := headKey(of, id)
	for {
		open, gone, others, removals := s.use(key)
		switch {
		case open != nil:
			return open, func() { s.release(key, open) }, nil
		case gone: // it begins anew when nothing is left of it
			if err := s.finish(ctx, key, func(ctx context.Context) error { return ctx.Err() }); err != nil {
				return nil, nil, err
			}
			continue
		case others != nil:
			select {
			case <-others:
			case <-ctx.Done():
				return nil, nil, context.Cause(ctx)
			}
			continue
		}
		made, err := s.make(ctx, of, id, key, mustExist)
		if open = s.add(key, made, removals); err != nil {
			return nil, nil, err
		}
		if open != nil {
			return open, func() { s.release(key, open) }, nil
		}
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

// Interruption returns how the last turn of a session was cut, or nil where it came to
// its end or is driven. The code of one that waits is [fault.Waiting].
func (s *Sessions) Interruption(ctx context.Context, of tools.Life, id string) (*runtime.TurnEnd, error) {
	key := headKey(of, id)
	head, err := s.head(ctx, key, id)
	if err != nil {
		return nil, err
	}
	if head.Run != "" {
		return s.restEnd(ctx, of, key, &head)
	}
	if head.Interrupted == 0 {
		return nil, nil
	}
	for e, err := range s.Entries(ctx, of, id, head.Interrupted) {
		if err != nil {
			return nil, err
		}
		if end, ok := e.Event.(runtime.TurnEnd); ok {
			return &end, nil
		}
		break
	}
	return nil, nil
}

// restEnd is how the turn would end that has no end yet; nil where it is driven.
func (s *Sessions) restEnd(ctx context.Context, of tools.Life, key string, head *Head) (*runtime.TurnEnd, error) {
	owner, err := ucan.ParseDID(of.Owner())
	if err != nil || s.book.Live(owner, head.Run) != nil {
		return nil, err
	}
	if rec, err := s.book.Find(ctx, owner, head.Run); err == nil && (rec.Status == Waiting || rec.holds()) {
		end := &runtime.TurnEnd{Error: "it waits for " + strings.Join(rec.Waits, ", "), Code: string(fault.Waiting)}
		if rec.holds() {
			end.Error = "it is paused"
		}
		return end, nil
	}
	open, err := s.make(ctx, of, head.ID, key, true)
	if err != nil {
		return nil, err
	}
	end := open.CutEnd()
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

// use returns a session that is open, or else whether it is being removed, what is closed
// when others have read it, and how many removals have begun. With none of them the caller
// reads it, and calls [Sessions.add]: nobody else writes it meanwhile.
func (s *Sessions) use(key string) (open *Session, gone bool, others chan struct{}, removals uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open = s.open[key]; open != nil {
		s.take(open)
		return open, false, nil, 0
	}
	if _, gone = s.gone[key]; gone {
		return nil, true, nil, 0
	}
	if others = s.reading[key]; others == nil {
		s.reading[key] = make(chan struct{})
	}
	return nil, false, others, s.removals
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

// add keeps a session that the caller has read; nil is one that could not be. It returns
// nil where a removal has begun since: the session may be the one.
func (s *Sessions) add(key string, made *Session, removals uint64) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.reading[key])
	delete(s.reading, key)
	if made == nil || s.removals != removals {
		return nil
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
	if open.log.isBroken() {
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
