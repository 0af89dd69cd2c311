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
	"usher/tools"
	"usher/tools/agents"
	"usher/ucan"
	"usher/venue/store"
)

// record is all that is kept of an agent beside its sessions: one value,
// replaced whole. Caps stands apart from the config, and is what counts; where
// it cannot be read, it denies everything.
type record struct {
	Status    string      `json:"status"`              // SLEEPING, SUSPENDED or TERMINATED; RUNNING is not stored
	Life      string      `json:"life"`                // differs for each agent that ever had the id
	Config    agents.Spec `json:"config"`              // without caps
	Caps      caps.Set    `json:"caps"`                // as its principal writes them
	BudgetsBy string      `json:"budgetsBy,omitempty"` // bound of the agent that set the budgets; empty for the owner
	Account   string      `json:"account,omitempty"`   // where its spending is counted; empty is its life: see account
	DID       string      `json:"did,omitempty"`       // of an independent agent: who it acts as
	Givers    []string    `json:"givers,omitempty"`    // bounds of those it has its capabilities from: see bound
	Created   int64       `json:"created"`             // ms
	Updated   int64       `json:"updated"`             // ms
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
	sessions map[string]*openSession // by place in the log
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
	a := b.lock(key)
	defer a.write.Unlock()
	defer b.drop(a)
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
		a = &agent{key: key, sessions: make(map[string]*openSession)}
		b.agents[key] = a
	}
	return a
}

func recordKey(key agentKey) string { return "rec/" + key.String() }

func (b *agentBook) read(ctx context.Context, key agentKey) (*record, uint64, error) {
	raw, rev, err := b.space.Get(ctx, recordKey(key))
	if err != nil || raw == nil {
		return nil, rev, err
	}
	rec := new(record)
	if err := json.Unmarshal(raw, rec); err != nil {
		// A record whose capabilities cannot be read is one that holds none.
		return nil, rev, fmt.Errorf("read agent %s: %w", key.id, err)
	}
	if _, err := ucan.ParseDID(rec.DID); rec.DID != "" && err != nil {
		return nil, rev, fmt.Errorf("read agent %s: who it acts as: %w", key.id, err)
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

// bound names one life of an agent: what was given by it ends with it.
type bound struct {
	key  agentKey
	life string
}

// String is "did:key:…/id#life".
func (b bound) String() string { return b.key.String() + "#" + b.life }

func (b bound) name() tools.Life { return tools.NewLife(b.key.owner, b.key.id, b.life) }

// parseBound reads what String makes; what it cannot read is nobody's, who
// gives nothing.
func parseBound(s string) bound {
	owner, rest, _ := strings.Cut(s, "/")
	id, life, _ := strings.Cut(rest, "#")
	did, err := ucan.ParseDID(owner)
	if err != nil {
		return bound{}
	}
	return bound{agentKey{did, id}, life}
}

// lock returns the agent's entry with its write lock held.
func (b *agentBook) lock(key agentKey) *agent {
	for {
		a := b.entry(key)
		a.write.Lock()
		if b.known(key) == a {
			return a
		}
		a.write.Unlock() // it was dropped meanwhile
	}
}

// drop forgets an entry that stands for nobody. The caller holds its write lock.
func (b *agentBook) drop(a *agent) {
	if a.rec.Load() != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.agents[a.key] == a {
		delete(b.agents, a.key)
	}
}

// change replaces the record of an agent by what f makes of it; f gets nil
// where there is none, and returns nil to remove it. When change returns, the
// new record counts at every agent's next call and survives a crash.
func (b *agentBook) change(ctx context.Context, key agentKey, f func(old *record) (*record, error)) (*record, error) {
	a := b.lock(key)
	defer a.write.Unlock()
	defer b.drop(a)
	for {
		old, rev, err := b.read(ctx, key)
		if err != nil {
			return nil, err
		}
		next, err := f(old)
		if err != nil {
			return nil, err
		}
		moved, err := b.put(ctx, key, rev, next)
		if err != nil {
			return nil, err
		}
		if moved != "" {
			continue
		}
		a.rec.Store(next)
		b.epoch.Add(1)
		return next, b.space.Sync(ctx)
	}
}

func (b *agentBook) put(ctx context.Context, key agentKey, rev uint64, rec *record) (moved string, err error) {
	k := recordKey(key)
	if rec == nil {
		return b.space.Apply(ctx, map[string]uint64{k: rev}, nil, []string{k})
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return "", fmt.Errorf("write agent %s: %w", key.id, err)
	}
	return b.space.Apply(ctx, map[string]uint64{k: rev}, map[string][]byte{k: raw}, nil)
}

// effective returns what an agent may do now: its own capabilities and those
// of everyone whom it has them from, directly or not, all at once. It is
// recomputed when any record has changed since, and otherwise two loads.
func (b *agentBook) effective(a *agent) caps.Set {
	epoch := b.epoch.Load()
	if e := a.eff.Load(); e != nil && e.epoch == epoch {
		return e.caps
	}
	set, err := b.compute(a)
	if err != nil {
		return caps.Set{} // for now; it is asked again
	}
	a.eff.Store(&effective{epoch, set})
	return set
}

func (b *agentBook) compute(a *agent) (caps.Set, error) {
	rec := a.rec.Load()
	if rec == nil {
		return caps.Set{}, nil
	}
	reader := rec.principal(a.key).String()
	set := caps.Unrestricted()
	seen := []bound{{a.key, rec.Life}}
	for i := 0; i < len(seen); i++ {
		at, err := b.get(context.Background(), seen[i].key)
		if err != nil {
			return caps.Set{}, err
		}
		if at == nil {
			return caps.Set{}, nil // who is no more gives nothing
		}
		rec := at.rec.Load()
		if rec == nil || rec.Life != seen[i].life {
			return caps.Set{}, nil
		}
		set = set.Intersect(rec.Caps.SeenBy(reader, rec.principal(at.key).String()))
		for _, name := range rec.Givers {
			if g := parseBound(name); !slices.Contains(seen, g) {
				seen = append(seen, g)
			}
		}
	}
	return set, nil
}

var _ tools.Lives = (*agentBook)(nil)

// Epoch is raised whenever any record changes.
func (b *agentBook) Epoch() uint64 { return b.epoch.Load() }

// Live returns the effective capabilities of one life of an agent. They are
// nothing from the moment when it is suspended, ended or removed, also for what
// it had begun.
func (b *agentBook) Live(ctx context.Context, life tools.Life) (caps.Set, ucan.DID) {
	of := parseBound(string(life))
	a, err := b.get(ctx, of.key)
	if err != nil || a == nil {
		return caps.Set{}, ucan.DID{}
	}
	rec := a.rec.Load()
	if rec == nil || rec.Life != of.life || rec.Status != agents.Sleeping {
		return caps.Set{}, ucan.DID{}
	}
	return b.effective(a), rec.principal(a.key)
}

// list returns the records of a user's agents in the order of their ids.
func (b *agentBook) list(ctx context.Context, owner ucan.DID, fn func(id string, rec *record) error) error {
	prefix := recordKey(agentKey{owner, ""})
	for row, err := range store.Rows(ctx, b.space, prefix, "") {
		if err != nil {
			return err
		}
		id := row.Key[len(prefix):]
		rec := new(record)
		if err := json.Unmarshal(row.Value, rec); err != nil {
			return fmt.Errorf("read agent %s: %w", id, err)
		}
		if err := fn(id, rec); err != nil {
			return err
		}
	}
	return nil
}
