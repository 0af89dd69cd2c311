package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"usher/caps"
	"usher/ucan"
)

// Gate stands in front of all operations of a venue. It is safe for concurrent
// use.
type Gate struct {
	registry *Registry
	mint     *Mint
	ledger   Ledger
	chains   *ucan.Verifier
	maxDepth int
	maxCalls int
	log      *slog.Logger
	watch    *watch
}

// GateOptions adjusts a gate. The zero value is valid.
type GateOptions struct {
	Ledger   Ledger         // nil keeps no record
	Chains   *ucan.Verifier // verifies delegations between principals; nil lets nobody into another's namespace
	MaxDepth int            // operations that start operations; 0 is 16
	MaxCalls int            // calls that come of one first call, however they branch; 0 is 10,000
	Logger   *slog.Logger   // nil discards

	Tracer trace.TracerProvider // a span for each decision; nil makes none
	Meter  metric.MeterProvider // counts decisions; nil counts none
}

// NewGate returns the gate before the operations of registry, and the one mint
// whose authorities it takes.
func NewGate(registry *Registry, opts *GateOptions) (*Gate, *Mint) {
	if opts == nil {
		opts = &GateOptions{}
	}
	g := &Gate{registry: registry, mint: &Mint{}, ledger: opts.Ledger, chains: opts.Chains, maxDepth: opts.MaxDepth, maxCalls: opts.MaxCalls, log: opts.Logger, watch: newWatch(opts)}
	if g.maxDepth == 0 {
		g.maxDepth = 16
	}
	if g.maxCalls == 0 {
		g.maxCalls = 10_000
	}
	g.mint.calls = g.maxCalls
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	return g, g.mint
}

// Registry is the operations that the gate stands before.
func (g *Gate) Registry() *Registry { return g.registry }

// Invocation asks for one run of an operation.
type Invocation struct {
	Operation string          // any reference that [Registry.Resolve] takes
	Input     json.RawMessage // a JSON object, kept as it came; empty is {}
	ID        string          // the caller's id for the call; may be empty
}

// Result is the outcome of a call that was allowed and did not fail.
type Result struct {
	Operation string          // catalogue path of what ran
	Output    json.RawMessage // JSON

	// Sealed says that a sealed operation ran in the call, or could have: what
	// went in and came out is not to be recorded. It holds beside an error, too.
	Sealed bool
}

// Invoke runs the operation that inv names with auth, if auth allows it. The
// error is a [*caps.Denial], an [*InputError], a [*NotFoundError], one of the
// errors of this package, or what the handler returned.
//
// The order is that of DESIGN: resolve, validate, ask for all requirements,
// check each, record, run, record.
func (g *Gate) Invoke(ctx context.Context, auth Authority, inv Invocation) (Result, error) {
	deciding, span := g.watch.start(ctx)
	auth.mark = &mark{above: auth.mark}
	r, err := g.rule(deciding, auth, inv)
	passSeal(&r, err)
	g.show(deciding, span, &r, err)
	if err != nil {
		return Result{Sealed: auth.mark.hides()}, err
	}
	op := r.op
	r.auth.depth++
	out, runErr := g.run(ctx, r.call, Call{&ticket{gate: g, auth: r.auth, op: op, id: inv.ID, input: r.input}})
	if g.ledger != nil {
		// The outcome is recorded even when the caller has gone.
		if err := g.ledger.Finished(context.WithoutCancel(ctx), r.seq, auth.mark.told(runErr)); err != nil {
			return Result{Sealed: auth.mark.hides()}, fmt.Errorf("record the outcome of %s: %w", op.path, err)
		}
	}
	if runErr != nil {
		return Result{Sealed: auth.mark.hides()}, runErr
	}
	return Result{Operation: op.path, Output: out, Sealed: auth.mark.hides()}, nil
}

// ruling is what the gate makes of an invocation. Where there is an error it
// has what was known by then.
type ruling struct {
	auth   Authority
	op     *Operation
	input  json.RawMessage
	call   prepared
	needs  []Requirement // how each was decided, where anybody wants to know
	reason string        // of a denial
	seq    uint64        // of the ledger
}

// rule goes from the invocation to the decision on it.
func (g *Gate) rule(ctx context.Context, auth Authority, inv Invocation) (r ruling, err error) {
	r = ruling{auth: auth, input: inv.Input}
	if r.auth, err = g.admit(ctx, auth, inv); err != nil {
		return r, err
	}
	if r.op, err = g.resolve(ctx, r.auth, inv.Operation, inv.Input); err != nil {
		return r, err
	}
	if len(r.input) == 0 {
		r.input = emptyObject
	}
	g.seal(ctx, &r)
	if r.call, err = g.prepare(ctx, r.op, r.input); err != nil {
		return r, err
	}
	err = g.decide(ctx, &r)
	return r, err
}

// prepare decodes the input and asks for the requirements.
func (g *Gate) prepare(ctx context.Context, op *Operation, input json.RawMessage) (p prepared, err error) {
	defer g.recovered(ctx, op, &err)
	return op.decode(input)
}

