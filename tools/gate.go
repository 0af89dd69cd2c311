package tools

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"usher/caps/value"
	"usher/tools/fault"
	"usher/ucan"
)

// Gate stands in front of all operations of a venue. It is safe for concurrent
// use.
type Gate struct {
	registry *Registry
	mint     *Mint
	opts     GateOptions
}

// GateOptions adjusts a gate. The zero value is valid.
type GateOptions struct {
	Lives     Lives                                                                  // nil knows no agents: only users may act
	Ledger    Ledger                                                                 // nil keeps no record
	Chains    *ucan.Verifier                                                         // verifies delegations between principals; nil lets nobody into another's namespace
	Guards    []Guard                                                                // asked in this order of calls that the capabilities allow
	Approvals Approvals                                                              // what persons have answered; nil: a call that is to be asked about is not made
	Secrets   func(ctx context.Context, owner ucan.DID, name string) (string, error) // opens a [Secret]; nil keeps none
	Limits    Amounts                                                                // of all that comes of one first call
	MaxDepth  int                                                                    // operations that start operations; 0 is 16
	Key       []byte                                                                 // seals stored authorities; nil is one that ends with the process
	Now       func() time.Time                                                       // for capabilities that end; nil is time.Now
	Logger    *slog.Logger                                                           // nil discards
	Observer  Observer                                                               // nil is nobody
}

// NewGate returns the gate before the operations of registry, and the one mint
// whose authorities it takes. A registry has one gate: NewGate panics where it
// has one already.
func NewGate(registry *Registry, opts *GateOptions) (*Gate, *Mint) {
	if registry.gated.Swap(true) {
		panic("tools: the registry has a gate already, and a second one would be a way around it")
	}
	g := &Gate{registry: registry}
	if opts != nil {
		g.opts = *opts
	}
	g.opts.MaxDepth = cmp.Or(g.opts.MaxDepth, 16)
	g.opts.Logger = cmp.Or(g.opts.Logger, slog.New(slog.DiscardHandler))
	if g.opts.Lives == nil {
		g.opts.Lives = nobodyLives{}
	}
	g.mint = &Mint{lives: g.opts.Lives, limits: g.opts.Limits, key: g.opts.Key, clock: g.opts.Now}
	if len(g.mint.key) == 0 {
		g.mint.key = make([]byte, 32)
		_, _ = rand.Read(g.mint.key) // never fails
	}
	return g, g.mint
}

// Invocation asks for one run of an operation.
type Invocation struct {
	Operation string          // any reference that [Registry.Resolve] takes
	Input     json.RawMessage // a JSON object, kept as it came; empty is {}
	Call      string          // id of the model's call that it comes of; empty: of none
	At        At              // where in its run it is made: see [Call.Key]
	Key       string          // names the call of a caller who may come again with it; empty: of none
}

// Result is the outcome of a call that was allowed and did not fail.
type Result struct {
	Operation string          // catalogue path of what ran
	Output    json.RawMessage // JSON
}

// Invoke runs the operation that inv names with auth, if auth allows it: it
// decides as [Gate.Decide] does, records the decision, runs the operation, and
// records the outcome. The error is one of those of Decide, a [*caps.Denial], the
// refusal of a [Guard], or what the handler returned.
func (g *Gate) Invoke(ctx context.Context, auth Authority, inv Invocation) (Result, error) {
	t := &ticket{gate: g}
	r := &t.Ruling
	deciding, decided := g.observe(ctx)
	r.auth = auth.withMeter()
	err := g.charge(ctx, r.auth, inv)
	var seq uint64
	if err == nil {
		seq, err = g.admit(deciding, inv, r)
	}
	decided(r, err)
	if err != nil {
		return Result{}, err
	}
	t.at, t.key = inv.At, inv.Key
	t.auth.trail.Depth++
	t.auth.trail.Inner = true
	t.auth = t.auth.WithAuthors(r.op.authors)
	if r.op.secrets {
		t.opened = new(secretSet)
	}
	out, runErr := g.run(ctx, r.call, Call{t})
	runErr = r.op.publicError(ctx, runErr)
	if runErr == nil {
		_ = t.auth.meter.Charge(ctx, Bytes, int64(len(out))) // what is beyond stops the next call
	}
	if g.opts.Ledger != nil {
		// The outcome is recorded even when the caller has gone.
		if err := g.opts.Ledger.RecordOutcome(context.WithoutCancel(ctx), seq, r.op.discreet(runErr)); err != nil {
			return Result{}, UnknownOutcome(r.op.path, r.op.discreet(runErr), err)
		}
	}
	if runErr != nil {
		return Result{}, runErr
	}
	return Result{Operation: r.op.path, Output: out}, nil
}

