// Package secrets has the operations on what is kept sealed: secret:set,
// extract, list and delete. [Operations] returns them over a [Keeper], which the
// venue has.
//
// A secret lies at s/<name> in the namespace of its owner. Nothing but
// secret:extract gives its value out; the workspace operations never do. The
// operations that are given or give a value are sealed ([tools.WithSeal]): it
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
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
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
