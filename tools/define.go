package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"usher/caps"
	"usher/caps/value"
	"usher/tools/schema"
)

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
	// Starts is that of [WithStarts]; nil for an operation that starts nothing.
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
	o.prepare = func(raw json.RawMessage) (preparation, error) {
		if d.Prepare != nil {
			needs, run := d.Prepare(raw)
			return preparation{needs, run}, nil
		}
		return preparation{
			needs: d.Needs(raw),
			run:   func(ctx context.Context, call Call) (any, error) { return d.Run(ctx, call, raw) },
		}, nil
	}
	return o
}

var nameForm = value.Form(`^[a-z][a-z0-9]*(:[a-z][a-zA-Z0-9]*)+$`)

func names(name string) (path, tool string, err error) {
	if !nameForm().MatchString(name) {
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
