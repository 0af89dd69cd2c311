// Package store keeps the venue's bytes: keys in order, revisions, atomic batches. It declares the
// [Engine] that keeps them, and holds what all engines have in common; store/memory and
// store/journal are the engines, and PostgreSQL can be another.
//
// Open an engine first (journal.Open, memory.Open) and call [Store.Close] last. [Space.Get] and
// [Space.Page] read, [Space.Apply] writes, [Space.Snapshot] reads several things as they were at one
// moment.
//
// What is promised:
//   - Apply is atomic, and once it has returned its writes survive a loss of power, where the engine
//     has a disk.
//   - A revision is never 0 for a key that exists, and each write of a key gives it another one,
//     higher than all before. Writing what depends on what was read means to hand the revisions
//     that were read to Apply.
//   - What is read belongs to the reader: it is a copy. A page is read at one moment; two pages may
//     be read at two, unless they come from one snapshot.
//   - Nothing of a caller runs inside the engine, so no caller can hold up another: there are pages
//     and no callbacks. [Rows] and [Keys] go through a prefix page by page.
package store

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed says that the store was used after Close.
var ErrClosed = errors.New("store is closed")

// Store is an open store: the space of all keys. It is safe for concurrent use.
type Store struct{ Space }

// Space is the part of a store whose keys begin with one prefix, which its users do not see.
// Spaces of different prefixes cannot touch each other, where no prefix begins with another.
type Space struct{ reader }

// New returns the store that an engine keeps, and closes the engine with it.
func New(e Engine) *Store { return &Store{Space{reader{gate: &gate{engine: e}}}} }

// Behind returns the store with an engine before its own, which it is given: for
// whoever watches what is written, or has it fail. It is closed instead of s.
func (s *Store) Behind(engine func(Engine) Engine) *Store { return New(engine(s.gate.engine)) }

// Under returns the space of the prefix.
func (s *Store) Under(prefix string) *Space { return &Space{reader{gate: s.gate, prefix: prefix}} }

// Close waits for the calls that run and closes the engine. Closing twice does nothing. Snapshots
// that are open then answer [ErrClosed].
func (s *Store) Close() error {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	if s.gate.closed {
		return nil
	}
	s.gate.closed = true
	return s.gate.engine.Close()
}

// gate admits calls to an engine until the store is closed: engines need not survive a use after
// their Close.
type gate struct {
	mu     sync.RWMutex // held for reading by each call
	closed bool
	engine Engine
}

// enter admits one call; unless it fails, the caller must call leave.
func (g *gate) enter(ctx context.Context) (Engine, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.mu.RLock()
	if g.closed {
		g.mu.RUnlock()
		return nil, ErrClosed
	}
	return g.engine, nil
}

func (g *gate) leave() { g.mu.RUnlock() }
