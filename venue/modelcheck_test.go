package venue_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/models"
)

// lint returns what lint says of the models of a configuration, line:column first.
func lint(t *testing.T, text string) []string {
	t.Helper()
	c := parse(t, text)
	registry, err := venue.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range c.Lint(registry, []string{"offline", "openai", "anthropic"}, models.Check(t.Context(), c.Models, nil)) {
		out = append(out, strings.TrimPrefix(f.String(), "usher.yaml:"))
	}
	return out
}

// Lint finds in a model's settings what a venue would not open with, all of it
// and where it stands, and the keys that are not there.
func TestLintFindsWrongSettings(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	t.Setenv("USHER_TEST_KEY", "k")
	for _, tt := range []struct {
		name, models string
		want         []string
	}{
		{"nothing", `{a: {provider: openai, model: m, key: env:USHER_TEST_KEY, retry: true, fallback: b}, b: {provider: offline}}`, nil},
		{"a secret of the venue", `{a: {provider: openai, model: m, key: secret:ANY}}`, nil},
		{"several", `{a: {provider: openai, model: m, temprature: 1, seed: x, retry: {triess: 3, first: 5}}}`, []string{
			`1:54: error: model a: provider openai has no setting "temprature": did you mean temperature?`,
			`1:63: error: model a: seed is text: write a whole number`,
			`1:82: error: model a: retry: unknown key "triess" in retry: did you mean "tries"?`,
			`1:92: error: model a: retry: first is 5: write a time with its unit, for example first: 30s`,
		}},
		{"out of range", `{a: {provider: openai, model: m, key: env:USHER_TEST_KEY, temperature: 9}}`, []string{`1:80: error: model a: temperature is 9: use 0 to 2`}},
		{"no key", `{a: {provider: openai, model: m}, b: {provider: anthropic, model: m}}`, []string{
			`1:10: error: model a: key is missing, and api.openai.com answers nobody without one: write where it stands, for example key: env:OPENAI_API_KEY`,
			`1:43: error: model b: key is missing, and api.anthropic.com answers nobody without one: write where it stands, for example key: env:ANTHROPIC_API_KEY`,
		}},
		{"no key for a server that needs none", `{a: {provider: openai, model: m, base_url: "http://localhost:11434/v1"}}`, nil},
		{"a key that stands there", `{a: {provider: openai, model: m, key: sk-literal}}`, []string{
			`1:47: error: model a: key: a key does not belong into a configuration: put it into an environment variable, a file or the venue's secrets, and write env:NAME, file:PATH or secret:NAME`,
		}},
		{"a key as a shell names it", `{a: {provider: openai, model: m, key: $OPENAI_API_KEY}, b: {provider: anthropic, model: m, key: "${K}"}}`, []string{
			`1:47: error: model a: key: a variable of the environment is not named like this here: write env:OPENAI_API_KEY`,
			`1:105: error: model b: key: a variable of the environment is not named like this here: write env:K`,
		}},
		{"a key under another name", `{a: {provider: openai, model: m, key: env:USHER_TEST_KEY, api_key: sk-literal}}`, []string{
			`1:76: error: model a: provider openai has no setting "api_key": did you mean key?`,
			`1:76: warning: model a: api_key stands in the file for everyone who can read it: put it into the environment and write api_key: env:NAME`,
		}},
		{"a misspelt setting of any model", `{a: {provider: openai, model: m, base_url: "http://localhost:1", retri: true}}`, []string{
			`1:81: error: model a: provider openai has no setting "retri": did you mean retry?`,
		}},
		{"an address", `{a: {provider: anthropic, model: m, base_url: "ftp://x"}}`, []string{`1:55: error: model a: base_url "ftp://x" is neither https nor http: use one such as https://host`}},
		{"what is not there", `{a: {provider: openai}}`, []string{
			`1:10: error: model a: model is missing: name the model as the server does, for example gpt-5-mini`,
			`1:10: error: model a: key is missing, and api.openai.com answers nobody without one: write where it stands, for example key: env:OPENAI_API_KEY`,
		}},
		{"a built-in provider without settings", `{a: {provider: offline, x: 1}}`, []string{`1:36: error: model a: provider offline takes no setting "x": remove it`}},
		{"a budget without a price", `{a: {provider: offline, budget: {money: 2}}}`, []string{`1:41: error: model a: budget in money needs to know what the model costs: add price beside budget`}},
		{"half a price", `{a: {provider: offline, budget: {money: 2}, price: {input: 1}}}`, []string{`1:60: error: model a: price: price lacks "output": write for example output: 2`}},
		{"a window", `{a: {provider: offline, window: 0}}`, []string{`1:41: error: model a: window is 0: write a whole number above 0, for example window: 128000`}},
		{"record and replay", `{a: {provider: offline, record: x, replay: y}}`, []string{`1:41: error: model a: record and replay exclude each other: remove one`}},
		{"an unknown fallback", `{a: {provider: offline, fallback: smal}, small: {provider: offline}}`, []string{`1:43: error: model a: fallback: there is no model "smal": did you mean "small"?`}},
		{"a fault of the fallback", `{a: {provider: offline, fallback: b}, b: {provider: offline, x: 1}}`, []string{`1:73: error: model b: provider offline takes no setting "x": remove it`}},
		{"a circle, and one who leads there", `{a: {provider: offline, fallback: b}, b: {provider: offline, fallback: c}, c: {provider: offline, fallback: b}}`, []string{
			`1:117: error: model c: fallback goes in a circle: b, c, b`,
		}},
		{"keys that are not there", `{a: {provider: openai, model: m, key: env:USHER_TEST_NONE}, b: {provider: anthropic, model: m, key: "file:` + missing + `", fallback: a}}`, []string{
			`1:47: note: model a: key: environment variable USHER_TEST_NONE is not set: it has to be there when the model is asked`,
			`1:109: note: model b: key: stat ` + missing + `: no such file or directory: it has to be there when the model is asked`,
		}},
		{"a key that is not there, and more", `{a: {provider: openai, model: m, key: env:USHER_TEST_NONE, top_p: 3}}`, []string{`1:75: error: model a: top_p is 3: use 0 to 1`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lint(t, "models: "+tt.models+"\n")); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
	if got := lint(t, "models: {a: {provider: offline, replay: "+missing+"}}"); len(got) != 1 || !strings.HasPrefix(got[0], "1:41: note: model a: replay "+missing+": ") || !strings.HasSuffix(got[0], ": it has to be there when the model is asked") {
		t.Errorf("a replay of nothing: %q", got)
	}
	cassette := filepath.Join(t.TempDir(), "run.yaml")
	if err := os.WriteFile(cassette, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := lint(t, "models: {a: {provider: openai, model: m, key: env:USHER_TEST_NONE, replay: "+cassette+"}}"); len(got) != 0 {
		t.Errorf("a replay asks nobody, and needs no key: %q", got)
	}
}

// What is wrong in a setting is told with its place, as a mistake in YAML is.
func TestOpenSaysWhereASettingIsWrong(t *testing.T) {
	v, err := venue.Open(t.Context(), &venue.Options{Config: parse(t, "models:\n  a: {provider: openai, model: m, seed: x, temperature: y}\n")})
	if err == nil {
		_ = v.Close()
	}
	fault, ok := errors.AsType[*config.Finding](err)
	if !ok || fault.Line != 2 || fault.Column != 41 || fault.Message != "model a: seed is text: write a whole number" {
		t.Errorf("Open: %v, want the place of seed", err)
	}
	if _, ok := errors.AsType[*runtime.SettingError](err); !ok || !strings.Contains(err.Error(), "usher.yaml:2:57: model a: temperature is text") {
		t.Errorf("Open: %v, want the place of temperature too", err)
	}
}

// A key that the environment or a file lacks keeps nobody else from their work,
// and counts from when it is there.
func TestAMissingKeyWaits(t *testing.T) {
	url, bodies := completions(t, 200)
	file := filepath.Join(t.TempDir(), "key")
	v := open(t, &venue.Options{Config: parse(t, `
models:
  default: {provider: offline}
  env: {provider: openai, model: m, base_url: "`+url+`", key: env:USHER_TEST_LATE}
  file: {provider: openai, model: m, base_url: "`+url+`", headers: {X-Team: "file:`+file+`"}}
agents:
  - {id: plain, caps: []}
  - {id: env, model: env, caps: []}
  - {id: file, model: file, caps: []}
`)})
	u := user(t, v, "owner")
	if got, err := say(t, u, "plain"); err != nil {
		t.Errorf("another model: %q, %v", got, err)
	}
	for id, want := range map[string]string{"env": "model env: key: environment variable USHER_TEST_LATE is not set", "file": "model file: headers: X-Team: stat " + file} {
		if got, err := say(t, u, id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s without its key: %q, %v, want %q", id, got, err, want)
		}
	}
	if len(*bodies) != 0 {
		t.Fatalf("%d requests are sent without a key", len(*bodies))
	}
	t.Setenv("USHER_TEST_LATE", "k")
	if err := os.WriteFile(file, []byte("k\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"env", "file"} {
		if _, err := say(t, u, id); err != nil {
			t.Errorf("%s with its key: %v", id, err)
		}
	}
}
