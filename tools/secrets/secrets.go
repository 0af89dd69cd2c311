// Package secrets has the operations on what is kept sealed: secret:set,
// extract, list and delete. [Operations] returns them over a [Keeper], which the
// venue has.
//
// A secret lies at s/<name> in the namespace of its owner. Nothing but
// secret:extract gives its value out; the workspace operations never do. The
// operations that are given or give a value are sealed ([tools.Sealed]): it
// stands in no record of a job, row of the ledger, trace or log.
//
// What a model is given it has, though: a value that an agent takes out, or puts
// in, stands in the log of its session, is sent to its provider with every
// further request of the session, and is written to a cassette where the model
// is recorded. So let operations take secrets by their handles, [tools.Secret],
// rather than have agents take them out; a configuration that names secret:NAME
// needs none of it.
package secrets

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
)

// MaxValue bounds a secret, in bytes.
const MaxValue = 64 << 10

// Value is what is kept secret. It prints as [redacted]; as JSON it is itself.
type Value string

var (
	_ fmt.Formatter  = Value("")
	_ slog.LogValuer = Value("")
)

// Format prints [redacted], for every verb.
func (Value) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(value.Redacted)) }

// LogValue is [redacted].
func (Value) LogValue() slog.Value { return slog.StringValue(value.Redacted) }

// Secret is what may be told of a secret to whoever may list it.
type Secret struct {
	Name    string `json:"name"`
	Updated int64  `json:"updated"` // milliseconds since 1970
}

// NoSecretError says that an owner has no secret of a name: also when another has.
type NoSecretError struct{ Name string }

func (e *NoSecretError) Error() string {
	return fmt.Sprintf("there is no secret %q: store it with usher secrets set %s, or the operation secret:set", e.Name, e.Name)
}

// Code is [fault.NotFound].
func (e *NoSecretError) Code() fault.Code { return fault.NotFound }

var nameForm = value.Form(`^` + tools.SecretName + `$`)

// CheckName says what is wrong with the name of a secret. It does not repeat
// the name: what stands in its place by mistake is often the value.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("name is missing: name the secret, for example OPENAI")
	case !nameForm().MatchString(name):
		return errors.New("name is no name of a secret: use 1 to 64 letters, digits, '_', '-' or '.', not beginning with '-' or '.'")
	}
	return nil
}

// CheckValue says what is wrong with a value, without repeating it.
func CheckValue(value Value) error {
	switch {
	case value == "":
		return errors.New("value is empty: give the secret")
	case len(value) > MaxValue:
		return fmt.Errorf("value has %d bytes: a secret has at most %d", len(value), MaxValue)
	case strings.ContainsRune(string(value), utf8.RuneError):
		// JSON would keep another value than the one that was meant.
		return errors.New("value is not UTF-8 text: encode it, for example in base64")
	}
	return nil
}

// Keeper keeps the secrets of owners apart from each other. The names and
// values that it is given are valid.
type Keeper interface {
	// Set is durable when it returns.
	Set(ctx context.Context, owner ucan.DID, name string, value Value) error
	// Get returns a [*NoSecretError] where there is none.
	Get(ctx context.Context, owner ucan.DID, name string) (Value, error)
	// List returns the owner's secrets, by name.
	List(ctx context.Context, owner ucan.DID) ([]Secret, error)
	// Delete says whether there was one.
	Delete(ctx context.Context, owner ucan.DID, name string) (deleted bool, err error)
}

type setInput struct {
	Name  string `json:"name" jsonschema:"what to keep it as, for example OPENAI"`
	Value Value  `json:"value" jsonschema:"the secret; what was kept under the name before is replaced"`
}

type setOutput struct {
	Name   string `json:"name"`
	Stored bool   `json:"stored"`
}

type nameInput struct {
	Name string `json:"name" jsonschema:"the name of the secret"`
}

type extractOutput struct {
	Name  string `json:"name"`
	Value Value  `json:"value"`
}

type listOutput struct {
	Secrets []Secret `json:"secrets"`
}

type deleteOutput struct {
	Name    string `json:"name"`
	Deleted bool   `json:"deleted"`
}

func (in setInput) name() string  { return in.Name }
func (in nameInput) name() string { return in.Name }

// one is an operation on the secret that its input names, with the ability that
// it needs there. COG-13, "Standard Abilities", has secret and secret/decrypt; the
// others follow its pattern.
func one[In interface{ name() string }, Out any](
	name, description, can string, run func(context.Context, tools.Call, In) (Out, error), opts ...tools.Option,
) *tools.Operation {
	return tools.New(name, description, func(in In) []caps.Request {
		if err := CheckName(in.name()); err != nil {
			return []caps.Request{caps.Invalid(err)}
		}
		return []caps.Request{caps.Need(can, "s/"+in.name())}
	}, run, append(opts, tools.Within(caps.ScopeUnder(can, "s", 1, 1)))...)
}

// Operations returns the secret operations over k. Listing tells names and never
// values, which is why its ability is not called reading.
func Operations(k Keeper) []*tools.Operation {
	return []*tools.Operation{
		one("secret:set", "Keep a secret under a name, sealed.", "secret/store",
			func(ctx context.Context, call tools.Call, in setInput) (setOutput, error) {
				if err := CheckValue(in.Value); err != nil {
					return setOutput{}, &tools.InputError{Operation: call.Operation(), Err: err}
				}
				err := k.Set(ctx, call.Owner(), in.Name, in.Value)
				return setOutput{in.Name, err == nil}, err
			}, tools.Idempotent(), tools.Sealed()),
		one("secret:extract", "Give out the value of a secret.", "secret/decrypt",
			func(ctx context.Context, call tools.Call, in nameInput) (extractOutput, error) {
				value, err := k.Get(ctx, call.Owner(), in.Name)
				return extractOutput{in.Name, value}, err
			}, tools.ReadOnly(), tools.Sealed()),
		tools.New("secret:list", "List the names of the secrets, not their values.",
			func(struct{}) []caps.Request { return []caps.Request{caps.Need("secret/list", "s")} },
			func(ctx context.Context, call tools.Call, _ struct{}) (listOutput, error) {
				list, err := k.List(ctx, call.Owner())
				return listOutput{append([]Secret{}, list...)}, err
			}, tools.Within(caps.ScopeExactly("secret/list", "s")), tools.ReadOnly()),
		one("secret:delete", "Delete a secret.", "secret/delete",
			func(ctx context.Context, call tools.Call, in nameInput) (deleteOutput, error) {
				deleted, err := k.Delete(ctx, call.Owner(), in.Name)
				return deleteOutput{in.Name, deleted}, err
			}, tools.Idempotent()),
	}
}
