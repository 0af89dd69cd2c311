package tools

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"usher/caps"
	"usher/caps/value"
	"usher/tools/schema"
)

// Operation is one thing that can be done. It is immutable; its handler can be
// reached by a [Gate] alone.
type Operation struct {
	name        string
	path        string
	toolName    string
	description string
	readOnly    bool
	idempotent  bool
	keyed       bool
	exclusive   bool
	lane        func(json.RawMessage) string
	starts      func(json.RawMessage) []Invocation
	forwards    bool // its input holds the inputs of the calls that it starts
	sealed      bool
	undigested  bool
	secrets     bool                    // its input can hold handles
	schemas     func() (schemas, error) // made when first asked for
	groups      [][]caps.Scope
	prepare     func(json.RawMessage) (preparation, error)
	authors     Bound     // who wrote it, where it is a stored program
	reference   string    // the name that is pinned to it, where it was found by one
	program     []byte    // digest of the document that it was made of, where it is stored
	bounded     bool      // the authors bound the call itself, and not what it starts alone
	withdrawn   bool      // it is offered to nobody
	home        *Registry // that it was registered in, or came out of
	fault       error
}

// preparation is one input, decoded once: what it requires and how it runs both
// work on the same value, so nothing can change between check and use.
type preparation struct {
	needs []caps.Request
	run   func(context.Context, Call) (any, error)
}

// Name is the display name, for example "covia:write".
func (o *Operation) Name() string { return o.name }

// Path is the catalogue path, for example "v/ops/covia/write": the name that
// decisions and denials use.
func (o *Operation) Path() string { return o.path }

// ToolName is the name that models use, for example "covia_write".
func (o *Operation) ToolName() string { return o.toolName }

// Description is one sentence or more for people and models.
func (o *Operation) Description() string { return o.description }

// ReadOnly reports whether the operation changes nothing.
func (o *Operation) ReadOnly() bool { return o.readOnly }

// Idempotent reports whether running it twice equals running it once.
func (o *Operation) Idempotent() bool { return o.idempotent || o.readOnly }

// Repeatable reports whether a call that may have taken effect can be made again
// under the same key: it is idempotent, or it is [WithKey].
func (o *Operation) Repeatable() bool { return o.Idempotent() || o.keyed }

// Exclusive reports whether the operation bears on what other calls may do, or
// may touch what its requirements do not tell.
func (o *Operation) Exclusive() bool { return o.exclusive }

// Lane names what calls have to take their turns at beside their resources, such
// as a session; empty is nothing.
func (o *Operation) Lane(input json.RawMessage) string {
	if o.lane == nil {
		return ""
	}
	return o.lane(input)
}

// InputSchema is the JSON Schema of the input.
func (o *Operation) InputSchema() json.RawMessage {
	if s, _ := o.build(); s.input != nil {
		return s.input.JSON()
	}
	return json.RawMessage(`{"type":"object"}`)
}

// OutputSchema is the JSON Schema of the output; nil when any value may come out.
func (o *Operation) OutputSchema() json.RawMessage {
	if s, _ := o.build(); s.output != nil {
		return s.output.JSON()
	}
	return nil
}

// CouldAllow reports whether set would allow the operation on any input at all:
// a tool is offered to a model if and only if it does. One that is [Definition.Withdrawn]
// is offered to nobody.
func (o *Operation) CouldAllow(set caps.Set) bool {
	switch {
	case o.withdrawn, set.IsEmpty():
		return false
	case set.IsUnrestricted():
		return true
	}
	for _, alternatives := range o.groups {
		if !slices.ContainsFunc(alternatives, set.CouldAllow) {
			return false
		}
	}
	return true
}

// Scopes returns, for each requirement, the alternatives of which one must be
// within reach (see [Within]).
func (o *Operation) Scopes() [][]caps.Scope { return o.groups }

// Pin returns the operation as what the name at, below o/, stands for by the
// word of authors: they bound each call of it as they bound the caller.
func (o *Operation) Pin(at string, authors Bound) *Operation {
	mine := *o
	mine.reference, mine.authors, mine.bounded = at, mine.authors.And(authors), true
	return &mine
}

// Reference is what calls the operation as it was found: its path, or the name
// below o/ that is pinned to it.
func (o *Operation) Reference() string {
	return cmp.Or(o.reference, o.path)
}

// WithDocument returns the operation as one that was made of a stored document.
func (o *Operation) WithDocument(document []byte) *Operation {
	mine := *o
	sum := sha256.Sum256(document)
	mine.program = sum[:]
	return &mine
}

