package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"usher/caps"
	"usher/ucan"
)

// Authority says who acts, for whom, and within what. It is plain data: a JSON
// form of it can be stored, and [Mint.Open] takes it back. Only a [Mint] makes
// one; everything derived from it is narrower. What it allows is computed by the
// gate at each call, from the lives of the agents as they are then. The zero
// value can do nothing.
type Authority struct {
	*lineage
	trail trail
	meter *Meter
}

// lineage is the part of an authority that bounds it. It is immutable.
type lineage struct {
	mint   *Mint
	owner  ucan.DID
	chain  []actor // the first caller first; the last one acts
	bound  Bound   // of the whole chain
	proofs []*ucan.Link

	memo   atomic.Pointer[liveSet]
	called atomic.Pointer[callMemo]
	json   atomic.Pointer[[]byte]
}

// liveSet is what a lineage allows under one epoch of authority.
type liveSet struct {
	epoch uint64
	set   caps.Set
}

// actor is one link of an authority: an agent, or a user in person.
type actor struct {
	Owner ucan.DID `json:"owner"`           // principal in whose namespace it acts
	Agent Life     `json:"agent,omitempty"` // empty is the owner in person
	Own   bool     `json:"own,omitempty"`   // it acts on its own: its callers bound nothing
	Bound Bound    `json:"bound,omitzero"`  // narrowings, and the authors of stored programs that run for it
}

// trail says where in the work of a venue a call belongs.
type trail struct {
	Run     string   `json:"run,omitempty"`    // id of the run that makes the call
	Parent  string   `json:"parent,omitempty"` // id of the run that started it
	Session string   `json:"session,omitempty"`
	Depth   int      `json:"depth,omitempty"` // operations that started operations
	Inner   bool     `json:"inner,omitempty"` // an operation makes the call, not the actor itself
	Turns   []string `json:"turns,omitempty"` // that wait for the call

	Schedule string `json:"schedule,omitempty"` // that the first of the calls is of
	Relayed  bool   `json:"relayed,omitempty"`  // a program speaks for the person, such as a client of MCP with a model
	Until    int64  `json:"until,omitempty"`    // s since 1970, to which the proof of who called first holds; 0 is for good
	Bearer   string `json:"bearer,omitempty"`   // names that proof
}

// Mint makes authorities for one gate. Whoever has it decides who acts, so it
// stays with the venue.
type Mint struct {
	lives  Lives
	limits Amounts
	clock  func() time.Time
	key    []byte    // of seals
	macs   sync.Pool // under it
}

// User is the authority of owner in person: unrestricted within the own
// namespace.
func (m *Mint) User(owner ucan.DID) Authority {
	return Authority{lineage: newLineage(m, owner, []actor{{Owner: owner}}, nil)}
}

// Agent is the authority of an agent that acts as the principal owner, called by
// nobody. Its capabilities are those of the life at each call.
func (m *Mint) Agent(owner ucan.DID, life Life) Authority {
	if life == "" {
		return Authority{}
	}
	return Authority{lineage: newLineage(m, owner, []actor{{Owner: owner, Agent: life}}, nil)}
}

func newLineage(m *Mint, owner ucan.DID, chain []actor, proofs []*ucan.Link) *lineage {
	l := &lineage{mint: m, owner: owner, chain: chain, proofs: proofs}
	for i := len(chain) - 1; i >= 0; i-- {
		if a := chain[i]; a.Agent != "" {
			l.bound = l.bound.And(Bound{Lives: []Life{a.Agent}})
		}
		if l.bound = l.bound.And(chain[i].Bound); chain[i].Own {
			break
		}
	}
	return l
}

// nobody acts by the zero Authority.
var nobody = &lineage{chain: []actor{{}}}

func (a Authority) line() *lineage {
	if a.lineage == nil {
		return nobody
	}
	return a.lineage
}

// valid reports whether the authority is one of the mint.
func (a Authority) valid(m *Mint) bool {
	return m != nil && a.line().mint == m && !a.owner.IsZero()
}

// Owner is the principal whose namespace the call works in.
func (a Authority) Owner() ucan.DID { return a.line().owner }

// Actor is the id of the agent that acts; empty for the owner in person.
func (a Authority) Actor() string { return a.Life().Agent() }

// Life is the life of the agent that acts; empty for the owner in person.
func (a Authority) Life() Life {
	chain := a.line().chain
	return chain[len(chain)-1].Agent
}

