package endpoint

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
)

const testKey = "sk-very-secret/0123456789"

var errNoSecret = errors.New("there is none: set it with secret:set")

// sealed is a venue with a few secrets.
func sealed(_ context.Context, name string) (string, error) {
	value, ok := map[string]string{"openai": " " + testKey + "\n", "blank": " "}[name]
	if !ok {
		return "", errNoSecret
	}
	return value, nil
}

func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	path, empty, big, marked := filepath.Join(dir, "key"), filepath.Join(dir, "empty"), filepath.Join(dir, "big"), filepath.Join(dir, "marked")
	for name, content := range map[string]string{path: "  " + testKey + "\n", empty: "", marked: "\uFEFF" + testKey + "\r\n", big: strings.Repeat("x", maxSecretFile+1)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("USHER_TEST_KEY", "\t"+testKey+" ")
	t.Setenv("USHER_TEST_BLANK", " ")
	venue := runtime.ModelConfig{Secret: sealed}
	for _, tt := range []struct {
		ref  string
		cfg  runtime.ModelConfig
		want string // of the error; "" is the key
	}{
		{"env:USHER_TEST_KEY", runtime.ModelConfig{}, ""},
		{"file:" + path, runtime.ModelConfig{}, ""},
		{"file:" + marked, runtime.ModelConfig{}, ""},
		{"secret:openai", venue, ""},
		{"env:USHER_TEST_NONE", venue, "environment variable USHER_TEST_NONE is not set"},
		{"env:USHER_TEST_BLANK", venue, "environment variable USHER_TEST_BLANK is empty"},
		{"file:" + empty, venue, "is empty"},
		{"file:" + big, venue, "is not a file of at most 65536 bytes that holds one key"},
		{"file:" + dir, venue, "is not a file of at most 65536 bytes that holds one key"},
		{"file:" + path + "x", venue, "no such file"},
		{"secret:blank", venue, "secret blank is empty"},
		{"secret:other", venue, "read secret other: there is none: set it with secret:set"},
		{"secret:openai", runtime.ModelConfig{}, "this program has no venue to keep secrets in: use env:NAME or file:PATH"},
		{testKey, venue, "a key does not belong into a configuration"},
	} {
		var got Secret
		err := setKey(&got, tt.ref, SecretsOf(t.Context(), tt.cfg))
		if tt.want == "" && (err != nil || got != testKey) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s reads as %q, %v, want %q", tt.ref, string(got), err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), testKey) {
			t.Errorf("the error shows the key: %v", err)
		}
	}
	for _, value := range []any{"", nil, []any{testKey}} {
		if err := setKey(new(Secret), value, SecretsOf(t.Context(), venue)); err == nil || !strings.Contains(err.Error(), "expected env:NAME, file:PATH or secret:NAME, got ") {
			t.Errorf("key %v: %v", value, err)
		}
	}
	if _, err := SecretsOf(t.Context(), venue)("secret:other"); !errors.Is(err, errNoSecret) {
		t.Errorf("error %v hides why", err)
	}
}

// However a secret is printed, it is not shown.
func TestSecretDoesNotPrint(t *testing.T) {
	holder := struct {
		Key     Secret
		Headers map[string]Secret
	}{testKey, map[string]Secret{"X-Token": testKey}}
	var b bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&b, nil), slog.NewJSONHandler(&b, nil)} {
		slog.New(handler).Info("model", "key", holder.Key, "holder", holder)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&b, verb, holder)
		fmt.Fprintf(&b, verb, holder.Key)
	}
	raw, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(raw)
	for _, form := range []string{testKey, fmt.Sprintf("%x", testKey), fmt.Sprint([]byte(testKey))} {
		if strings.Contains(b.String(), form) {
			t.Errorf("the key is printed: %s", b.String())
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Setenv("USHER_TEST_KEY", testKey)
	var o Options
	read := func(value any) error {
		return o.setHeaders(value, SecretsOf(t.Context(), runtime.ModelConfig{Secret: sealed}))
	}
	if err := read(map[string]any{"X-Title": "Usher", "Authorization": "env:USHER_TEST_KEY", "X-Gateway": "secret:openai"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"X-Title": "Usher"}, o.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if secret := o.SecretHeaders; len(secret) != 2 || secret["Authorization"] != testKey || secret["X-Gateway"] != testKey {
		t.Errorf("%d secret headers: %v", len(secret), secret)
	}
	for _, tt := range []struct {
		value any
		want  string
	}{
		{"a: b", "expected headers by name, for example {X-Title: Usher}, got text"},
		{map[string]any{"X-A": 1}, "X-A: expected text (put it into quotes), got 1"},
		{map[string]any{"X-A": "1", "x-a": "2"}, "x-a stands there twice, in different spellings: remove one"},
		{map[string]any{"X-Auth-Token": testKey}, "X-Auth-Token: a key does not belong into a configuration"},
		{map[string]any{"X-A": "secret:other"}, "X-A: read secret other"},
	} {
		if err := read(tt.value); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), testKey) {
			t.Errorf("headers %v: %v, want %s", tt.value, err, tt.want)
		}
	}
}

