package agents

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
	"usher/tools/keylock"
	"usher/ucan"
	"usher/venue/store"
)

// record is all that is kept of an agent beside its sessions: one value,
// replaced whole. Caps stands apart from the config, and is what counts; where
// it cannot be read, it denies everything.
type record struct {
	Status  string                `json:"status"`            // SLEEPING, SUSPENDED or TERMINATED; RUNNING is not stored
	Life    string                `json:"life"`              // differs for each agent that ever had the id
	Config  agents.Spec           `json:"config"`            // without caps
	Caps    caps.Set              `json:"caps"`              // as its principal writes them
	Account string                `json:"account,omitempty"` // where its spending is counted; empty is its life: see account
	DID     string                `json:"did,omitempty"`     // of an independent agent: who it acts as
	Givers  []tools.Life          `json:"givers,omitempty"`  // those that it has its capabilities from
	Wrote   tools.Bound           `json:"wrote,omitzero"`    // who wrote its context since it was made; zero is the owner's
	Failing *agents.FailureStreak `json:"failing,omitempty"` // nil since a turn succeeded, or the agent was resumed
	Created int64                 `json:"created"`           // ms
	Updated int64                 `json:"updated"`           // ms

	rev uint64 // of the stored row
}

// key names an agent: ids are unique within one user's namespace only.
type key struct {
	owner ucan.DID
	id    string
}

func (k key) String() string { return k.owner.String() + "/" + k.id }

func (k key) life(life string) tools.Life { return tools.NewLife(k.owner, k.id, life) }

// keyOf is the key of the agent whose life it is. What cannot be read is
// nobody's, who gives nothing.
func keyOf(life tools.Life) key {
	did, err := ucan.ParseDID(life.Owner())
	if err != nil {
		return key{}
	}
	return key{did, life.Agent()}
}

// life names the present life of the agent of the key.
func (r *record) life(k key) tools.Life { return k.life(r.Life) }

// principal is whom the agent acts as: its owner, or itself where it is
// independent. Bare resources of its capabilities lie in that namespace.
func (r *record) principal(k key) ucan.DID {
	if r.DID == "" {
		return k.owner
	}
	if did, err := ucan.ParseDID(r.DID); err == nil {
		return did
	}
	return k.owner
}

// entry is a known agent: its record as an immutable snapshot, and what of it
// lives in memory.
type entry struct {
	key    key
	rec    atomic.Pointer[record] // nil once the agent was removed
	eff    atomic.Pointer[effective]
	cast   atomic.Pointer[cast]
	payers atomic.Pointer[binding]
	busy   atomic.Int32 // turns that run now
}

// Book holds the records of the agents of all users. What is in memory is a
// cache of them under the epoch: [Book.refresh] brings one up to date.
type Book struct {
	space *store.Space
	epoch atomic.Uint64 // another number after any change of authority

	changing *keylock.Locks // of agents: who changes one waits for the others who do

	mu      sync.Mutex
	entries map[key]*entry
}

// NewBook returns the book whose records lie in the space.
func NewBook(space *store.Space) *Book {
	return &Book{space: space, changing: keylock.New(), entries: make(map[key]*entry)}
}

// get returns the agent with its record; nil where the user has none of that id.
func (b *Book) get(ctx context.Context, k key) (*entry, *record, error) {
	if e := b.find(k); e != nil {
		if rec := e.rec.Load(); rec != nil {
			return e, rec, nil
		}
	}
	return b.refresh(ctx, k)
}

// refresh is get that reads the record into memory: what it returns is at least
// as new as the call.
func (b *Book) refresh(ctx context.Context, k key) (*entry, *record, error) {
	for {
		e, old := b.entry(k)
		rec, err := b.read(ctx, k)
		switch {
		case err != nil:
			b.drop(e)
			return nil, nil, err
		case rec != nil && old != nil && rec.rev == old.rev:
			return e, old, nil
		case !b.replace(e, old, rec):
			continue // somebody was faster; whose record is newer is not known
		case rec == nil:
			return nil, nil, nil
		}
		return e, rec, nil
	}
}

// entry returns the entry of an agent with its record, under an epoch that knows of
// it: whoever replaced another has moved the epoch on. Where there is none it makes
// one, which who comes meanwhile finds: a record that is read goes to that one alone.
func (b *Book) entry(k key) (*entry, *record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[k]
	if e == nil {
		e = &entry{key: k}
		b.entries[k] = e
	}
	return e, e.rec.Load()
}

// replace puts a record in the place of old, if that is the one in memory yet, and
// moves the epoch on. An entry that stands for nobody is forgotten: ids that nobody
// has are not kept in memory, as anyone can ask for them.
func (b *Book) replace(e *entry, old, rec *record) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.entries[e.key] != e || e.rec.Load() != old {
		return false
	}
	if rec == nil {
		delete(b.entries, e.key)
	}
	if old != rec {
		e.rec.Store(rec)
		b.epoch.Add(1)
	}
	return true
}

// drop forgets an entry that stands for nobody.
func (b *Book) drop(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.rec.Load() == nil && b.entries[e.key] == e {
		delete(b.entries, e.key)
	}
}

func (b *Book) find(k key) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.entries[k]
}

func recordKey(k key) string { return "rec/" + k.String() }

