package venue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"usher/caps"
	"usher/runtime"
	"usher/tools/agents"
	"usher/ucan"
	"usher/venue/store"
)

// record is all that is kept of an agent beside its sessions: one value,
// replaced whole. Caps stands apart from the config, and is what counts; where
// it cannot be read, it denies everything.
type record struct {
	Status  string      `json:"status"` // SLEEPING, SUSPENDED or TERMINATED; RUNNING is not stored
	Config  agents.Spec `json:"config"` // without caps
	Caps    caps.Set    `json:"caps"`
	DID     string      `json:"did,omitempty"`    // of an independent agent: who it acts as
	Givers  []string    `json:"givers,omitempty"` // agents that it has its capabilities from, the creator first: see giver
	Created int64       `json:"created"`          // ms
	Updated int64       `json:"updated"`          // ms
}

// agentKey names an agent: ids are unique within one user's namespace only.
type agentKey struct {
	owner ucan.DID
	id    string
}

func (k agentKey) String() string { return k.owner.String() + "/" + k.id }

// agent is a known agent: its record as an immutable snapshot, and what of it
// lives in memory.
type agent struct {
	key   agentKey
	write sync.Mutex // held while the record is replaced
	rec   atomic.Pointer[record]
	eff   atomic.Pointer[effective]
	busy  atomic.Int32 // turns that run now

	mu       sync.Mutex
	sessions map[string]*runtime.Session
}

type effective struct {
	epoch uint64
	caps  caps.Set
}

// agentBook holds the agents of all users. A record is read from the store
// once and then served from memory; writing replaces both.
type agentBook struct {
	space *store.Space
	epoch atomic.Uint64 // raised whenever any record changes

	mu     sync.Mutex
	agents map[agentKey]*agent
}

func newAgentBook(space *store.Space) *agentBook {
	return &agentBook{space: space, agents: make(map[agentKey]*agent)}
}

// get returns the agent, or nil when the user has none of that id.
func (b *agentBook) get(ctx context.Context, key agentKey) (*agent, error) {
	if a := b.known(key); a != nil && a.rec.Load() != nil {
		return a, nil
	}
	// Ids that nobody has are not kept in memory: anyone can ask for them.
	if rec, _, err := b.read(ctx, key); err != nil || rec == nil {
		return nil, err
	}
	a := b.entry(key)
	a.write.Lock()
	defer a.write.Unlock()
	rec, _, err := b.read(ctx, key)
	if err != nil || rec == nil {
		return nil, err
	}
	a.rec.CompareAndSwap(nil, rec)
	return a, nil
}

func (b *agentBook) known(key agentKey) *agent {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.agents[key]
}

func (b *agentBook) entry(key agentKey) *agent {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, ok := b.agents[key]
	if !ok {
		a = &agent{key: key, sessions: make(map[string]*runtime.Session)}
		b.agents[key] = a
	}
	return a
}

func recordKey(key agentKey) string { return "rec/" + key.String() }

func (b *agentBook) read(ctx context.Context, key agentKey) (*record, uint64, error) {
	raw, rev, err := b.space.Get(ctx, []byte(recordKey(key)))
	if err != nil || raw == nil {
		return nil, rev, err
	}
	rec := new(record)
	if err := json.Unmarshal(raw, rec); err != nil {
		// A record whose capabilities cannot be read is one that holds none.
		return nil, rev, fmt.Errorf("read agent %s: %w", key.id, err)
	}
	rec.Caps = rec.Caps.In(rec.principal(key).String())
	return rec, rev, nil
}

// principal is whom the agent acts as: its owner, or itself where it is
// independent. Bare resources of its capabilities lie in that namespace.
func (r *record) principal(key agentKey) ucan.DID {
	if did, err := ucan.ParseDID(r.DID); err == nil {
		return did
	}
	return key.owner
}

// giver finds the agent that a record names among its Givers: by its id in the
// record's own namespace, or else by its key, "did:key:…/id".
func giver(of agentKey, name string) agentKey {
	owner, id, elsewhere := strings.Cut(name, "/")
	if !elsewhere {
		return agentKey{of.owner, name}
	}
	did, err := ucan.ParseDID(owner)
	if err != nil {
		return agentKey{} // nobody, who gives nothing
	}
	return agentKey{did, id}
}

// change replaces the record of an agent by what f makes of it; f gets nil
// where there is none, and returns nil to remove it. When change returns, the
// new record counts at every agent's next call and survives a crash.
func (b *agentBook) change(ctx context.Context, key agentKey, f func(old *record) (*record, error)) (*record, error) {
	a := b.entry(key)
	a.write.Lock()
	defer a.write.Unlock()
	for {
		old, rev, err := b.read(ctx, key)
		if err != nil {
			return nil, err
		}
		next, err := f(old)
		if err != nil {
			return nil, err
		}
		applied, err := b.put(ctx, key, rev, next)
		if err != nil {
			return nil, err
		}
		if !applied {
			continue
		}
		a.rec.Store(next)
		b.epoch.Add(1)
		return next, b.space.Sync(ctx)
	}
}

func (b *agentBook) put(ctx context.Context, key agentKey, rev uint64, rec *record) (applied bool, err error) {
	k := recordKey(key)
	if rec == nil {
		return b.space.Apply(ctx, map[string]uint64{k: rev}, nil, []string{k})
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return false, fmt.Errorf("write agent %s: %w", key.id, err)
	}
	return b.space.Apply(ctx, map[string]uint64{k: rev}, map[string][]byte{k: raw}, nil)
}

// effective returns what an agent may do now: its own capabilities and those
// of everyone whom it has them from, directly or not, all at once. It is
// recomputed when any record has changed since, and otherwise two loads.
func (b *agentBook) effective(key agentKey) caps.Set {
	epoch := b.epoch.Load()
	a := b.entry(key)
	if e := a.eff.Load(); e != nil && e.epoch == epoch {
		return e.caps
	}
	set := b.compute(key)
	a.eff.Store(&effective{epoch, set})
	return set
}

func (b *agentBook) compute(key agentKey) caps.Set {
	set := caps.Unrestricted()
	seen := []agentKey{key}
	for i := 0; i < len(seen); i++ {
		a, err := b.get(context.Background(), seen[i])
		if err != nil || a == nil {
			return caps.Set{} // who cannot be asked gives nothing
		}
		rec := a.rec.Load()
		if rec == nil {
			return caps.Set{}
		}
		set = set.Intersect(rec.Caps)
		for _, name := range rec.Givers {
			if g := giver(seen[i], name); !slices.Contains(seen, g) {
				seen = append(seen, g)
			}
		}
	}
	return set
}

// live returns the agent's effective capabilities as a source for its authority.
func (b *agentBook) live(key agentKey) func() caps.Set {
	a := b.entry(key)
	return func() caps.Set {
		if e := a.eff.Load(); e != nil && e.epoch == b.epoch.Load() {
			return e.caps
		}
		return b.effective(key)
	}
}

// list returns the records of a user's agents in the order of their ids.
func (b *agentBook) list(ctx context.Context, owner ucan.DID, fn func(id string, rec *record) error) error {
	prefix := recordKey(agentKey{owner, ""})
	return b.space.Scan(ctx, []byte(prefix), nil, func(key, raw []byte) (bool, error) {
		id := string(key[len(prefix):])
		rec := new(record)
		if err := json.Unmarshal(raw, rec); err != nil {
			return false, fmt.Errorf("read agent %s: %w", id, err)
		}
		return true, fn(id, rec)
	})
}