func TestCheckHeaders(t *testing.T) {
	form := Form{Taken: map[string]string{"X-Api-Key": "has a setting of its own: use key"}}
	for _, tt := range []struct{ name, value, want string }{
		{"X-Title", "Usher\tand more", ""},
		{"", "a", `headers: "" is not the name of a header: use letters, digits and -`},
		{"X A", "a", `headers: "X A" is not the name of a header: use letters, digits and -`},
		{"content-type", "a", "headers: Content-Type is set by the request itself: remove it"},
		{"x-api-key", "a", "headers: X-Api-Key has a setting of its own: use key"},
		{"X-A", "a\r\nX-B: b", "headers: X-A holds a line break or another control character: give it on one line"},
		{"X-A", "a\x7f", "headers: X-A holds a line break or another control character: give it on one line"},
	} {
		plain := form.checkHeaders(&Options{Headers: map[string]string{tt.name: tt.value}})
		secret := form.checkHeaders(&Options{SecretHeaders: map[string]Secret{tt.name: Secret(tt.value)}})
		for _, err := range []error{plain, secret} {
			if got := fmt.Sprint(err); err == nil && tt.want != "" || err != nil && got != tt.want {
				t.Errorf("checkHeaders(%q: %q) = %v, want %q", tt.name, tt.value, err, tt.want)
			}
		}
	}
}

func TestCleaner(t *testing.T) {
	clean := cleanerOf("sk-one", map[string]Secret{
		"X-A": "sk-one-and-more", "Authorization": "Bearer tok-three", "X-B": "Basic " + Secret(base64.StdEncoding.EncodeToString([]byte("bob:tok/4+="))),
	})
	for _, tt := range []struct{ said, want string }{
		{"a sk-one b sk-one-and-more c tok-three d Bearer tok-three", "a [redacted] b [redacted] c [redacted] d [redacted]"},
		{`tok\/4\u002b\u003D or \\u002b and bob:tok/4+=`, "[redacted] or + and [redacted]"},
		{" two\r\n\tlines\xff ", "two lines\uFFFD"},
		{strings.Repeat("x", MaxMessage-3) + "sk-one", strings.Repeat("x", MaxMessage-3) + "[re …"},
		{strings.Repeat("x", MaxMessage-1) + "é", strings.Repeat("x", MaxMessage-1) + " …"},
	} {
		if got := clean(tt.said); got != tt.want {
			t.Errorf("%q is shown as %q, want %q", tt.said, got, tt.want)
		}
	}
	if got := cleanerOf("", nil)("a  b"); got != "a b" {
		t.Errorf("without secrets, %q", got)
	}
}

// An id goes back to its server as it came.
func TestIDCleanerKeepsEscapes(t *testing.T) {
	if got := idCleaner(testKey, nil)(`call\/\u002b`); got != `call\/\u002b` {
		t.Errorf("an id becomes %s", got)
	}
}

// An id goes back to its server: it is cut only where it has no sensible length.
// A word is short, and whole in its characters.
func TestIDsAndWords(t *testing.T) {
	id := strings.Repeat("x", 64<<10)
	for _, tt := range []struct{ said, want string }{{id, id}, {id + "y", id + " …"}, {"a sk-one", "a [redacted]"}} {
		if got := idCleaner("sk-one", nil)(tt.said); got != tt.want {
			t.Errorf("an id of %d bytes becomes one of %d, want %d", len(tt.said), len(got), len(tt.want))
		}
	}
	for _, tt := range []struct{ said, want string }{
		{"stop", "stop"},
		{strings.Repeat("x", 101), strings.Repeat("x", 100)},
		{strings.Repeat("x", 99) + "é", strings.Repeat("x", 99)},
		{"sk-one", "[redacted]"},
	} {
		if got := Word(tt.said, cleanerOf("sk-one", nil)); got != tt.want {
			t.Errorf("Word(%q) = %q, want %q", tt.said, got, tt.want)
		}
	}
}

// What is missing is told from what is wrong, and may be stood in for: but not
// for a reference that is none.
func TestMissingSecrets(t *testing.T) {
	for _, tt := range []struct {
		ref     string
		missing bool
	}{
		{"env:USHER_TEST_NO_SUCH_KEY", true},
		{"file:" + t.TempDir(), true},
		{"sk-literal", false},
		{"secret:openai", false}, // there is no venue to have it
	} {
		_, err := SecretsOf(t.Context(), runtime.ModelConfig{})(tt.ref)
		if _, ok := errors.AsType[*MissingError](err); ok != tt.missing || err == nil {
			t.Errorf("%s is missing: %t (%v), want %t", tt.ref, ok, err, tt.missing)
		}
		got, err := SecretsOf(t.Context(), runtime.ModelConfig{StandIn: "stand-in"})(tt.ref)
		if (err == nil) != tt.missing || tt.missing && got != "stand-in" {
			t.Errorf("%s with a stand-in: %t, %v", tt.ref, got == "stand-in", err)
		}
	}
}

// Headers that hold keys are never written out, however their names are spelt;
// and those of the request itself are not taken from it.
func TestWhichHeadersAreTaken(t *testing.T) {
	for _, name := range []string{
		"Authorization", "proxy-authorization", "X-API-Key", "ApiKey", "X-Auth-Token", "Client-Secret", "Set-Cookie", "X-Password",
	} {
		var o Options
		err := o.setHeaders(map[string]any{name: "literal"}, SecretsOf(t.Context(), runtime.ModelConfig{}))
		if err == nil || strings.Contains(err.Error(), "literal") || len(o.Headers) > 0 {
			t.Errorf("%s is taken as text: %v", name, err)
		}
	}
	for _, name := range []string{
		"accept", "Accept-Encoding", "CONNECTION", "Content-Length", "Content-Type", "host", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
	} {
		if err := new(Form).checkHeaders(&Options{Headers: map[string]string{name: "x"}}); err == nil || !strings.Contains(err.Error(), "is set by the request itself") {
			t.Errorf("%s: %v, want that the request sets it", name, err)
		}
	}
}
