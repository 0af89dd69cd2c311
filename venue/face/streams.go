package face

import (
	"fmt"
	"sync"

	"usher/tools/fault"
	"usher/ucan"
)

// MaxStreams is how many streams one principal follows at once, where nobody says.
const MaxStreams = 256

// maxGuests is how many streams all guests follow together.
const maxGuests = 1024

// Streams counts the streams that principals follow. The zero value is ready.
type Streams struct {
	Most int // of one principal; 0 is [MaxStreams]

	mu     sync.Mutex
	open   map[ucan.DID]int
	all    int
	guests int // of all
}

// Begin counts one more stream of a principal, who may be a guest, until done is called.
func (s *Streams) Begin(who ucan.DID, guest bool) (done func(), err error) {
	most := s.Most
	if most <= 0 {
		most = MaxStreams
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[who] >= most {
		return nil, fault.New(fault.TooManyRuns, fmt.Sprintf("you follow %d streams already, as many as a principal may: close some (server.streams)", most))
	}
	one := 0
	if guest {
		one = 1
	}
	if s.guests+one > maxGuests {
		return nil, fault.New(fault.TooManyRuns, fmt.Sprintf("guests follow %d streams together, as many as they may: try again later, or become a user (auth.known in the configuration)", maxGuests))
	}
	if s.open == nil {
		s.open = make(map[ucan.DID]int)
	}
	s.open[who]++
	s.all++
	s.guests += one
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		s.guests -= one
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
