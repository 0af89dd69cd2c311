package face

import (
	"fmt"
	"sync"

	"usher/tools/fault"
	"usher/ucan"
)

// MaxStreams is how many streams one principal follows at once, where nobody says.
const MaxStreams = 256

// Streams counts the streams that principals follow. The zero value is ready.
type Streams struct {
	Most int // of one principal; 0 is [MaxStreams]

	mu   sync.Mutex
	open map[ucan.DID]int
	all  int
}

// Begin counts one more stream of a principal, until done is called.
func (s *Streams) Begin(who ucan.DID) (done func(), err error) {
	most := s.Most
	if most <= 0 {
		most = MaxStreams
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[who] >= most {
		return nil, fault.New(fault.TooManyRuns, fmt.Sprintf("you follow %d streams already, as many as a principal may: close some (server.streams)", most))
	}
	if s.open == nil {
		s.open = make(map[ucan.DID]int)
	}
	s.open[who]++
	s.all++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.open[who]--; s.open[who] == 0 {
			delete(s.open, who)
		}
	}), nil
}

// Open is how many streams are followed.
func (s *Streams) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}
