package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
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
	prepare     func(json.RawMessage) (prepared, error)
	authors     Bound     // who wrote it, where it is a stored program
	reference   string    // the name that is pinned to it, where it was found by one
	program     []byte    // digest of the document that it was made of, where it is stored
	bounded     bool      // the authors bound the call itself, and not what it starts alone
	withdrawn   bool      // it is offered to nobody
	home        *Registry // that it was registered in, or came out of
	fault       error
}

// prepared is one input, decoded once: what it requires and how it runs both
// work on the same value, so nothing can change between check and use.
type prepared struct {
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
// under the same key: it is idempotent, or it is [Keyed].
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
	if s, _ := o.made(); s.input != nil {
		return s.input.JSON()
	}
	return json.RawMessage(`{"type":"object"}`)
}

// OutputSchema is the JSON Schema of the output; nil when any value may come out.
func (o *Operation) OutputSchema() json.RawMessage {
	if s, _ := o.made(); s.output != nil {
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
		if !anyScope(set, alternatives) {
			return false
		}
	}
	return true
}

// Scopes returns, for each requirement, the alternatives of which one must be
// within reach (see [Within]).
func (o *Operation) Scopes() [][]caps.Scope { return o.groups }

// Pinned returns the operation as what the name at, below o/, stands for by the
// word of authors: they bound each call of it as they bound the caller.
func (o *Operation) Pinned(at string, authors Bound) *Operation {
	mine := *o
	mine.reference, mine.authors, mine.bounded = at, mine.authors.and(authors), true
	return &mine
}

// Reference is what calls the operation as it was found: its path, or the name
// below o/ that is pinned to it.
func (o *Operation) Reference() string {
	if o.reference != "" {
		return o.reference
	}
	return o.path
}

// Stored returns the operation as one that was made of a stored document.
func (o *Operation) Stored(document []byte) *Operation {
	mine := *o
	sum := sha256.Sum256(document)
	mine.program = sum[:]
	return &mine
}

// Program is the SHA-256 of the document that the operation was made of; nil where
// it is none of a user's.
func (o *Operation) Program() []byte { return o.program }

func anyScope(set caps.Set, alternatives []caps.Scope) bool {
	for _, sc := range alternatives {
		if set.CouldAllow(sc) {
			return true
		}
	}
	return false
}

func (o *Operation) decode(input json.RawMessage) (prepared, error) {
	if err := CheckObject(input); err != nil {
		return prepared{}, &InputError{Operation: o.path, Err: err}
	}
	p, err := o.prepare(input)
	if err != nil {
		return prepared{}, &InputError{Operation: o.path, Err: err}
	}
	return p, nil
}

// maxInputWeight bounds the memory that an input takes once it is decoded: a text of
// many small values takes many times its length.
const maxInputWeight = 64 << 20

// validate checks the input against its schema, at the expense of the meter.
func (o *Operation) validate(ctx context.Context, input json.RawMessage, meter *Meter) error {
	if len(input) > maxInputWeight/value.MaxRatio && value.Weight(input) > maxInputWeight {
		return fmt.Errorf("%w: it would take more than %d MiB of memory: send larger values, or fewer of them", errTooLarge, maxInputWeight>>20)
	}
	s, err := o.made()
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
	s, err := o.made()
	if err != nil || s.output == nil {
		return err
	}
	return s.output.Validate(ctx, output, meter.ChargeSchema)
}

// Option declares more about an operation.
type Option func(*Operation)

// Within declares one requirement of the operation for [Operation.CouldAllow]:
// its resource lies in one of the alternatives. Call it once a requirement.
// Without it the abilities are taken from the needs of an empty input, on any
// resource.
func Within(alternatives ...caps.Scope) Option {
	return func(o *Operation) { o.groups = append(o.groups, alternatives) }
}

// ReadOnly declares that the operation changes nothing.
func ReadOnly() Option { return func(o *Operation) { o.readOnly = true } }

// Idempotent declares that running it twice equals running it once.
func Idempotent() Option { return func(o *Operation) { o.idempotent = true } }

// Keyed declares that the operation does once what several calls of one
// [Call.Key] ask for, and answers each of them: a run that goes on after a crash
// makes such a call again.
func Keyed() Option { return func(o *Operation) { o.keyed = true } }

