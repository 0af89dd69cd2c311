package venue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/ucan"
	room "usher/venue/agents"
	"usher/venue/replies"
	"usher/venue/runs"
	"usher/venue/webhooks"
)

// Principal is somebody with a namespace of their own, as a program or a face of
// the venue has them. What is done through it is done in person: unrestricted
// within that namespace, and through the gate all the same. Who came in as an agent, or
// by [Venue.Anonymous], is bounded in all of it. Nothing that it returns leads to
// another principal.
type Principal struct {
	auth     tools.Authority
	gate     *tools.Gate
	agents   *room.Room
	runs     *runs.Book
	registry *tools.Registry
	// valid says why the token that the principal was made from is none any more.
	valid func(context.Context) error

	brought proofLoad // proofs
	guest   bool
	take    func() error // counts a request; nil where none is counted
	replies *replies.Room
	pushes  *webhooks.Pushes
	key     string // of the calls, for what does once what is asked twice
	// charged returns ctx with the budgets of who came in; nil for those who have none here.
	charged func(context.Context, tools.Authority) (context.Context, error)
}

// User is a principal that was opened by its name.
type User = Principal

// Agent is one agent of a principal.
type Agent = room.Agent

// NoAgentError says that a principal has no agent of an id.
type NoAgentError = room.NoAgentError

// User returns the user of the name, who is made on first use.
func (v *Venue) User(ctx context.Context, name string) (*User, error) {
	did, err := v.keys.User(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("user %q: %w", name, err)
	}
	return v.principal(v.mint.User(did), func(context.Context) error { return nil }), nil
}

func (v *Venue) principal(auth tools.Authority, valid func(context.Context) error) *Principal {
	return &Principal{auth: auth, gate: v.gate, agents: v.agents, runs: v.runs, registry: v.registry, valid: valid, replies: v.replies, pushes: v.pushes}
}

// Bounds of the proofs that a principal brings along. Each of its calls looks at
// them, and the record of each of its runs has them.
const (
	maxProofs     = 16 // as many as one search takes
	maxProofBytes = 256 << 10
)

// Authenticate returns the principal who bears the token: see [auth.Room.Bearer] for the
// kinds that there are, and for [auth.Refusal], the error of one that proves nothing.
// Proofs are tokens that delegate something to the principal, who brings them along: they
// count for its calls beside those that the venue stores. The principal ends with the
// token, also when that is revoked. One who comes too often is an error of [fault.RateLimited].
func (v *Venue) Authenticate(ctx context.Context, token string, proofs ...string) (*Principal, error) {
	links, size, err := readProofs(proofs, proofLoad{})
	if err != nil {
		return nil, err
	}
	id, err := v.auth.Bearer(ctx, token)
	if err != nil {
		return nil, err
	}
	auth := id.WithProof(v.now()) // id may be shared by all who bear the token
	if len(links) > 0 {
		auth = auth.WithProofs(links...)
	}
	p := v.principal(auth, id.Valid)
	p.brought, p.guest = size, id.Guest
	p.take = func() error { return v.auth.Take(id) }
	return p, nil
}

// Anonymous returns the principal whom somebody is who bears no token, or
// [auth.ErrNoToken] where nobody may.
func (v *Venue) Anonymous(ctx context.Context) (*Principal, error) {
	id, err := v.auth.Anonymous(ctx)
	if err == nil {
		err = v.auth.Take(id)
	}
	if err != nil {
		return nil, err
	}
	p := v.principal(id.Authority, id.Valid)
	p.guest = id.Guest
	p.take = func() error { return v.auth.Take(id) }
	return p, nil
}

var errBounded = fault.New(fault.Refused, "this is for a user in person: an agent, or who came in with bounds, could do more by it")

// Session returns an identity token of a user of the venue, by which
// [Venue.Authenticate] returns the principal again for that long.
func (v *Venue) Session(ctx context.Context, p *Principal, life time.Duration) (token string, err error) {
	if err := p.valid(ctx); err != nil {
		return "", err
	}
	if !p.auth.IsUnbounded() {
		return "", errBounded
	}
	if life <= 0 {
		return "", fmt.Errorf("a session of %s would have ended already: give it a life, for example an hour", life)
	}
	key, err := v.keys.Of(ctx, p.DID())
	if err != nil {
		return "", err
	}
	issuer := ucan.Issuer{Key: key, Verifier: v.verifier, Rand: v.random}
	l, err := issuer.Identity(v.DID(), v.now().Add(life))
	if err != nil {
		return "", err
	}
	return l.Text(), nil
}

// DID is the principal's identity.
func (p *Principal) DID() ucan.DID { return p.auth.Owner() }

// call is a call that the principal may make now.
func (p *Principal) call(ctx context.Context, operation string, input any) (tools.Invocation, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return tools.Invocation{}, fmt.Errorf("encode input of %s: %w", operation, err)
	}
	return tools.Invocation{Operation: operation, Input: raw, Key: p.key}, p.valid(ctx)
}

// Invoke runs an operation. input is anything that encodes to a JSON object; the
// result is JSON.
func (p *Principal) Invoke(ctx context.Context, operation string, input any) (json.RawMessage, error) {
	inv, err := p.call(ctx, operation, input)
	if err != nil {
		return nil, err
	}
	ctx, end, err := p.runs.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if p.charged != nil {
		if ctx, err = p.charged(ctx, p.auth); err != nil {
			return nil, err
		}
	}
	res, err := p.gate.Invoke(ctx, p.auth, inv)
	return res.Output, err
}