func (b *Book) read(ctx context.Context, k key) (*record, error) {
	raw, rev, err := b.space.Get(ctx, recordKey(k))
	if err != nil || raw == nil {
		return nil, err
	}
	rec := &record{rev: rev}
	if err := json.Unmarshal(raw, rec); err != nil {
		// A record whose capabilities cannot be read is one that holds none.
		return nil, damageError{fmt.Errorf("read agent %s: %w", k.id, err)}
	}
	if _, err := ucan.ParseDID(rec.DID); rec.DID != "" && err != nil {
		return nil, damageError{fmt.Errorf("read agent %s: who it acts as: %w", k.id, err)}
	}
	rec.Caps = rec.Caps.In(rec.principal(k).String())
	return rec, nil
}

// damageError says that a record is stored and cannot be read.
type damageError struct{ error }

func (e damageError) Unwrap() error { return e.error }

// maxChanges bounds how often a change is decided again because others changed
// what it rests on.
const maxChanges = 100

var errChanging = fault.New(fault.Busy, "others keep changing what this rests on, so nothing was changed: try again")

// change replaces the record of an agent by what f makes of it; f gets nil
// where there is none, and returns nil to remove it. It is one transaction,
// conditional on the revisions of the record, of the caller's and of all that
// either has its capabilities from: where one of them changes meanwhile, the
// call's requirements are checked and f is asked again. When change returns, the
// new record counts at every agent's next call and survives a crash.
func (b *Book) change(ctx context.Context, call tools.Call, k key, f func(old *record) (*record, error)) (*record, error) {
	held, _, err := b.changing.Lock(ctx, recordKey(k))
	if err != nil {
		return nil, err
	}
	defer held.Unlock()
	for range maxChanges {
		expect, err := b.basis(ctx, call, k)
		if err != nil {
			return nil, err
		}
		if err := call.Again(ctx); err != nil {
			return nil, err
		}
		var old *record
		if e := b.find(k); e != nil {
			old = e.rec.Load()
		}
		if rev := expect[recordKey(k)]; (old == nil) != (rev == 0) || old != nil && old.rev != rev {
			continue
		}
		next, err := f(old)
		if err != nil {
			return nil, err
		}
		moved, err := b.put(ctx, expect, k, next)
		if err != nil {
			return nil, err
		}
		if moved != "" {
			continue
		}
		if _, _, err := b.refresh(ctx, k); err != nil {
			return nil, err
		}
		return next, nil
	}
	return nil, errChanging
}

// basis reads what a change of an agent rests on: its record, those of all who
// bound the call, and of all above them. It returns their revisions.
func (b *Book) basis(ctx context.Context, call tools.Call, k key) (map[string]uint64, error) {
	expect := make(map[string]uint64)
	for at, err := range lineage(ctx, b.refresh, anyLife, append([]tools.Life{k.life("")}, call.Authority().Bound().Lives...)...) {
		if err != nil {
			return nil, err
		}
		expect[recordKey(at.key)] = at.rev()
	}
	return expect, nil
}

// maxRecord bounds the stored record of an agent, in bytes.
const maxRecord = 512 << 10

func (b *Book) put(ctx context.Context, expect map[string]uint64, k key, rec *record) (moved string, err error) {
	row := recordKey(k)
	if rec == nil {
		return b.space.Apply(ctx, expect, nil, []string{row})
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return "", fmt.Errorf("write agent %s: %w", k.id, err)
	}
	if len(raw) > maxRecord {
		return "", fault.New(fault.TooLarge, fmt.Sprintf("the configuration of agent %s takes %d bytes, at most %d: put what is long into the workspace, and name it in the agent's context", k.id, len(raw), maxRecord))
	}
	return b.space.Apply(ctx, expect, map[string][]byte{row: raw}, nil)
}

// brief is what a list shows of a record.
type brief struct {
	Status string `json:"status"`
	Config struct {
		Description string `json:"description"`
	} `json:"config"`
	Givers  []tools.Life `json:"givers"`
	Created int64        `json:"created"`
}

// page returns some agents of a user in the order of their ids, from the id from
// on, and where the next page begins; empty when nothing follows.
func (b *Book) page(ctx context.Context, owner ucan.DID, from string, limit int) (ids []string, list []brief, next string, err error) {
	prefix := recordKey(key{owner, ""})
	rows, next, err := b.space.Page(ctx, prefix, prefix+from, limit)
	if err != nil {
		return nil, nil, "", err
	}
	list = make([]brief, len(rows))
	for i, row := range rows {
		ids = append(ids, row.Key[len(prefix):])
		if err := json.Unmarshal(row.Value, &list[i]); err != nil {
			return nil, nil, "", fmt.Errorf("read agent %s: %w", ids[i], err)
		}
	}
	return ids, list, strings.TrimPrefix(next, prefix), nil
}

// childrenOf returns the ids of the owner's agents that have capabilities from k
// itself.
func (b *Book) childrenOf(ctx context.Context, k key, owner ucan.DID) (children []string, err error) {
	for from := ""; ; {
		ids, list, next, err := b.page(ctx, owner, from, 256)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if slices.ContainsFunc(list[i].Givers, func(giver tools.Life) bool { return keyOf(giver) == k }) {
				children = append(children, ids[i])
			}
		}
		if from = next; next == "" {
			return children, nil
		}
	}
}
