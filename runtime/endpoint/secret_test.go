package endpoint

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

// written is a key as a configuration has it.
type written struct {
	ref  string
	cfg  runtime.ModelConfig
	want string // of the error; "" is the key
}

func (w *written) read(t *testing.T) (string, error) {
	t.Helper()
	var key Secret
	if err := key.UnmarshalJSON(quoted(t, w.ref)); err != nil {
		return "", err
	}
	return SecretsOf(w.cfg)(t.Context(), KeySetting, string(key))
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
	venue := runtime.ModelConfig{Name: "m", Secret: sealed}
	for _, tt := range []written{
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
		got, err := tt.read(t)
		if tt.want == "" && (err != nil || got != testKey) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s reads as %q, %v, want %q", tt.ref, got, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), testKey) {
			t.Errorf("the error shows the key: %v", err)
		}
	}
	for _, value := range []any{"", nil, []any{testKey}} {
		if err := new(Secret).UnmarshalJSON(quoted(t, value)); err == nil || err.Error() != "write env:NAME, file:PATH or secret:NAME" {
			t.Errorf("key %v: %v", value, err)
		}
	}
	_, err := SecretsOf(venue)(t.Context(), "headers: X-A", "secret:other")
	_, missing := errors.AsType[*AbsentError](err)
	at, ok := errors.AsType[*runtime.SettingError](err)
	if !errors.Is(err, errNoSecret) || !missing || !ok || at.Setting != "headers" || err.Error() != "model m: headers: X-A: read secret other: "+errNoSecret.Error() {
		t.Errorf("error %v hides why, or where", err)
	}
}

// However a secret is printed, it is not shown.
func TestSecretDoesNotPrint(t *testing.T) {
	holder := struct {
		Key     Secret
		Headers Headers
	}{testKey, Headers{"X-Token": testKey}}
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
	var h Headers
	if err := h.UnmarshalJSON(quoted(t, map[string]any{"X-Title": "Usher", "Authorization": "env:USHER_TEST_KEY", "X-Gateway": "secret:openai"})); err != nil {
		t.Fatal(err)
	}
	if len(h) != 3 || h["X-Title"] != "Usher" || h["Authorization"] != "env:USHER_TEST_KEY" || h["X-Gateway"] != "secret:openai" {
		t.Errorf("%d headers", len(h))
	}
	for _, tt := range []struct {
		value any
		want  string
	}{
		{"a: b", "write headers by name, for example {X-Title: Usher}"},
		{map[string]any{"X-A": 1}, "X-A: write text (put it into quotes)"},
		{map[string]any{"X-A": "1", "x-a": "2"}, "x-a stands there twice, in different spellings: remove one"},
		{map[string]any{"X-Auth-Token": testKey}, "X-Auth-Token: a key does not belong into a configuration"},
	} {
		if err := h.UnmarshalJSON(quoted(t, tt.value)); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), testKey) {
			t.Errorf("headers %v: %v, want %s", tt.value, err, tt.want)
		}
	}
}

// A request has the keys as they are when it is made, and what cannot be had, or
// cannot be sent, is told without the value.
func TestKeysAreReadAtEachRequest(t *testing.T) {
	t.Setenv("USHER_TEST_TOKEN", "t")
	at, err := url.Parse("https://host")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	cfg := runtime.ModelConfig{Name: "m", Secret: func(_ context.Context, name string) (string, error) {
		if key, ok := keys[name]; ok {
			return key, nil
		}
		return "", errNoSecret
	}}
	o := Options{Key: "secret:k", Headers: Headers{"X-Token": "env:USHER_TEST_TOKEN", "X-Team": "blue", "X-Gate": "env:USHER_TEST_TOKEN"}, Secrets: SecretsOf(cfg)}
	s := new(Form).Serve(&o, at, make(http.Header), func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) }, runtime.About{})
	defer s.Close()
	if err := s.Ready(t.Context()); !errors.Is(err, errNoSecret) {
		t.Errorf("without the key: %v", err)
	}
	for _, key := range []string{"first", "second"} {
		keys["k"] = key
		h, held, err := s.header(t.Context())
		if err != nil || h.Get("Authorization") != "Bearer "+key || h.Get("X-Token") != "t" || h.Get("X-Team") != "blue" || !slices.Equal(held, []string{key, "t", "t"}) {
			t.Errorf("with the key %q: %v, hidden are %q, %v", key, h, held, err)
		}
	}
	keys["k"] = "torn\nin two"
	if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "key holds a line break") || strings.Contains(err.Error(), "torn") {
		t.Errorf("a key of two lines: %v", err)
	}
	if o.Key != "" || o.Headers != nil || o.Secrets != nil {
		t.Error("the options keep their secrets")
	}
}