// Program is the SHA-256 of the document that the operation was made of; nil where
// it is none of a user's.
func (o *Operation) Program() []byte { return o.program }

func (o *Operation) decode(input json.RawMessage) (preparation, error) {
	if err := CheckObject(input); err != nil {
		return preparation{}, &InputError{Operation: o.path, Err: err}
	}
	p, err := o.prepare(input)
	if err != nil {
		return preparation{}, &InputError{Operation: o.path, Err: err}
	}
	return p, nil
}

// maxInputWeight bounds the memory that an input takes once it is decoded: a text of
// many small values takes many times its length.
const maxInputWeight = 64 << 20

// CheckWeight says that JSON would take more memory, once it is decoded, than an input may.
func CheckWeight(raw []byte) error {
	if len(raw) > maxInputWeight/value.MaxRatio && value.Weight(raw) > maxInputWeight {
		return fmt.Errorf("%w: it would take more than %d MiB of memory: send larger values, or fewer of them", errTooLarge, maxInputWeight>>20)
	}
	return nil
}

// validate checks the input against its schema, at the expense of the meter.
func (o *Operation) validate(ctx context.Context, input json.RawMessage, meter *Meter) error {
	if err := CheckWeight(input); err != nil {
		return err
	}
	s, err := o.build()
	if err != nil || s.input == nil {
		return err
	}
	if err := s.input.Validate(ctx, input, meter.ChargeSchema); err != nil {
		unfit, ok := errors.AsType[*schema.Error](err)
		return &InputError{Operation: o.path, Err: err, Incomplete: ok && unfit.Incomplete()}
	}
	return nil
}

// FitsOutput says what of an output does not fit the operation's output schema,
// at the expense of meter. Any value fits where there is none.
func (o *Operation) FitsOutput(ctx context.Context, output json.RawMessage, meter *Meter) error {
	s, err := o.build()
	if err != nil || s.output == nil {
		return err
	}
	return s.output.Validate(ctx, output, meter.ChargeSchema)
}

// New makes an operation from a typed function with its needs beside it. The
// name is "adapter:name"; the schemas are inferred from In, a struct, and Out.
// needs returns everything that a call with that input requires: never none.
// A fault in the declaration comes out of [Registry.Register].
func New[In, Out any](
	name, description string,
	needs func(In) []caps.Request,
	run func(context.Context, Call, In) (Out, error),
	opts ...Option,
) *Operation {
	o := &Operation{name: name, description: description}
	if needs == nil {
		o.fault = errNoRequirements
		return o
	}
	if run == nil {
		o.fault = errors.New("it has no handler")
		return o
	}
	o.path, o.toolName, o.fault = names(name)
	if o.fault != nil {
		return o
	}
	o.schemas = sync.OnceValues(inferSchemas[In, Out])
	o.prepare = func(raw json.RawMessage) (preparation, error) {
		var in In
		if err := countEntries[In](raw); err != nil {
			return preparation{}, err
		}
		if err := json.Unmarshal(raw, &in); err != nil {
			return preparation{}, decodeError(err)
		}
		p := preparation{
			needs: needs(in),
			run:   func(ctx context.Context, call Call) (any, error) { return run(ctx, call, in) },
		}
		if o.secrets && len(p.needs) > 0 {
			p.needs = slices.Concat(p.needs, secretNeeds(reflect.ValueOf(in), ""))
		}
		return p, nil
	}
	for _, opt := range opts {
		opt(o)
	}
	if len(o.groups) == 0 {
		o.groups = probe(needs)
	}
	var always bool
	if o.secrets, always = secretsIn(reflect.TypeFor[In]()); always {
		o.groups = append(o.groups, []caps.Scope{caps.ScopeUnder(canDecrypt, "s", 1, 1)})
	}
	return o
}

// probe takes the abilities of an operation from the needs of its empty input.
func probe[In any](needs func(In) []caps.Request) (groups [][]caps.Scope) {
	defer func() {
		if recover() != nil {
			groups = nil
		}
	}()
	var zero In
	for _, need := range needs(zero) {
		switch can := string(need.Ability()); {
		case can == "":
		case need.HasResource():
			groups = append(groups, []caps.Scope{caps.ScopeUnder(can, "", 0, 0)})
		default:
			groups = append(groups, []caps.Scope{caps.ScopeAbility(can)})
		}
	}
	return groups
}