// Via lists the agents on whose behalf the actor works, the first caller first.
func (a Authority) Via() (ids []string) {
	chain := a.line().chain
	for _, c := range chain[:len(chain)-1] {
		if c.Agent != "" {
			ids = append(ids, c.Agent.Agent())
		}
	}
	return ids
}

// Agents lists the lives of the agents that the authority is of, the first caller first and
// the actor last.
func (a Authority) Agents() (lives []Life) {
	for _, c := range a.line().chain {
		if c.Agent != "" {
			lives = append(lives, c.Agent)
		}
	}
	return lives
}

// Behind lists the lives of those whose word the calls are where that is not the actor: who
// wrote the stored programs that make them, and who had a schedule fire.
func (a Authority) Behind() []Life {
	chain := a.line().chain
	last := chain[len(chain)-1]
	return slices.DeleteFunc(slices.Clone(last.Bound.Lives), func(l Life) bool { return l == last.Agent })
}

// InPerson reports whether the owner makes a call: no agent does for them, nor a program
// that an agent wrote or that speaks for them.
func (a Authority) InPerson() bool {
	return a.Actor() == "" && !a.trail.Relayed && len(a.Via()) == 0 && len(a.Bound().Lives) == 0
}

// IsUnbounded reports whether the owner makes a call in person, and nothing bounds them.
func (a Authority) IsUnbounded() bool {
	return a.InPerson() && a.line().mint != nil && a.Bound().IsZero()
}

