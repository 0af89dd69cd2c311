// Package toolstest helps to test what stands behind a gate: [NewGate] makes one, and
// its [Mint] lets a test say what its agents may do.
package toolstest

import (
	"context"
	"sync"

	"usher/caps"
	"usher/tools"
	"usher/ucan"
)

// lives are agents whose capabilities a test decides.
type lives struct {
	mu     sync.Mutex
	epoch  uint64
	byLife map[tools.Life]*life
}

type life struct {
	principal ucan.DID
	caps      func() caps.Set
	last      caps.Set
}

var _ tools.Lives = (*lives)(nil)

// Epoch is another number after any set has changed.
func (l *lives) Epoch() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.byLife {
		if now := a.caps(); now != a.last {
			a.last = now
			l.epoch++
		}
	}
	return l.epoch
}

// Live returns what the life holds now.
func (l *lives) Live(_ context.Context, name tools.Life) (caps.Set, ucan.DID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.byLife[name]; a != nil {
		return a.caps(), a.principal
	}
	return caps.Set{}, ucan.DID{}
}

// Mint makes authorities of users, and of agents that a test decides on.
type Mint struct {
	*tools.Mint
	lives *lives
}

// NewGate returns a gate that asks the lives of the mint.
func NewGate(registry *tools.Registry, opts *tools.GateOptions) (*tools.Gate, *Mint) {
	var o tools.GateOptions
	if opts != nil {
		o = *opts
	}
	agents := &lives{byLife: make(map[tools.Life]*life)}
	o.Lives = agents
	g, mint := tools.NewGate(registry, &o)
	return g, &Mint{mint, agents}
}

// Agent is the authority of the agent id of owner, who may do what held returns,
// whenever it is asked.
func (m *Mint) Agent(owner ucan.DID, id string, held func() caps.Set) tools.Authority {
	m.lives.mu.Lock()
	defer m.lives.mu.Unlock()
	name := tools.NewLife(owner, id, "1")
	m.lives.byLife[name] = &life{owner, held, held()}
	m.lives.epoch++
	return m.Mint.Agent(owner, name)
}
