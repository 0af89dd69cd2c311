package mcp

import (
	"fmt"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/tools/fault"
	"usher/venue/face"
)

// Bounds of sessions that are open at once.
const (
	maxSessions = 4096 // of all
	maxGuests   = 1024 // of all guests
	maxOwn      = 64   // of one principal
)

// sessions are those that are open.
type sessions struct {
	places face.Places

	mu     sync.Mutex
	open   map[string]*session // by their ids
	closed bool
	watch  sync.WaitGroup // one for each that is open
}

// session is one, with the server that it is of.
type session struct {
	*sdk.ServerSession
	server *callerServer
}

// slot is the place of a session that a request may begin.
type slot struct {
	of    *sessions
	leave func()
	taken bool // by a session
}

var errClosed = fault.New(fault.Canceled, "the venue is stopping: connect again")

// begin runs a request that may begin a session, where there is a place for one. It has the place
// as long as the request takes, or, where a session keeps it, until that has ended.
func (s *sessions) begin(who string, guest bool, run func(*slot)) error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return errClosed
	}
	leave, own := s.places.Take(who, guest, face.Most{Own: maxOwn, Guests: maxGuests, All: maxSessions})
	if leave == nil {
		return fault.New(fault.TooManyRuns, fmt.Sprintf("too many sessions are open, %d of them yours: end some (DELETE), or wait until those that are idle end", own))
	}
	k := &slot{of: s, leave: leave}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !k.taken {
			leave()
		}
	}()
	run(k)
	return nil
}

// take has the session keep the place until it ends.
func (k *slot) take(of *sdk.ServerSession, server *callerServer) error {
	s := k.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.taken || s.closed {
		return errClosed
	}
	k.taken = true
	if s.open == nil {
		s.open = make(map[string]*session)
	}
	s.open[of.ID()] = &session{of, server}
	s.watch.Go(func() {
		_ = of.Wait() // however it ended
		s.mu.Lock()
		delete(s.open, of.ID())
		s.mu.Unlock()
		k.leave()
	})
	return nil
}

// server is that of a session; nil where there is none.
func (s *sessions) server(id string) *callerServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open := s.open[id]; open != nil {
		return open.server
	}
	return nil
}

// close ends all sessions, and waits for their end.
func (s *sessions) close() {
	s.mu.Lock()
	s.closed = true
	for _, open := range s.open {
		s.watch.Go(func() { _ = open.Close() }) // it ends, with an error or without
	}
	s.mu.Unlock()
	s.watch.Wait()
}