// Exclusive declares that the operation changes who may do what: of several
// calls that are asked for at once it runs alone, in its place.
func Exclusive() Option { return func(o *Operation) { o.exclusive = true } }

// InLane declares what calls have to take their turns at, beside their
// resources: those of one lane, if it is not empty, run in their order.
func InLane(lane func(input json.RawMessage) string) Option {
	return func(o *Operation) { o.lane = lane }
}

// Starting declares that the operation runs others, and which, with the input of
// each as far as it is known beforehand; nil where that cannot be told.
func Starting(which func(input json.RawMessage) []Invocation) Option {
	return func(o *Operation) { o.starts, o.forwards = which, true }
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
	o.prepare = func(raw json.RawMessage) (prepared, error) {
		var in In
		if err := json.Unmarshal(raw, &in); err != nil {
			return prepared{}, decodeError(err)
		}
		p := prepared{
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

// Definition declares an operation whose shape is only known at run time: an
// orchestration, or a tool that a configuration declares.
type Definition struct {
	// Path names the operation in decisions, for example "o/ap-pipeline".
	Path        string
	Description string
	// Input and Output are JSON Schemas; nil takes any object and any value.
	Input, Output *schema.Schema
	// Schemas makes Input and Output when somebody first asks for them; nil where they stand here.
	Schemas func() (input, output *schema.Schema, err error)
	// Needs returns everything that a call with that input requires.
	Needs func(input json.RawMessage) []caps.Request
	// Scopes declares the requirements as [Within] does, one group each.
	Scopes [][]caps.Scope
	// Exclusive and Keyed are the options of these names.
	Exclusive, Keyed bool
	// Starts is that of [Starting]; nil for an operation that starts nothing.
	Starts func(input json.RawMessage) []Invocation
	// Authors are who wrote a stored program: it does at most what they may do
	// when it runs.
	Authors Bound
	// Withdrawn says that nobody is offered the operation. Who calls it all the same is
	// told why by Run.
	Withdrawn bool

	Run func(ctx context.Context, call Call, input json.RawMessage) (any, error)
	// Prepare stands for Needs and Run where both work on what it makes of the input once.
	Prepare func(input json.RawMessage) ([]caps.Request, func(context.Context, Call) (any, error))
}

// Define makes an operation from d; see [New] for operations known beforehand.
func Define(d Definition) *Operation {
	o := &Operation{name: d.Path, path: d.Path, toolName: toolName(d.Path), description: d.Description, groups: d.Scopes, exclusive: d.Exclusive, keyed: d.Keyed, starts: d.Starts, authors: d.Authors, withdrawn: d.Withdrawn}
	switch {
	case d.Prepare != nil:
	case d.Needs == nil:
		o.fault = errNoRequirements
	case d.Run == nil:
		o.fault = errors.New("it has no handler")
	}
	o.schemas = func() (schemas, error) { return schemas{d.Input, d.Output}, nil }
	if d.Schemas != nil {
		o.schemas = sync.OnceValues(func() (s schemas, err error) {
			s.input, s.output, err = d.Schemas()
			return s, err
		})
	}
	o.prepare = func(raw json.RawMessage) (prepared, error) {
		if d.Prepare != nil {
			needs, run := d.Prepare(raw)
			return prepared{needs, run}, nil
		}
		return prepared{
			needs: d.Needs(raw),
			run:   func(ctx context.Context, call Call) (any, error) { return d.Run(ctx, call, raw) },
		}, nil
	}
	return o
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9]*(:[a-z][a-zA-Z0-9]*)+$`)

func names(name string) (path, tool string, err error) {
	if !nameForm.MatchString(name) {
		return "", "", fmt.Errorf("its name %q is not of the form adapter:name, for example crm:lookup", name)
	}
	return "v/ops/" + kebab(strings.ReplaceAll(name, ":", "/")), toolName(name), nil
}

// maxToolName is how long a name every provider takes, in bytes.
const maxToolName = 64

// toolName keeps what every provider takes: letters, digits, '_' and '-'. The end of a
// name that is too long becomes a digest of all of it.
func toolName(name string) string {
	short := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
	if len(short) > maxToolName {
		sum := sha256.Sum256([]byte(name))
		short = short[:maxToolName-9] + "_" + hex.EncodeToString(sum[:4])
	}
	return short
}

func kebab(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('-')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
