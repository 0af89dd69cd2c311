package face

import (
	"fmt"
	"math"
	"sync"

	"usher/tools/fault"
)

// Places are what principals take, some of at once, such as streams that they follow. The zero
// value is ready.
type Places struct {
	mu     sync.Mutex
	own    map[string]int
	all    int
	guests int // of all
}

// Most is how many places one principal takes at most, all guests together, and all.
type Most struct{ Own, Guests, All int }

// Take takes a place for a principal ([venue.Principal.Place]), who may be a guest, until leave is
// called; nil is that there is none. own is how many places who had before.
func (p *Places) Take(who string, guest bool, most Most) (leave func(), own int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	own = p.own[who]
	if own >= most.Own || p.all >= most.All || guest && p.guests >= most.Guests {
		return nil, own
	}
	if p.own == nil {
		p.own = make(map[string]int)
	}
	p.add(who, guest, 1)
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.add(who, guest, -1); p.own[who] == 0 {
			delete(p.own, who)
		}
	}), own
}

func (p *Places) add(who string, guest bool, n int) {
	p.own[who] += n
	p.all += n
	if guest {
		p.guests += n
	}
}

// Count is how many places are taken.
func (p *Places) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// MaxStreams is how many streams one principal follows at once, where nobody says.
const MaxStreams = 256

// maxGuests is how many streams all guests follow together.
const maxGuests = 1024

// Streams counts the streams that principals follow. The zero value is ready.
type Streams struct {
	Places
	Most int // of one principal; 0 is [MaxStreams]
}

// Begin counts one more stream of a principal ([venue.Principal.Place]), who may be a guest, until
// done is called.
func (s *Streams) Begin(who string, guest bool) (done func(), err error) {
	most := s.Most
	if most <= 0 {
		most = MaxStreams
	}
	done, own := s.Take(who, guest, Most{most, maxGuests, math.MaxInt})
	switch {
	case done != nil:
		return done, nil
	case own >= most:
		return nil, fault.New(fault.TooManyRuns, fmt.Sprintf("you follow %d streams already, as many as a principal may: close some (server.streams)", most))
	}
	return nil, fault.New(fault.TooManyRuns, fmt.Sprintf("guests follow %d streams together, as many as they may: try again later, or become a user (auth.known in the configuration)", maxGuests))
}
