package endpoint

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"usher/runtime"
)

func TestVariable(t *testing.T) {
	for text, want := range map[string]string{
		"$OPENAI_API_KEY":         "OPENAI_API_KEY",
		"${OPENAI_API_KEY}":       "OPENAI_API_KEY",
		"${openai_key}":           "openai_key",
		"${env:KEY}":              "KEY",
		"$env:KEY_2":              "KEY_2",
		"%OPENAI_API_KEY%":        "OPENAI_API_KEY",
		"env:OPENAI_API_KEY":      "",
		"OPENAI_API_KEY":          "",
		"$ecret":                  "",
		"$2b$12$abcdefghijklmnop": "",
		"${A}${B}":                "",
		"$":                       "",
	} {
		if got := Variable(text); got != want {
			t.Errorf("Variable(%q) = %q, want %q", text, got, want)
		}
	}
}

// quoted is a value as JSON.
func quoted(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A key that stands there itself is told from all else that may be wrong with
// it, and is not shown.
func TestLiteralKeys(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		literal    bool
	}{
		{"sk-literal", "a key does not belong into a configuration: ", true},
		{"$ecret-literal", "a key does not belong into a configuration: ", true},
		{"$USHER_TEST_NONE", "a variable of the environment is not named like this here: write env:USHER_TEST_NONE", true},
		{"", "write env:NAME, file:PATH or secret:NAME", false},
	} {
		key := Secret("before")
		err := key.UnmarshalJSON(quoted(t, tt.text))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "literal") {
			t.Errorf("key %s: %v, want %s", tt.text, err, tt.want)
		}
		if _, literal := errors.AsType[*LiteralError](err); literal != tt.literal {
			t.Errorf("key %s is literal: %v, want %v", tt.text, literal, tt.literal)
		}
	}
}

func TestNeedsKey(t *testing.T) {
	form := Form{Default: "https://api.example.com/v1", Variable: "EXAMPLE_KEY"}
	for _, tt := range []struct {
		name, address string
		key           Secret
		headers       Headers
		refused       bool
	}{
		{"none", "", "", nil, true},
		{"the address itself", "https://api.example.com:443/v1", "", nil, true},
		{"the address in capitals", "https://API.example.com", "", nil, true},
		{"another address", "https://other.example.com", "", nil, false},
		{"no address", "https://a b", "", nil, false}, // which is told elsewhere
		{"a key", "", testKey, nil, false},
		{"a key in a header", "", "", Headers{"authorization": testKey}, false},
		{"another header", "", "", Headers{"X-Team": "blue"}, true},
	} {
		err := form.NeedsKey(&Options{BaseURL: tt.address, Key: tt.key, Headers: tt.headers})
		if (err != nil) != tt.refused {
			t.Errorf("%s: %v, refused should be %v", tt.name, err, tt.refused)
		}
		if err == nil {
			continue
		}
		if at, ok := errors.AsType[*runtime.SettingError](err); !ok || at.Setting != "key" || !strings.HasSuffix(err.Error(), "write where it stands, for example key: env:EXAMPLE_KEY") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
