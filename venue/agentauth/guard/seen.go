package guard

import (
	"net/http"
	"sync"
	"time"
)

// Bounds of what is remembered.
const (
	maxSeenOf = 2_000   // JWTs of one agent
	maxSeen   = 200_000 // JWTs of all
)

// seen remembers the JWTs that were let through, so that none is twice. Only those stand in it
// that the venue vouches for.
type seen struct {
	mu    sync.Mutex
	at    map[entry]struct{}
	of    map[string]int // how many there are, by agent
	order []dated        // the oldest first
}

type entry struct{ agent, id string }

type dated struct {
	entry
	at time.Time
}

// once lets a JWT through for the first time. The memory of a service is of one process: run
// several behind one URL only if an agent's requests come to the same.
func (s *seen) once(agent, id string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(now)
	e := entry{agent, id}
	if _, again := s.at[e]; again {
		return unproven("jti_replay", "the jti was seen before: sign a new JWT for each request")
	}
	if s.of[agent] >= maxSeenOf || len(s.at) >= maxSeen {
		return &refusal{status: http.StatusTooManyRequests, Code: "rate_limited", Message: "too much at once: try again in a moment"}
	}
	if s.at == nil {
		s.at, s.of = map[entry]struct{}{}, map[string]int{}
	}
	s.at[e] = struct{}{}
	s.of[agent]++
	s.order = append(s.order, dated{e, now})
	return nil
}

func (s *seen) forget(now time.Time) {
	n := 0
	for n < len(s.order) && now.Sub(s.order[n].at) > seenLife {
		e := s.order[n].entry
		delete(s.at, e)
		if s.of[e.agent]--; s.of[e.agent] == 0 {
			delete(s.of, e.agent)
		}
		n++
	}
	if s.order = s.order[n:]; len(s.order) == 0 {
		s.order = nil
	}
}