func TestCheckHeaders(t *testing.T) {
	taken := map[string]string{"X-Api-Key": "has a setting of its own: use key"}
	for _, tt := range []struct{ name, value, want string }{
		{"X-Title", "Usher\tand more", ""},
		{"", "a", `headers: "" is not the name of a header: use letters, digits and -`},
		{"X A", "a", `headers: "X A" is not the name of a header: use letters, digits and -`},
		{"content-type", "a", "headers: Content-Type is set by the request itself: remove it"},
		{"x-api-key", "a", "headers: X-Api-Key has a setting of its own: use key"},
		{"X-A", "a\r\nX-B: b", "headers: X-A holds a line break or another control character: give it on one line"},
		{"X-A", "a\x7f", "headers: X-A holds a line break or another control character: give it on one line"},
	} {
		err := Headers{tt.name: Secret(tt.value)}.check(taken)
		if got := fmt.Sprint(err); err == nil && tt.want != "" || err != nil && got != tt.want {
			t.Errorf("check of %q: %q = %v, want %q", tt.name, tt.value, err, tt.want)
		}
	}
}

func TestClean(t *testing.T) {
	x := Exchange{hide: Redactor("sk-one", "sk-one-and-more", "Bearer tok-three", "Basic "+base64.StdEncoding.EncodeToString([]byte("bob:tok/4+=")))}
	for _, tt := range []struct{ said, want string }{
		{"a sk-one b sk-one-and-more c tok-three d Bearer tok-three", "a [redacted] b [redacted] c [redacted] d [redacted]"},
		{`tok\/4\u002b\u003D or \\u002b and bob:tok/4+=`, "[redacted] or + and [redacted]"},
		{" two\r\n\tlines\xff ", "two lines\uFFFD"},
		{strings.Repeat("x", MaxMessage-3) + "sk-one", strings.Repeat("x", MaxMessage-3) + "[re …"},
		{strings.Repeat("x", MaxMessage-1) + "é", strings.Repeat("x", MaxMessage-1) + " …"},
	} {
		if got := x.clean(tt.said); got != tt.want {
			t.Errorf("%q is shown as %q, want %q", tt.said, got, tt.want)
		}
	}
	x.hide = Redactor()
	if got := x.clean("a  b"); got != "a b" {
		t.Errorf("without secrets, %q", got)
	}
}

// An id goes back to its server as it came.
func TestIDCleanerKeepsEscapes(t *testing.T) {
	x := Exchange{hide: Redactor(testKey)}
	if got := x.CleanID(`call\/\u002b`); got != `call\/\u002b` {
		t.Errorf("an id becomes %s", got)
	}
}

// An id goes back to its server: it is cut only where it has no sensible length.
// A word is short, and whole in its characters.
func TestIDsAndWords(t *testing.T) {
	x := Exchange{hide: Redactor("sk-one")}
	id := strings.Repeat("x", 64<<10)
	for _, tt := range []struct{ said, want string }{{id, id}, {id + "y", id + " …"}, {"a sk-one", "a [redacted]"}} {
		if got := x.CleanID(tt.said); got != tt.want {
			t.Errorf("an id of %d bytes becomes one of %d, want %d", len(tt.said), len(got), len(tt.want))
		}
	}
	for _, tt := range []struct{ said, want string }{
		{"stop", "stop"},
		{strings.Repeat("x", 101), strings.Repeat("x", 100)},
		{strings.Repeat("x", 99) + "é", strings.Repeat("x", 99)},
		{"sk-one", "[redacted]"},
	} {
		if got := x.Word(tt.said); got != tt.want {
			t.Errorf("Word(%q) = %q, want %q", tt.said, got, tt.want)
		}
	}
}

// A tool that was offered is called by its name, also where a key, such as a
// placeholder for a local server, stands in it.
func TestAnOfferedNameIsNotCleaned(t *testing.T) {
	x := Exchange{hide: Redactor("x")}
	for said, want := range map[string]string{"index_read": "index_read", "x": "[redacted]", "index_write": "inde[redacted]_write"} {
		if got := x.ToolName(said, []runtime.Tool{{Name: "index_read"}}); got != want {
			t.Errorf("%q is told as %q, want %q", said, got, want)
		}
	}
}

// Headers that hold keys are never written out, however their names are spelt;
// and those of the request itself are not taken from it.
func TestWhichHeadersAreTaken(t *testing.T) {
	for _, name := range []string{
		"Authorization", "proxy-authorization", "X-API-Key", "ApiKey", "X-Auth-Token", "Client-Secret", "Set-Cookie", "X-Password",
	} {
		var h Headers
		err := h.UnmarshalJSON(quoted(t, map[string]any{name: "literal"}))
		if err == nil || strings.Contains(err.Error(), "literal") || len(h) > 0 {
			t.Errorf("%s is taken as text: %v", name, err)
		}
	}
	for _, name := range []string{
		"accept", "Accept-Encoding", "CONNECTION", "Content-Length", "Content-Type", "host", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
	} {
		if err := (Headers{name: "x"}).check(nil); err == nil || !strings.Contains(err.Error(), "is set by the request itself") {
			t.Errorf("%s: %v, want that the request sets it", name, err)
		}
	}
}
