// Package group has what many ask for at the same time done together: whoever calls [Queue.Join] has
// its part done with those of others.
package group

import (
	"fmt"
	"slices"
	"sync"

	"usher/venue/store"
)

// Queue has parts done one group after another: those that come while a group is done are the next
// one. Whoever is the first of a group has it done for all, so that Take and Do run once at a time.
type Queue[T Part] struct {
	Take func(waiting []T) int // says how many of those that wait, in their order, are the next group: 1 or more
	Do   func(group []T)       // does a group, and sets what came of each part

	mu      sync.Mutex
	waiting []T  // and before them the group that is done now
	leading bool // somebody has a group done
}

// Part is what a caller of [Queue.Join] has done: it embeds a [Turn].
type Part interface{ turn() *Turn }

// Turn is when a part is done. The zero value is valid, and serves again once the part is done.
type Turn struct {
	Err error // of Join

	next chan bool // true: lead; false: done
}

func (t *Turn) turn() *Turn { return t }

// Join has a part done with those of others, and returns its error. One that wraps
// [store.ErrUnknown] is also that of a group in which something panicked.
func (q *Queue[T]) Join(part T) error {
	own := part.turn()
	if own.next == nil {
		own.next = make(chan bool, 1)
	}
	own.Err = nil
	q.mu.Lock()
	q.waiting = append(q.waiting, part)
	wait := q.leading
	q.leading = true
	q.mu.Unlock()
	if wait {
		if lead := <-own.next; !lead {
			return own.Err
		}
	}
	group := q.lead()
	for _, other := range group[1:] { // the first is the part
		other.turn().next <- false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.Delete(q.waiting, 0, len(group))
	if q.leading = len(q.waiting) > 0; q.leading {
		q.waiting[0].turn().next <- true
	}
	return own.Err
}

// lead has the next group done, and returns it. Whoever waits would wait for ever if it panicked.
func (q *Queue[T]) lead() (group []T) {
	q.mu.Lock()
	waiting := q.waiting // others come behind these
	q.mu.Unlock()
	group = waiting[:1]
	defer func() {
		if v := recover(); v != nil {
			for _, part := range group {
				part.turn().Err = fmt.Errorf("%w: the store failed inside: %v", store.ErrUnknown, v)
			}
		}
	}()
	group = waiting[:q.Take(waiting)]
	q.Do(group)
	return group
}
