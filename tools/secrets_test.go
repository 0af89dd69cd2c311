package tools_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"usher/tools/secrets"
)

func TestNames(t *testing.T) {
	for name, valid := range map[string]bool{
		"OPENAI": true, "a": true, "_x": true, "9": true, "db.prod-1_A": true, strings.Repeat("a", 64): true,
		"": false, ".": false, "..": false, "-f": false, "a/b": false, "a b": false, "s/a": false, "é": false, "a\n": false,
		strings.Repeat("a", 65): false,
	} {
		err := secrets.CheckName(name)
		if (err == nil) != valid {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
		if err != nil && len(name) > 3 && strings.Contains(err.Error(), name) {
			t.Errorf("CheckName(%q) repeats it: %v", name, err)
		}
	}
}

func TestValues(t *testing.T) {
	for name, tc := range map[string]struct {
		value secrets.Value
		want  string
	}{
		"a key":        {"sk-1", ""},
		"lines":        {"-----BEGIN-----\nabc\n", ""},
		"the longest":  {secrets.Value(strings.Repeat("x", secrets.MaxValue)), ""},
		"empty":        {"", "empty"},
		"too long":     {secrets.Value(strings.Repeat("x", secrets.MaxValue+1)), "65537 bytes"},
		"no text":      {"sk-\xff", "base64"},
		"was no text":  {"sk-\uFFFD", "base64"},
		"a NUL is one": {"a\x00b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := secrets.CheckValue(tc.value)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("CheckValue: %v, want %q", err, tc.want)
			}
			if err != nil && tc.value != "" && strings.Contains(err.Error(), string(tc.value)) {
				t.Errorf("the error repeats the value: %v", err)
			}
		})
	}
}

func TestAValuePrintsAsRedacted(t *testing.T) {
	const value = secrets.Value("sk-1")
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("it", "value", value)
	for _, got := range []string{
		fmt.Sprint(value), fmt.Sprintf("%q %x %#v", value, value, value),
		fmt.Sprintf("%+v", struct{ V secrets.Value }{value}), log.String(),
	} {
		if strings.Contains(got, "sk-1") || strings.Contains(got, "736b2d31") || !strings.Contains(got, "[redacted]") {
			t.Errorf("it prints as %s", got)
		}
	}
	if raw, err := json.Marshal(value); err != nil || string(raw) != `"sk-1"` {
		t.Errorf("as JSON it is %s, %v", raw, err)
	}
}
