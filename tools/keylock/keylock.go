// Package keylock has those who change the same thing wait for each other, so that they do not fail
// each other's conditions again and again. [Locks.Lock] does.
package keylock

import (
	"context"
	"hash/maphash"
)

// Locks are a lock for each key. Two keys may share one, so nobody takes a second while they hold
// one. They are safe for concurrent use.
type Locks struct {
	seed  maphash.Seed
	locks [256]chan struct{}
}

// New returns locks that nobody holds.
func New() *Locks {
	l := &Locks{seed: maphash.MakeSeed()}
	for i := range l.locks {
		l.locks[i] = make(chan struct{}, 1)
	}
	return l
}

// Hold is a lock that somebody has. The zero value is none.
type Hold struct{ lock chan struct{} }

// Lock waits until nobody else has the lock of a key, the longest waiting first, and says whether
// somebody had it. Where ctx ends first, it returns why.
func (l *Locks) Lock(ctx context.Context, key string) (held Hold, waited bool, err error) {
	lock := l.locks[maphash.String(l.seed, key)%uint64(len(l.locks))]
	select {
	case lock <- struct{}{}:
		return Hold{lock}, false, nil
	default:
	}
	select {
	case lock <- struct{}{}:
		return Hold{lock}, true, nil
	case <-ctx.Done():
		return Hold{}, true, context.Cause(ctx)
	}
}

// Unlock lets the next one go on.
func (h Hold) Unlock() {
	if h.lock != nil {
		<-h.lock
	}
}
