package endpoint

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// LiteralError says that a key stands in a configuration itself, or is named as
// a shell would. It does not show the key.
type LiteralError struct{ err error }

func (e *LiteralError) Error() string { return e.err.Error() }
func (e *LiteralError) Unwrap() error { return e.err }

// Missing says of err that it is about something that is well named and not there,
// or not yet, as a [MissingError] does of a secret.
func Missing(err error) error { return &MissingError{err} }

// Key takes a reference to a secret and reads it. Text that is none is a
// [LiteralError].
func Key(to *Secret, secrets Secrets) Setting {
	return func(value any) error {
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

// NeedsKey is an error where requests go to a server that answers nobody without
// a key, and there is none: key is the setting, headers may hold one instead.
// An address that is "" is that server's, which is named by its host.
func NeedsKey(host, address string, key Secret, headers map[string]Secret, example string) error {
	if at, err := url.Parse(address); address != "" && (err != nil || !strings.EqualFold(at.Hostname(), host)) {
		return nil //nolint:nilerr // what is no address is told of by itself
	}
	for name := range headers {
		if holdsKey(name) {
			return nil
		}
	}
	if key != "" {
		return nil
	}
	return Bad("key", "is missing, and %s answers nobody without one: write where it stands, for example key: env:%s", host, example)
}