// observe begins a decision for the observer; nobody costs nothing.
func (g *Gate) observe(ctx context.Context) (context.Context, func(*Ruling, error)) {
	if g.opts.Observer == nil {
		return ctx, func(*Ruling, error) {}
	}
	return g.opts.Observer.StartDecision(ctx)
}

// charge counts a call before anything is spent on it.
func (g *Gate) charge(ctx context.Context, auth Authority, inv Invocation) error {
	err := g.acceptable(ctx, auth, inv)
	if err == nil {
		err = auth.meter.Charge(ctx, Calls, 1)
	}
	if err == nil {
		err = auth.meter.Charge(ctx, Bytes, int64(len(inv.Input)))
	}
	return err
}

// admit decides and records, until a decision stands under the authority that it
// was made under.
func (g *Gate) admit(ctx context.Context, inv Invocation, r *Ruling) (seq uint64, err error) {
	auth := r.auth // the ruling's own is bounded by the authors of what it found
	for try := 0; ; try++ {
		err = g.decide(ctx, auth, inv, r)
		err = g.consult(ctx, r, inv.At, err)
		if r.op == nil || err != nil || g.mint.lives.Epoch() == r.epoch {
			break
		}
		if try == maxTries {
			return 0, errUnsettled
		}
	}
	_, guarded := errors.AsType[*guardError](err)
	_, waits := errors.AsType[*WaitError](err)
	if g.opts.Ledger == nil || err != nil && r.denial == nil && !guarded && !waits {
		return 0, err
	}
	e := r.Entry()
	e.Call = inv.Call
	seq, recordErr := g.opts.Ledger.RecordDecision(ctx, e)
	if recordErr != nil {
		return 0, fmt.Errorf("%w: %w", fault.New(beforehand(recordErr), "record the decision on "+r.op.path+", which therefore does not run"), recordErr)
	}
	return seq, err
}

// beforehand is the code of an error of what did not begin: its effect is known.
func beforehand(err error) fault.Code {
	if code := fault.Of(err); code != fault.Unknown {
		return code
	}
	return fault.Failed
}

// maxTries bounds how often a call is decided again because authority changed
// while it was decided.
const maxTries = 8

// prepare decodes the input and asks for the requirements.
func (g *Gate) prepare(ctx context.Context, op *Operation, input json.RawMessage) (p preparation, err error) {
	defer g.recoverPanic(ctx, op, &err)
	return op.decode(input)
}

// recoverPanic makes an error of a panic in somebody else's code.
func (g *Gate) recoverPanic(ctx context.Context, op *Operation, err *error) {
	if v := recover(); v != nil {
		if op.sealed || op.secrets {
			v = value.Redacted
		}
		g.opts.Logger.ErrorContext(ctx, "tool panicked", "operation", op.path, "panic", v, "stack", string(debug.Stack()))
		*err = &PanicError{Operation: op.path, Value: v}
	}
}

func (g *Gate) run(ctx context.Context, p preparation, call Call) (out json.RawMessage, err error) {
	op := call.ticket.op
	defer func() { out, err = call.ticket.opened.hide(out, err) }()
	defer g.recoverPanic(ctx, op, &err)
	result, err := p.run(ctx, call)
	if err != nil {
		return nil, err
	}
	if raw, ok := result.(json.RawMessage); ok {
		return raw, nil
	}
	if out, err = value.Encode(result); err != nil {
		return nil, fmt.Errorf("encode the output of %s: %w", op.path, err)
	}
	return out, nil
}

// errNoChains is why nobody gets into another's namespace of a gate that
// verifies no delegations.
var errNoChains = errors.New("this gate verifies no delegations")

var emptyObject = json.RawMessage("{}")
