package endpoint

import (
	"fmt"
	"regexp"
)

// LiteralError says that a key stands in a configuration itself, or is named as
// a shell would. It does not show the key.
type LiteralError struct{ err error }

func (e *LiteralError) Error() string { return e.err.Error() }
func (e *LiteralError) Unwrap() error { return e.err }

// Missing says of err that it is about something that is well named and not there,
// or not yet, as a [MissingError] does of a secret.
func Missing(err error) error { return &MissingError{err} }

// setKey takes a reference to a secret and reads it. Text that is none is a
// [LiteralError].
func setKey(to *Secret, value any, secrets Secrets) error {
	s, ok := value.(string)
	if !ok || s == "" {
		return Wrong(value, references)
	}
	if name := Variable(s); name != "" {
		return &LiteralError{fmt.Errorf("a variable of the environment is not named like this here: write %s%s", inEnvironment, name)}
	}
	secret, err := secrets(s)
	if err != nil && !isReference(s) {
		return &LiteralError{err}
	}
	*to = secret
	return err
}

// variable is how shells and other programs name a variable of the environment.
// Without braces it has to look like one: a password may begin with $.
var variable = regexp.MustCompile(`^(?:\$\{(?:env:)?([A-Za-z_]\w*)\}|\$(?:env:)?([A-Z_][A-Z0-9_]*)|%([A-Z_][A-Z0-9_]*)%)$`)

// Variable returns the name of the variable of the environment that text names
// as a shell would ($NAME, ${NAME}, $env:NAME, %NAME%), or "".
func Variable(text string) string {
	m := variable.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1] + m[2] + m[3]
}
