// Package toolstest helps to test what stands behind a gate. [Lives] lets a test
// say what its agents may do, and [NewGate] asks them.
package toolstest

import (
	"context"
	"sync"

	"usher/caps"
	"usher/tools"
	"usher/ucan"
)

// Lives are agents whose capabilities a test decides. The zero value is ready.
type Lives struct {
	mu    sync.Mutex
	epoch uint64
	lives map[tools.Life]*life
}

type life struct {
	principal ucan.DID
	caps      func() caps.Set
	last      caps.Set
}

var _ tools.Lives = (*Lives)(nil)

// Add lets the agent id of owner hold what caps returns, whenever it is asked.
func (l *Lives) Add(owner ucan.DID, id string, caps func() caps.Set) tools.Life {
	return l.AddAs(owner, owner, id, caps)
}

// AddAs is Add for an agent that acts as a principal of its own.
func (l *Lives) AddAs(principal, owner ucan.DID, id string, held func() caps.Set) tools.Life {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lives == nil {
		l.lives = make(map[tools.Life]*life)
	}
	name := tools.NewLife(owner, id, "1")
	l.lives[name] = &life{principal, held, held()}
	l.epoch++
	return name
}

// Epoch is another number after any set has changed.
func (l *Lives) Epoch() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.lives {
		if now := a.caps(); now != a.last {
			a.last = now
			l.epoch++
		}
	}
	return l.epoch
}

// Live returns what the life holds now.
func (l *Lives) Live(_ context.Context, name tools.Life) (caps.Set, ucan.DID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.lives[name]; a != nil {
		return a.caps(), a.principal
	}
	return caps.Set{}, ucan.DID{}
}

// Mint makes authorities of users, and of agents that a test decides on.
type Mint struct {
	*tools.Mint
	Lives *Lives
}

// NewGate returns a gate that asks the lives of the mint.
func NewGate(registry *tools.Registry, opts *tools.GateOptions) (*tools.Gate, *Mint) {
	var o tools.GateOptions
	if opts != nil {
		o = *opts
	}
	lives := new(Lives)
	o.Lives = lives
	g, mint := tools.NewGate(registry, &o)
	return g, &Mint{mint, lives}
}

// Agent is the authority of the agent id of owner, who may do what held returns.
func (m *Mint) Agent(owner ucan.DID, id string, held func() caps.Set) tools.Authority {
	return m.Mint.Agent(owner, m.Lives.Add(owner, id, held))
}
