package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"usher/caps/value"
	"usher/runtime"
)

// Secret is a value that prints as [redacted], however it is printed, or the
// reference of a configuration to one.
type Secret string

var (
	_ fmt.Formatter  = Secret("")
	_ slog.LogValuer = Secret("")
)

// Format prints [redacted].
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(value.Redacted)) }

// LogValue is [redacted].
func (Secret) LogValue() slog.Value { return slog.StringValue(value.Redacted) }

// MarshalText writes [redacted].
func (Secret) MarshalText() ([]byte, error) { return []byte(value.Redacted), nil }

// Settings of most providers that hold secrets.
const (
	KeySetting     = "key"
	HeadersSetting = "headers"
)

// places are the beginnings of references.
const (
	inEnvironment = "env:"
	inFile        = "file:"

	references = "env:NAME, file:PATH or secret:NAME"
)

// reference is how a configuration names a secret.
var reference = value.Form(`^(env|file|secret):`)

// LiteralError says that a key stands in a configuration itself, or is named as
// a shell would. It does not show the key.
type LiteralError struct{ text string }

func (e *LiteralError) Error() string { return e.text }

// UnmarshalJSON reads a reference. Text that is none is a [LiteralError].
func (s *Secret) UnmarshalJSON(raw []byte) error {
	var text string
	_ = json.Unmarshal(raw, &text) // what is no text is no reference
	switch name := Variable(text); {
	case text == "":
		return errors.New("write " + references)
	case name != "":
		return &LiteralError{"a variable of the environment is not named like this here: write " + inEnvironment + name}
	case !reference().MatchString(text):
		return &LiteralError{"a key does not belong into a configuration: put it into an environment variable, a file or the venue's secrets, and write " + references}
	}
	*s = Secret(text)
	return nil
}

// variable is how shells and other programs name a variable of the environment.
// Without braces it has to look like one: a password may begin with $.
var variable = value.Form(`^(?:\$\{(?:env:)?([A-Za-z_]\w*)\}|\$(?:env:)?([A-Z_][A-Z0-9_]*)|%([A-Z_][A-Z0-9_]*)%)$`)

// Variable returns the name of the variable of the environment that text names
// as a shell would ($NAME, ${NAME}, $env:NAME, %NAME%), or "".
func Variable(text string) string {
	found := variable().FindStringSubmatch(text)
	return strings.Join(found[min(1, len(found)):], "")
}

// AbsentError says that something is well named and not there, or not yet: the
// secret of a reference, or a file.
type AbsentError struct{ Err error }

func (e *AbsentError) Error() string { return e.Err.Error() }
func (e *AbsentError) Unwrap() error { return e.Err }

// SecretsOf returns what reads the secrets that the settings of cfg name by a
// reference, as they are at that moment: those of the venue by cfg.Secret. What is
// not to be had is an [AbsentError] and a [runtime.SettingError]: of the setting,
// with what stands in it after a colon.
func SecretsOf(cfg runtime.ModelConfig) func(ctx context.Context, setting, ref string) (string, error) {
	return func(ctx context.Context, setting, ref string) (string, error) {
		secret, err := Resolve(ctx, ref, cfg.Secret)
		if err == nil {
			return secret, nil
		}
		name, _, _ := strings.Cut(setting, ":")
		return "", &runtime.SettingError{Setting: name, Err: &AbsentError{fmt.Errorf("model %s: %s: %w", cfg.Name, setting, err)}}
	}
}

// Resolve reads the secret of a reference as it is at this moment: those of the venue by kept, which
// may be nil.
func Resolve(ctx context.Context, ref string, kept func(ctx context.Context, name string) (string, error)) (secret string, err error) {
	place, name, _ := strings.Cut(ref, ":")
	where := name
	switch place + ":" {
	case inEnvironment:
		where = "environment variable " + name
		var set bool
		if secret, set = os.LookupEnv(name); !set {
			return "", fmt.Errorf("%s is not set", where)
		}
	case inFile:
		secret, err = fromFile(name)
	default:
		where = "secret " + name
		if kept == nil {
			return "", errors.New("this program has no venue to keep secrets in: use env:NAME or file:PATH")
		}
		if secret, err = kept(ctx, name); err != nil {
			return "", fmt.Errorf("read %s: %w", where, err)
		}
	}
	// Editors and shells add a line break and a byte order mark.
	secret = strings.TrimSpace(strings.TrimPrefix(secret, byteOrderMark))
	if err == nil && secret == "" {
		err = fmt.Errorf("%s is empty", where)
	}
	return secret, err
}

const maxSecretFile = 64 << 10 // bytes

func fromFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecretFile {
		return "", fmt.Errorf("%s is not a file of at most %d bytes that holds one key", path, maxSecretFile)
	}
	raw, err := os.ReadFile(path)
	return string(raw), err
}

// Secrets are the secrets among the settings of cfg as they are now: its key and
// the values of its headers, wherever they stand. What cannot be read is left to
// the provider to complain of.
func Secrets(ctx context.Context, cfg runtime.ModelConfig) (out []string) {
	headers, _ := cfg.Settings[HeadersSetting].(map[string]any)
	for _, v := range append(slices.Collect(maps.Values(headers)), cfg.Settings[KeySetting]) {
		text, _ := v.(string)
		if reference().MatchString(text) {
			if secret, err := Resolve(ctx, text, cfg.Secret); err == nil {
				text = secret
			}
		}
		if len(text) >= minSecret {
			out = append(out, text)
		}
	}
	return out
}

// minSecret is the least that [Secrets] holds for a secret: bytes. To take every "1"
// out of a text would ruin it.
const minSecret = 6

// Locate returns a reference, with the file that it names relative to dir.
func Locate(ref any, dir string) any {
	text, _ := ref.(string)
	if name, ok := strings.CutPrefix(text, inFile); ok && name != "" && !filepath.IsAbs(name) {
		return inFile + filepath.Join(dir, name)
	}
	return ref
}