// recovered makes an error of a panic in an operation's own code.
func (g *Gate) recovered(ctx context.Context, op *Operation, err *error) {
	if v := recover(); v != nil {
		if op.sealed {
			v = redacted
		}
		g.log.ErrorContext(ctx, "tool panicked", "operation", op.path, "panic", v, "stack", string(debug.Stack()))
		*err = &PanicError{Operation: op.path, Value: v}
	}
}

var emptyObject = json.RawMessage("{}")

// decide checks every requirement and records the verdict. Denials come before
// complaints about the rest of the input: who may not call learns no more.
func (g *Gate) decide(ctx context.Context, r *ruling) error {
	needs := r.call.needs
	if len(needs) == 0 {
		return fmt.Errorf("operation %s: %w", r.op.path, ErrNoRequirements)
	}
	for _, need := range needs {
		if err := need.Err(); err != nil {
			return &InputError{Operation: r.op.path, Err: err}
		}
	}
	denial := g.check(ctx, r, needs)
	if denial == nil {
		if err := r.op.validate(r.input); err != nil {
			return err
		}
	}
	if g.ledger != nil {
		var err error
		if r.seq, err = g.record(ctx, r.auth, r.op, r.input, r.needs, r.reason); err != nil {
			return err
		}
	}
	if denial != nil {
		return denial
	}
	return nil
}

// check holds the requirements against what the caller has, and notes each for
// the ledger and the trace. It returns the denial that is due, or nil.
func (g *Gate) check(ctx context.Context, r *ruling, needs []caps.Request) (denial *caps.Denial) {
	held := r.auth.Caps()
	owner := r.auth.owner.String()
	noted := g.ledger != nil || g.watch != nil
	if noted {
		r.needs = make([]Requirement, 0, len(needs))
	}
	for _, need := range needs {
		need = need.In(owner)
		d := held.Check(need)
		row := RequirementOf(d)
		switch {
		case denial != nil:
		case !d.Allowed():
			denial = d.Denial(r.op.path)
			if need.HandsOn() {
				denial.Why = "An agent can hand on at most what it holds itself."
			}
			r.reason, row.Unmet = denial.Error(), true
		case need.Resource().DID() != "":
			var err error
			row.Proofs, err = g.prove(ctx, r.auth, need)
			// What is only handed on must be proved when it is signed.
			if err != nil && !need.HandsOn() {
				denial, r.reason, row.Unmet = foreign(r.op.path, need, held), err.Error(), true
			}
		}
		if noted {
			r.needs = append(r.needs, row)
		}
	}
	return denial
}

// errNoChains is why nobody gets into another's namespace of a gate that
// verifies no delegations.
var errNoChains = errors.New("this gate verifies no delegations")

// prove finds the chain of delegations by which the caller may do what it asks
// in another principal's namespace, from the store of tokens.
func (g *Gate) prove(ctx context.Context, auth Authority, need caps.Request) (chain []string, err error) {
	if g.chains == nil {
		return nil, errNoChains
	}
	grant, err := g.chains.Authorize(ctx, ucan.Query{Caller: auth.owner, Request: need})
	if err != nil {
		return nil, err
	}
	for _, cid := range grant.Chain() {
		chain = append(chain, cid.String())
	}
	return chain, nil
}

// foreign is what a caller is told who has no chain for another principal's
// resource: the same whatever the chain lacks, and whether or not anything is
// there. The ledger has the reason.
func foreign(op string, need caps.Request, held caps.Set) *caps.Denial {
	return &caps.Denial{
		Operation: op, Ability: need.Ability(), Resource: need.Resource().String(), Capabilities: held,
		Why: "The resource belongs to another user, who has delegated nothing for this call.",
	}
}

func (g *Gate) record(ctx context.Context, auth Authority, op *Operation, input json.RawMessage, rows []Requirement, denied string) (uint64, error) {
	e := Entry{
		Owner: auth.owner.String(), Actor: auth.actor, Via: auth.via,
		Operation: op.path, Verdict: Allowed, Digest: op.digest(input),
		Effects: !op.readOnly, Job: auth.job, Session: auth.sess,
	}
	e.Needs, e.Omitted = shown(rows)
	if denied != "" {
		e.Verdict, e.Reason = Denied, Cut(denied)
	}
	seq, err := g.ledger.Decided(ctx, e)
	if err != nil {
		return 0, fmt.Errorf("record the decision on %s, which therefore does not run: %w", op.path, err)
	}
	return seq, nil
}

func (g *Gate) run(ctx context.Context, p prepared, call Call) (out json.RawMessage, err error) {
	op := call.ticket.op.path
	defer g.recovered(ctx, call.ticket.op, &err)
	value, err := p.run(ctx, call)
	if err != nil {
		return nil, err
	}
	if raw, ok := value.(json.RawMessage); ok {
		return raw, nil
	}
	if out, err = encode(value); err != nil {
		return nil, fmt.Errorf("encode the output of %s: %w", op, err)
	}
	return out, nil
}

// encode leaves <, > and & as they are: outputs are for models and programs.
func encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
