package anthropic

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
)

const redacted = "[redacted]"

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

const maxSecretFile = 64 << 10

// isReference says whether s names a place where a secret is, as [readSecret]
// understands it.
func isReference(s string) bool {
	return strings.HasPrefix(s, "env:") || strings.HasPrefix(s, "file:")
}

// readSecret reads what env:NAME or file:PATH names. No error shows ref where
// it is neither, since then it may be the secret itself.
func readSecret(ref string) (Secret, error) {
	if name, ok := strings.CutPrefix(ref, "env:"); ok {
		value, set := os.LookupEnv(name)
		value = strings.TrimSpace(value)
		switch {
		case !set:
			return "", fmt.Errorf("environment variable %s is not set", name)
		case value == "":
			return "", fmt.Errorf("environment variable %s is empty", name)
		}
		return Secret(value), nil
	}
	path, ok := strings.CutPrefix(ref, "file:")
	if !ok {
		return "", errors.New("a key does not belong into a configuration: put it into an environment variable or a file, and write env:NAME or file:PATH")
	}
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
	value := strings.TrimSpace(string(raw))
	if value == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return Secret(value), nil
}

// redactor returns what takes the secrets out of a text. Servers do repeat
// keys in their errors.
func (o *Options) redactor() func(string) string {
	secrets := []string{string(o.Key)}
	for _, value := range o.SecretHeaders {
		secrets = append(secrets, string(value))
		if _, credential, ok := strings.Cut(string(value), " "); ok { // "Bearer …"
			secrets = append(secrets, strings.TrimSpace(credential))
		}
	}
	// The longest first, so that no secret that is part of another leaves the rest.
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, s := range secrets {
		if s != "" {
			pairs = append(pairs, s, redacted)
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