// Decide returns what [Principal.Invoke] would make of the call now, without
// running it: see [tools.Gate.Decide].
func (p *Principal) Decide(ctx context.Context, operation string, input any) (*tools.Ruling, error) {
	inv, err := p.call(ctx, operation, input)
	if err != nil {
		return nil, err
	}
	return p.gate.Decide(ctx, p.auth, inv)
}

// ask is [Principal.Invoke] with the answer read.
func (p *Principal) ask(ctx context.Context, operation string, input, answer any) error {
	out, err := p.Invoke(ctx, operation, input)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, answer)
}

// InPerson reports whether the principal is a user in person whom nothing bounds.
func (p *Principal) InPerson() bool { return p.auth.IsUnbounded() }

// Place names the principal where places are shared out, such as streams that are followed: those
// who come as a user within bounds take theirs together, and leave the user's own alone.
func (p *Principal) Place() string {
	if p.auth.Who() == "" {
		return p.DID().String()
	}
	return p.DID().String() + " within bounds"
}

// Guest reports whether the principal came with a key that nobody here knows, or with none:
// who does can come as many, so that what is shared out by principals is theirs together.
func (p *Principal) Guest() bool { return p.guest }

// Again counts one more request of whoever came in, for what one request of theirs has done more
// than once, or over and over while it lasts. The error is [fault.RateLimited] where it is one too
// many, as that of [Venue.Authenticate].
func (p *Principal) Again() error {
	if p.take == nil {
		return nil
	}
	return p.take()
}

// CreateAgent creates an agent. An id that is taken is an error.
func (p *Principal) CreateAgent(ctx context.Context, spec agents.Spec) (*Agent, error) {
	var created agents.CreateResult
	if err := p.ask(ctx, "agent:create", map[string]any{"agentId": spec.ID, "config": spec}, &created); err != nil {
		return nil, err
	}
	if !created.Created {
		return nil, fmt.Errorf("create agent %s: it exists; change it with agent:update", spec.ID)
	}
	return p.Agent(ctx, spec.ID)
}

// Agent returns the principal's agent of the id, as its owner in person has it. Who is
// bounded has the operations agent:chat, agent:info and the like.
func (p *Principal) Agent(ctx context.Context, id string) (*Agent, error) {
	if !p.auth.IsUnbounded() {
		return nil, errBounded
	}
	return p.agents.Agent(ctx, p.auth, p.valid, id)
}

// Agents lists all agents, those that have ended left out.
func (p *Principal) Agents(ctx context.Context) (list []agents.Summary, err error) {
	in := agents.Query{Limit: agents.MaxPage}
	for {
		var page agents.Listing
		if err := p.ask(ctx, "agent:list", in, &page); err != nil {
			return nil, err
		}
		list = append(list, page.Agents...)
		if in.Cursor = page.Cursor; in.Cursor == "" {
			return list, nil
		}
	}
}

// SetSecret keeps a secret under a name, in place of one that is there. It is
// secret:set: models whose configuration says secret:NAME for the user who owns
// it use it from their next call on.
func (p *Principal) SetSecret(ctx context.Context, name, value string) error {
	_, err := p.Invoke(ctx, "secret:set", map[string]string{"name": name, "value": value})
	return err
}

// Capabilities is what the principal may do now, in its own namespace.
func (p *Principal) Capabilities(ctx context.Context) (caps.Set, error) {
	if err := p.valid(ctx); err != nil {
		return caps.Set{}, err
	}
	return p.auth.Caps(), nil
}

// Operations lists the operations that some input would be allowed to the principal of,
// by their paths, without what users keep below o/.
func (p *Principal) Operations(ctx context.Context) ([]*tools.Operation, error) {
	set, err := p.Capabilities(ctx)
	if err != nil {
		return nil, err
	}
	p.registry.Fetch(ctx, p.DID(), set)
	return slices.DeleteFunc(slices.Clone(p.registry.Of(p.DID())), func(op *tools.Operation) bool { return !op.CouldAllow(set) }), nil
}

// Operation returns what a reference means to the principal. One that it could call with
// no input is not found, as one that does not exist.
func (p *Principal) Operation(ctx context.Context, reference string) (*tools.Operation, error) {
	set, err := p.Capabilities(ctx)
	if err != nil {
		return nil, err
	}
	op, err := p.gate.Resolve(ctx, p.auth, reference)
	if _, unseen := errors.AsType[*caps.Denial](err); unseen {
		return nil, &tools.NotFoundError{Reference: reference}
	}
	if err != nil {
		return nil, err
	}
	if !op.CouldAllow(set) {
		return nil, &tools.NotFoundError{Reference: reference}
	}
	return op, nil
}

// Tool returns the path of the operation that models call by name: of any, whether or not
// the principal may call it.
func (p *Principal) Tool(name string) (path string, ok bool) {
	for range 2 {
		for _, op := range p.registry.Of(p.DID()) {
			if op.ToolName() == name {
				return op.Path(), true
			}
		}
		if !strings.HasPrefix(name, "mcp_") {
			break
		}
		p.registry.Fetch(context.Background(), p.DID(), p.auth.Caps()) // of what nothing is known of yet; it takes no longer than it may
	}
	return "", false
}
