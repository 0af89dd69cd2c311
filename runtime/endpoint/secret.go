package endpoint

import (
	"context"
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

const redacted = value.Redacted

// Secret is a value that prints as [redacted], however it is printed.
type Secret string

var (
	_ fmt.Formatter  = Secret("")
	_ slog.LogValuer = Secret("")
)

// Format prints [redacted].
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// LogValue is [redacted].
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText writes [redacted].
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Settings of most providers that hold secrets.
const (
	KeySetting     = "key"
	HeadersSetting = "headers"
)

const maxSecretFile = 64 << 10

// Secrets reads the secret that a reference of a configuration names:
// env:NAME, file:PATH or secret:NAME.
type Secrets func(ref string) (Secret, error)

// places are the beginnings of references.
const (
	inEnvironment = "env:"
	inFile        = "file:"
	inVenue       = "secret:"

	references = "env:NAME, file:PATH or secret:NAME"
)

// MissingError says that a reference is well written and its secret is not to be
// had: the environment or a file does not hold it, or not yet.
type MissingError struct{ err error }

func (e *MissingError) Error() string { return e.err.Error() }
func (e *MissingError) Unwrap() error { return e.err }

// SecretsOf returns what reads the secrets that the settings of cfg name, those
// of the venue by cfg.Secret. It reads while ctx lasts. One that the environment
// or a file does not hold is a [MissingError], or cfg.StandIn. No error shows a
// reference that is none, since that may be the secret itself.
func SecretsOf(ctx context.Context, cfg runtime.ModelConfig) Secrets {
	found := func(secret Secret, err error) (Secret, error) {
		switch {
		case err == nil:
			return secret, nil
		case cfg.StandIn != "":
			return Secret(cfg.StandIn), nil
		}
		return "", &MissingError{err}
	}
	return func(ref string) (Secret, error) {
		if name, ok := strings.CutPrefix(ref, inEnvironment); ok {
			return found(fromEnvironment(name))
		}
		if path, ok := strings.CutPrefix(ref, inFile); ok {
			return found(fromFile(path))
		}
		name, ok := strings.CutPrefix(ref, inVenue)
		switch {
		case !ok:
			return "", errors.New("a key does not belong into a configuration: put it into an environment variable, a file or the venue's secrets, and write " + references)
		case cfg.Secret == nil:
			return "", errors.New("this program has no venue to keep secrets in: use env:NAME or file:PATH")
		}
		value, err := cfg.Secret(ctx, name)
		if err != nil {
			return "", fmt.Errorf("read secret %s: %w", name, err)
		}
		return trimmed(value, "secret "+name)
	}
}

// Held are the secrets among the settings of cfg as they are now: its key and
// the values of its headers, wherever they stand. What cannot be read is left to
// the provider to complain of.
func Held(ctx context.Context, cfg runtime.ModelConfig) []string {
	read := SecretsOf(ctx, cfg)
	values := []any{cfg.Settings[KeySetting]}
	if headers, ok := cfg.Settings[HeadersSetting].(map[string]any); ok {
		values = slices.AppendSeq(values, maps.Values(headers))
	}
	var out []string
	for _, v := range values {
		text, _ := v.(string)
		if secret, err := read(text); err == nil {
			text = string(secret)
		}
		if len(text) >= minSecret {
			out = append(out, text)
		}
	}
	return out
}

// minSecret is the least that [Held] holds for a secret: bytes. To take every "1"
// out of a text would ruin it.
const minSecret = 6

// Located is a reference, with the file that it names relative to dir.
func Located(ref any, dir string) any {
	text, _ := ref.(string)
	if name, ok := strings.CutPrefix(text, inFile); ok && name != "" && !filepath.IsAbs(name) {
		return inFile + filepath.Join(dir, name)
	}
	return ref
}

func isReference(s string) bool {
	return strings.HasPrefix(s, inEnvironment) || strings.HasPrefix(s, inFile) || strings.HasPrefix(s, inVenue)
}

func fromEnvironment(name string) (Secret, error) {
	value, set := os.LookupEnv(name)
	if !set {
		return "", fmt.Errorf("environment variable %s is not set", name)
	}
	return trimmed(value, "environment variable "+name)
}

func fromFile(path string) (Secret, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecretFile {
		return "", fmt.Errorf("%s is not a file of at most %d bytes that holds one key", path, maxSecretFile)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return trimmed(string(raw), path)
}

// trimmed is the value without the line break and the byte order mark that
// editors and shells add.
func trimmed(value, where string) (Secret, error) {
	value = strings.TrimSpace(strings.TrimPrefix(value, byteOrderMark))
	if value == "" {
		return "", fmt.Errorf("%s is empty", where)
	}
	return Secret(value), nil
}
