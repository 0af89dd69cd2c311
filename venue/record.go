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
	"usher/tools/fault"
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

	rev uint64 // of the stored row
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
	key  agentKey
	rec  atomic.Pointer[record] // nil once the agent was removed
	eff  atomic.Pointer[effective]
	cast atomic.Pointer[cast]
	busy atomic.Int32 // turns that run now
}

type effective struct {
	epoch uint64
	caps  caps.Set
}

// agentBook holds the agents of all users. What is in memory is a cache of the
// records under the epoch: [agentBook.refresh] brings one up to date.
type agentBook struct {
	space *store.Space
	epoch atomic.Uint64 // another number after any change of authority

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
	return b.refresh(ctx, key)
}

// refresh reads the agent's record into memory and returns the agent, or nil
// where there is none. What it returns is at least as new as the call.
func (b *agentBook) refresh(ctx context.Context, key agentKey) (*agent, error) {
	for {
		a := b.known(key)
		var old *record
		if a != nil {
			old = a.rec.Load()
		}
		rec, err := b.read(ctx, key)
		switch {
		case err != nil:
			return nil, err
		case rec == nil && old == nil: // ids that nobody has are not kept in memory: anyone can ask for them
			return nil, nil
		case rec != nil && old != nil && rec.rev == old.rev:
			return a, nil
		case a == nil:
			a = b.entry(key)
		}
		if !a.rec.CompareAndSwap(old, rec) {
			continue // somebody was faster; whose record is newer is not known
		}
		b.epoch.Add(1)
		if rec == nil {
			b.drop(a)
			return nil, nil
		}
		return a, nil
	}
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
		a = &agent{key: key}
		b.agents[key] = a
	}
	return a
}

func recordKey(key agentKey) string { return "rec/" + key.String() }

func (b *agentBook) read(ctx context.Context, key agentKey) (*record, error) {
	raw, rev, err := b.space.Get(ctx, recordKey(key))
	if err != nil || raw == nil {
		return nil, err
	}
	rec := &record{rev: rev}
	if err := json.Unmarshal(raw, rec); err != nil {
		// A record whose capabilities cannot be read is one that holds none.
		return nil, fmt.Errorf("read agent %s: %w", key.id, err)
	}
	if _, err := ucan.ParseDID(rec.DID); rec.DID != "" && err != nil {
		return nil, fmt.Errorf("read agent %s: who it acts as: %w", key.id, err)
	}
	rec.Caps = rec.Caps.In(rec.principal(key).String())
	return rec, nil
}

// principal is whom the agent acts as: its owner, or itself where it is
// independent. Bare resources of its capabilities lie in that namespace.
func (r *record) principal(key agentKey) ucan.DID {
	if r.DID == "" {
		return key.owner
	}
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

// drop forgets an entry that stands for nobody.
func (b *agentBook) drop(a *agent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.rec.Load() == nil && b.agents[a.key] == a {
		delete(b.agents, a.key)
	}
}

// maxChanges bounds how often a change is decided again because others changed
// what it rests on.
const maxChanges = 100

// ErrChanging: what a change rests on was changed by others again and again.
var ErrChanging = fault.New(fault.Busy, "others keep changing what this rests on, so nothing was changed: try again")

// change replaces the record of an agent by what f makes of it; f gets nil
// where there is none, and returns nil to remove it. It is one transaction,
// conditional on the revisions of the record, of the caller's and of all that
// either has its capabilities from: where one of them changes meanwhile, the
// call's requirements are checked and f is asked again. When change returns, the
// new record counts at every agent's next call and survives a crash.
func (b *agentBook) change(ctx context.Context, call tools.Call, key agentKey, f func(old *record) (*record, error)) (*record, error) {
	for range maxChanges {
		expect, err := b.basis(ctx, call, key)
		if err != nil {
			return nil, err
		}
		if err := call.Again(ctx); err != nil {
			return nil, err
		}
		var old *record
		if a := b.known(key); a != nil {
			old = a.rec.Load()
		}
		if rev := expect[recordKey(key)]; (old == nil) != (rev == 0) || old != nil && old.rev != rev {
			continue
		}
		next, err := f(old)
		if err != nil {
			return nil, err
		}
		moved, err := b.put(ctx, expect, key, next)
		if err != nil {
			return nil, err
		}
		if moved != "" {
			continue
		}
		if _, err := b.refresh(ctx, key); err != nil {
			return nil, err
		}
		return next, b.space.Sync(ctx)
	}
	return nil, ErrChanging
}

// basis reads what a change of an agent rests on: its record, those of all who
// bound the call, and of all above them. It returns their revisions.
func (b *agentBook) basis(ctx context.Context, call tools.Call, key agentKey) (map[string]uint64, error) {
	expect := make(map[string]uint64)
	todo := []agentKey{key}
	for _, life := range call.Authority().Bound().Lives {
		todo = append(todo, parseBound(string(life)).key)
	}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		k := recordKey(at)
		if _, seen := expect[k]; seen || at == (agentKey{}) {
			continue
		}
		expect[k] = 0
		a, err := b.refresh(ctx, at)
		if err != nil {
			return nil, err
		}
		if a == nil {
			continue
		}
		rec := a.rec.Load()
		if rec == nil {
			continue
		}
		expect[k] = rec.rev
		for _, giver := range rec.Givers {
			todo = append(todo, parseBound(giver).key)
		}
	}
	return expect, nil
}

func (b *agentBook) put(ctx context.Context, expect map[string]uint64, key agentKey, rec *record) (moved string, err error) {
	k := recordKey(key)
	if rec == nil {
		return b.space.Apply(ctx, expect, nil, []string{k})
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return "", fmt.Errorf("write agent %s: %w", key.id, err)
	}
	return b.space.Apply(ctx, expect, map[string][]byte{k: raw}, nil)
}

// effective returns what an agent may do while it is SLEEPING or RUNNING: its own
// capabilities and those of everyone whom it has them from, directly or not, all
// at once. A giver that is suspended or has ended gives nothing. It is recomputed
// when any record has changed since, and otherwise two loads.
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
		if rec == nil || rec.Life != seen[i].life || i > 0 && rec.Status != agents.Sleeping {
			return caps.Set{}, nil // who is suspended or has ended gives nothing
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
