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

// replayGuard remembers the JWTs that were let through, so that none executes twice. Only those stand
// in it that the venue vouches for.
type replayGuard struct {
	mu    sync.Mutex
	at    map[entry]bool // whether it has executed
	of    map[string]int // how many there are, by agent
	order []useTime      // the oldest first
}

type entry struct{ agent, id string }

type useTime struct {
	entry
	at time.Time
}

// use lets a JWT through that was not seen before, or has executed and now asks for a status.
func (s *replayGuard) use(agent, id string, executes bool, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(now)
	e := entry{agent, id}
	if executed, again := s.at[e]; again && executed && !executes {
		return nil
	} else if again {
		return noProof("jti_replay", "the jti was seen before: sign a new JWT for each request")
	}
	if s.of[agent] >= maxSeenOf || len(s.at) >= maxSeen {
		return &refusal{status: http.StatusTooManyRequests, Code: "rate_limited", Message: "too much at once: try again in a moment"}
	}
	if s.at == nil {
		s.at, s.of = map[entry]bool{}, map[string]int{}
	}
	s.at[e] = executes
	s.of[agent]++
	s.order = append(s.order, useTime{e, now})
	return nil
}

func (s *replayGuard) forget(now time.Time) {
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