// Who names the one whose calls these are, with what bounds them, in hexadecimal digits: the
// same for whoever comes again as the same. It is empty for a user whom nothing bounds, also
// where a program speaks for them.
func (a Authority) Who() string {
	l := a.line()
	if l.mint != nil && len(l.chain) == 1 && a.Actor() == "" && l.bound.IsZero() {
		return ""
	}
	raw, _ := json.Marshal(l.chain) // of values: cannot fail
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// Bound is what bounds the authority: the actor's life, those on whose behalf it
// acts, narrowings, and the authors of stored programs. What it makes that lasts
// stays bounded by it.
func (a Authority) Bound() Bound { return a.line().bound }

// Run is the id of the run that makes the calls; empty for a call by itself.
func (a Authority) Run() string { return a.trail.Run }

// Caps returns the effective capabilities as they are now, as the owner writes
// them, without what has ended.
func (a Authority) Caps() caps.Set {
	l := a.line()
	set, _ := l.live(context.Background())
	if set.IsPlain() {
		return set
	}
	return set.At(l.mint.now())
}

// live computes the capabilities, once an epoch.
func (l *lineage) live(ctx context.Context) (set caps.Set, epoch uint64) {
	if l.mint == nil {
		return caps.Set{}, 0
	}
	epoch = l.mint.lives.Epoch()
	if m := l.memo.Load(); m != nil && m.epoch == epoch {
		return m.set, epoch
	}
	set = l.bound.live(ctx, l.mint.lives, l.owner)
	if ctx.Err() == nil {
		l.memo.Store(&liveSet{epoch, set})
	}
	return set, epoch
}

// derive returns the authority with another last link.
func (a Authority) derive(change func(last *actor)) Authority {
	if a.lineage == nil {
		return a
	}
	chain := slices.Clone(a.chain)
	change(&chain[len(chain)-1])
	a.lineage = newLineage(a.mint, a.owner, chain, a.proofs)
	return a
}

// Narrow returns the authority reduced to what set allows too, as the owner
// writes it.
func (a Authority) Narrow(set caps.Set) Authority {
	if set.IsUnrestricted() {
		return a
	}
	return a.derive(func(last *actor) {
		last.Bound = last.Bound.And(Bound{Within: []narrow{{set, a.owner}}})
	})
}

// WithAuthors returns the authority reduced to what others may do too, such as the
// authors of a stored program.
func (a Authority) WithAuthors(authors Bound) Authority {
	if authors.IsZero() {
		return a
	}
	return a.derive(func(last *actor) { last.Bound = last.Bound.And(authors) })
}

// WithProofs returns the authority with tokens that the caller brought along,
// beside those that the venue stores.
func (a Authority) WithProofs(tokens ...*ucan.Link) Authority {
	if a.lineage == nil || len(tokens) == 0 {
		return a
	}
	a.lineage = newLineage(a.mint, a.owner, a.chain, append(slices.Clone(a.proofs), tokens...))
	return a
}

// ByCaller returns the authority of an agent that caller asked: within the
// caller's own, as both are at each call, unless the agent acts on its own. The
// trail of the caller goes on, and so does its meter.
func (a Authority) ByCaller(caller Authority, own bool) Authority {
	if !a.valid(a.line().mint) || !caller.valid(a.mint) {
		return Authority{}
	}
	last := a.called.Load()
	if last == nil || last.by != caller.lineage || last.own != own {
		chain := append(slices.Clone(caller.chain), a.chain...)
		chain[len(caller.chain)].Own = own
		proofs := caller.proofs
		if own {
			proofs = nil
		}
		last = &callMemo{by: caller.lineage, own: own, made: newLineage(a.mint, a.owner, chain, proofs)}
		a.called.Store(last)
	}
	return Authority{lineage: last.made, trail: caller.trail, meter: caller.meter}.withMeter()
}

// callMemo is what [Authority.ByCaller] made last of an agent's lineage: most
// agents have one caller, and what is known of their capabilities stays known.
type callMemo struct {
	by, made *lineage
	own      bool
}

// InRun returns the same authority for a run that its present run starts.
func (a Authority) InRun(id string) Authority {
	if id != a.trail.Run {
		a.trail.Parent, a.trail.Run = a.trail.Run, id
	}
	return a
}

// InSession returns the same authority, its calls recorded under the session.
func (a Authority) InSession(id string) Authority {
	a.trail.Session = id
	return a
}

// WithProofEnd returns the same authority for a caller whose proof of who they are ends then.
func (a Authority) WithProofEnd(end time.Time) Authority {
	a.trail.Until = end.Unix()
	return a
}

// ProofEnd is until when who called first has proved who they are; zero is for good.
func (a Authority) ProofEnd() time.Time {
	if a.trail.Until == 0 {
		return time.Time{}
	}
	return time.Unix(a.trail.Until, 0)
}

// WithBearer returns the same authority for a caller who came by the proof of that name.
func (a Authority) WithBearer(proof string) Authority {
	a.trail.Bearer = proof
	return a
}

// Bearer names the proof by which who called first came; empty where nobody looked at any.
func (a Authority) Bearer() string { return a.trail.Bearer }

// ChargeTo returns the same authority for what a call starts whose authority is by: it is
// charged as that call is, and lies as deep.
func (a Authority) ChargeTo(by Authority) Authority {
	a.trail.Depth, a.meter = max(a.trail.Depth, by.trail.Depth), by.meter
	return a.withMeter()
}

// InTurn returns the same authority for the calls of a turn, which the actor
// makes itself. What they start knows that the turn may be waiting for it.
func (a Authority) InTurn(key string) Authority {
	a.trail.Turns = append(slices.Clone(a.trail.Turns), key)
	a.trail.Inner = false // Relayed stays: it is about who began
	return a.withMeter()
}

// AsRelay returns the same authority for calls that a program makes for its owner, as a model
// says that it should: nothing in them is the word of a person, and sealed operations do not
// answer them.
func (a Authority) AsRelay() Authority {
	a.trail.Relayed, a.trail.Inner = true, true
	return a
}

// AsInner returns the same authority for calls that the actor does not make
// itself: sealed operations do not answer them.
func (a Authority) AsInner() Authority {
	a.trail.Inner = true
	return a
}

// ForSchedule returns the authority of a schedule for what comes of it when it fires: calls
// that no actor makes itself, recorded under the schedule, and a tree of their own.
// Where by is not zero, somebody triggers it: then they belong to by's tree, and by
// bounds them too.
func (a Authority) ForSchedule(schedule string, by Authority) Authority {
	relayed := a.trail.Relayed || by.trail.Relayed // whoever had it scheduled was no person, and so is what fires
	a.trail, a.meter = by.trail, by.meter
	a.trail.Schedule, a.trail.Inner, a.trail.Relayed = schedule, true, relayed
	return a.WithAuthors(by.Bound()).withMeter()
}

// Within reports whether the turn of the key waits for the authority's calls.
func (a Authority) Within(turn string) bool { return slices.Contains(a.trail.Turns, turn) }

// withMeter returns the authority with the meter of its call tree, which begins
// here where there is none.
func (a Authority) withMeter() Authority {
	if a.meter == nil && a.lineage != nil && a.mint != nil {
		a.meter = NewMeter(a.mint.limits)
	}
	return a
}

// Meter is what counts for the call tree; nil before the first call.
func (a Authority) Meter() *Meter { return a.meter }
