package wrap_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/wrap"
	"usher/tools/spend"
)

type settings = map[string]any

func number(s string) json.Number { return json.Number(s) }

// composed is a model as its settings say, or why there is none.
func composed(cfg runtime.ModelConfig, m runtime.Model, models map[string]runtime.Model) (runtime.Model, error) {
	own, _, err := wrap.Split(cfg.Settings)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", cfg.Name, err)
	}
	return own.Compose(cfg, m, models)
}

func compose(t *testing.T, models map[string]runtime.Model, m runtime.Model, s settings) runtime.Model {
	t.Helper()
	out, err := composed(runtime.ModelConfig{Name: "default", Settings: s}, m, models)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestComposeErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   settings
		want string
	}{
		{"misspelt key", settings{"retry": settings{"triess": number("3")}}, `model default: retry: unknown key "triess" in retry: did you mean "tries"?`},
		{"foreign key", settings{"timeouts": settings{"whole_conversation": "3s"}}, `model default: timeouts: unknown key "whole_conversation" in timeouts: the keys are first_chunk, between, total`},
		{"no unit", settings{"timeouts": settings{"total": number("30")}}, `model default: timeouts: total is 30: write a time with its unit, for example total: 30s`},
		{"negative time", settings{"timeouts": settings{"total": "-1s"}}, `model default: timeouts: total is text: write a time with its unit, for example total: 30s`},
		{"empty section", settings{"rate_limit": settings{}}, `model default: rate_limit is empty: write for example rate_limit: {per_minute: 60}, or leave it out`},
		{"null section", settings{"retry": nil}, `model default: retry is null here: write true, or an object, for example {tries: 4}`},
		{"no size", settings{"window": "small"}, `model default: window is text: write a whole number above 0, for example window: 128000`},
		{"no mapping", settings{"budget": number("3")}, `model default: budget is a number here: write an object, for example {tokens: 1000000}`},
		{"fraction", settings{"rate_limit": settings{"per_minute": number("1.5")}}, `model default: rate_limit: per_minute is 1.5: write a whole number above 0`},
		{"zero is not unlimited", settings{"budget": settings{"calls": number("0")}}, `model default: budget: calls is 0: write a whole number above 0, for example calls: 20`},
		{"no money", settings{"budget": settings{"money": number("0.00")}}, `model default: budget: money is 0.00: write an amount above 0, for example money: 0.50`},
		{"money too fine", settings{"budget": settings{"money": number("0.0000001")}}, `model default: budget: money: 0.0000001 has 7 decimal places: write at most 6`},
		{"money without a price", settings{"budget": settings{"money": number("2")}}, `model default: budget in money needs to know what the model costs: add price beside budget`},
		{"money without the fallback's price", settings{"fallback": "small", "budget": settings{"money": number("2")}, "price": settings{"input": number("1"), "output": number("2")}}, `model default: budget: money needs a price of small too, which fallback names: add price to that model`},
		{"half a price", settings{"price": settings{"input": number("1")}}, `model default: price: price lacks "output": write for example output: 2`},
		{"prices among the limits", settings{"budget": settings{"prices": settings{}}}, `model default: budget: unknown key "prices" in budget: the keys are calls, tokens, money`},
		{"no price", settings{"price": settings{}}, `model default: price: price lacks "input": write for example input: 0.25`},
		{"no window", settings{"window": number("0")}, `model default: window is 0: write a whole number above 0`},
		{"burst alone", settings{"rate_limit": settings{"burst": number("3")}}, `model default: rate_limit needs per_minute beside burst`},
		{"unknown fallback", settings{"fallback": "smal"}, `model default: fallback: there is no model "smal": did you mean "small"?`},
		{"empty fallback", settings{"fallback": []any{}}, `model default: fallback: the list is empty: name a model or remove it`},
		{"fallback twice", settings{"fallback": []any{"small", "small"}}, `model default: fallback: small is named twice: remove one`},
		{"fallback is no name", settings{"fallback": true}, `model default: fallback: write a model's name or a list of names`},
		{"record and replay", settings{"record": "a", "replay": "b"}, `model default: record and replay exclude each other: remove one`},
		{"no file", settings{"record": true}, `model default: record is a boolean: in quotes it is text, record: "true"`},
		{"replay of what is no cassette", settings{"replay": t.TempDir()}, `is a directory`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := composed(runtime.ModelConfig{Name: "default", Settings: tc.in}, play(act{}), map[string]runtime.Model{"small": play(act{})})
			if !strings.Contains(message(err), tc.want) || m != nil {
				t.Errorf("got %v, %v; want %s", m, err, tc.want)
			}
		})
	}
}

func TestRestIsTheProviders(t *testing.T) {
	in := settings{"model": "gpt-x", "timeout": "3s", "retry": true, "cache": false, "window": number("9"), "budget": settings{"calls": number("1")}}
	_, rest, err := wrap.Split(in)
	if diff := cmp.Diff(settings{"model": "gpt-x", "timeout": "3s"}, rest); diff != "" || err != nil || len(in) != 6 {
		t.Errorf("rest (-want +got), %v:\n%s", err, diff)
	}
}

// Each setting does its part, and they stand in the documented order.
func TestComposeOrder(t *testing.T) {
	busy := act{err: outage{text: "busy", temporary: true}}
	hi := act{chunks: append(say("hi"), used(999_996, 1))}
	price := settings{"input": number("2.50"), "output": number("10")}
	for _, tc := range []struct {
		name     string
		in       settings
		acts     []act
		small    act
		asks     int
		calls    int // of the model itself
		smalls   int // of the fallback
		took     time.Duration
		last     string
		lastText string
	}{
		{name: "each try is charged", in: settings{"retry": settings{"tries": number("3"), "first": "1s", "max": "1s"}, "budget": settings{"calls": number("2")}}, acts: []act{busy}, asks: 1, calls: 2, last: `budget "model default" is spent: 2 of 2 calls`},
		{name: "each try has its own time", in: settings{"retry": settings{"tries": number("2")}, "timeouts": settings{"total": "10s"}}, acts: []act{{hang: true}}, asks: 1, calls: 2, last: "after 2 tries: the model did not complete its answer within 10s"},
		{name: "each try waits its turn", in: settings{"retry": settings{"first": "1ms"}, "rate_limit": settings{"per_minute": number("1")}}, acts: []act{busy, busy, hi}, asks: 1, calls: 3, took: 2 * time.Minute, lastText: "hi"},
		{name: "waiting for the rate is no silence", in: settings{"rate_limit": settings{"per_minute": number("1")}, "timeouts": settings{"first_chunk": "1s", "total": "2s"}}, acts: []act{hi}, asks: 2, calls: 2, took: time.Minute, lastText: "hi"},
		{name: "fallback after all tries", in: settings{"retry": settings{"tries": number("3")}, "fallback": "small"}, acts: []act{busy}, small: hi, asks: 1, calls: 3, smalls: 1, lastText: "hi"},
		{name: "the budget bounds the fallback", in: settings{"fallback": []any{"small"}, "budget": settings{"calls": number("3")}}, acts: []act{{err: errPlain}}, small: hi, asks: 3, calls: 2, smalls: 1, last: `budget "model default" is spent: 3 of 3 calls`},
		{name: "kept answers cost nothing", in: settings{"cache": settings{"ttl": "1h", "max_entries": number("3")}, "price": price, "budget": settings{"money": number("1.25")}}, acts: []act{hi}, asks: 4, calls: 1, lastText: "hi"},
		{name: "money", in: settings{"price": price, "budget": settings{"money": number("2.51")}}, acts: []act{hi}, asks: 4, calls: 2, last: `budget "model default" is spent: 5.00 of 2.51 money`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner, small := play(tc.acts...), play(tc.small)
				m := compose(t, map[string]runtime.Model{"small": compose(t, nil, small, nil)}, inner, tc.in)
				start := time.Now()
				var got answer
				for range tc.asks {
					got = ask(t.Context(), m, "x")
				}
				if !strings.Contains(message(got.err), tc.last) || tc.last == "" && got.err != nil || got.text != tc.lastText {
					t.Errorf("got %q, %v; want %q, %q", got.text, got.err, tc.lastText, tc.last)
				}
				if inner.calls != tc.calls || small.calls != tc.smalls {
					t.Errorf("%d calls and %d of the fallback, want %d and %d", inner.calls, small.calls, tc.calls, tc.smalls)
				}
				if tc.took != 0 && time.Since(start).Round(time.Second) != tc.took {
					t.Errorf("took %s, want %s", time.Since(start), tc.took)
				}
			})
		})
	}
}

func TestComposedModelsChargeTheRun(t *testing.T) {
	run := spend.NewBudget("run", spend.Limits{Calls: 1})
	ctx := runtime.WithBudgets(t.Context(), run)
	inner := play(act{chunks: say("hi")})
	m := compose(t, nil, inner, nil)
	ask(ctx, m, "x")
	got := ask(ctx, m, "x")
	if spent, ok := errors.AsType[*spend.BudgetError](got.err); !ok || spent.Budget != "run" || inner.calls != 1 {
		t.Errorf("got %v after %d calls", got.err, inner.calls)
	}
}

func TestComposeRecordsAndReplays(t *testing.T) {
	t.Setenv("WRAP_TEST_KEY", "a-key-of-no-known-form")
	file := filepath.Join(t.TempDir(), "run.yaml")
	in := settings{"record": file, "retry": settings{"first": "1ms"}, "key": "env:WRAP_TEST_KEY", "headers": settings{"X-Token": "Token another-secret"}}
	inner := play(act{err: outage{text: "busy", temporary: true}}, act{chunks: say("a-key-of-no-known-form, another-secret")})
	m := compose(t, nil, inner, in)
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a file before anything was asked: %v", err)
	}
	ask(t.Context(), m, "x")
	ask(t.Context(), m, "y")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "no-known-form") || strings.Contains(string(raw), "another-secret") {
		t.Errorf("a secret is in the cassette:\n%s", raw)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the cassette has mode %v, %v", info.Mode(), err)
	}
	player := compose(t, nil, nil, settings{"replay": file, "retry": true})
	for _, text := range []string{"x", "y"} {
		if got := ask(t.Context(), player, text); got.text != "[redacted], [redacted]" || got.err != nil {
			t.Errorf("%s: got %q, %v", text, got.text, got.err)
		}
	}
	if got := ask(t.Context(), player, "z"); !strings.Contains(message(got.err), "does not know this request; next is entry 2: ask what was recorded, or remove the cassette (or record into another file) and record it again:\n") {
		t.Errorf("z: got %v", got.err)
	}
}

// A replay may be configured beside what is to record its cassette: it is asked
// for nothing, answers nothing, and nobody answers in its place until there is one.
func TestAReplayWaitsForItsCassette(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.yaml")
	player := compose(t, nil, nil, settings{"replay": file})
	other := play(act{chunks: say("from elsewhere")})
	around := wrap.Fallback(wrap.Retry(player, nil), other)
	want := "replay " + file + ": open " + file + ": no such file or directory; record it first, with record in place of replay"
	for range 2 {
		if got := ask(t.Context(), around, "x"); message(got.err) != want || other.calls != 0 || len(got.chunks) != 0 {
			t.Fatalf("before it is recorded: %v after %d calls elsewhere; want %s", got.err, other.calls, want)
		}
	}
	if err := ready(t, player); message(err) != want {
		t.Errorf("Ready = %v, want %s", err, want)
	}
	ask(t.Context(), compose(t, nil, play(act{chunks: say("hi")}), settings{"record": file}), "x")
	if got := ask(t.Context(), around, "x"); got.text != "hi" || got.err != nil {
		t.Errorf("once it is recorded: %q, %v", got.text, got.err)
	}
	if got := ask(t.Context(), player, "x"); !strings.Contains(message(got.err), "it was asked once more: remove the cassette (or record into another file) and record it again") {
		t.Errorf("a second time: %q, %v", got.text, got.err)
	}
	if err := ready(t, player); err != nil {
		t.Errorf("Ready = %v once it is recorded", err)
	}
}

func ready(t *testing.T, m runtime.Model) error {
	t.Helper()
	r, ok := runtime.As[interface{ Ready(context.Context) error }](m)
	if !ok {
		t.Fatal("a replay does not say whether it is ready")
	}
	return r.Ready(t.Context())
}

// A key of the venue may change while the venue runs.
func TestComposeKnowsTheVenuesSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.yaml")
	keys := map[string]string{"vendor": "the-first-key"}
	cfg := runtime.ModelConfig{
		Name: "default", Settings: settings{"record": file, "key": "secret:vendor", "headers": settings{"X-Token": "secret:none"}},
		Secret: func(_ context.Context, name string) (string, error) {
			if key, ok := keys[name]; ok {
				return key, nil
			}
			return "", errPlain
		},
	}
	m, err := composed(cfg, play(act{chunks: say("it is the-first-key")}, act{chunks: say("it is the-second-key")}), nil)
	if err != nil {
		t.Fatal(err)
	}
	ask(t.Context(), m, "x")
	keys["vendor"] = "the-second-key"
	ask(t.Context(), m, "is it still the-second-key?")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "-key") || strings.Count(string(raw), "it is [redacted]") != 2 {
		t.Errorf("a secret is in the cassette:\n%s", raw)
	}
}

func TestComposePrices(t *testing.T) {
	usage := runtime.Usage{Input: 1_000_000, Output: 100_000, CacheRead: 400_000, CacheWrite: 200_000}
	for _, tc := range []struct {
		name  string
		price settings
		want  int64
	}{
		{"the cache costs what input does", settings{"input": number("2.50"), "output": number("10")}, 2_500_000 + 1_000_000},
		{"or what it costs", settings{"input": number("2.50"), "output": number("10"), "cache_read": number("0.25"), "cache_write": number("3.125")}, 1_000_000 + 100_000 + 625_000 + 1_000_000},
		{"or nothing", settings{"input": number("2.50"), "output": number("10"), "cache_read": number("0"), "cache_write": number("0")}, 1_000_000 + 1_000_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := compose(t, nil, play(act{chunks: append(say("hi"), runtime.Chunk{Usage: &usage})}), settings{"price": tc.price})
			if got := ask(t.Context(), m, "x"); got.usage.Cost != tc.want {
				t.Errorf("cost %d, %v; want %d", got.usage.Cost, got.err, tc.want)
			}
		})
	}
}

// A fallback has its own price, and one that replays needs none.
func TestComposeFallbackPrices(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.yaml")
	ask(t.Context(), compose(t, nil, play(act{chunks: append(say("hi"), used(9, 9))}), settings{"record": file}), "x")
	models := map[string]runtime.Model{
		"small":    compose(t, nil, play(act{chunks: append(say("hi"), used(999_999, 1))}), settings{"price": settings{"input": number("1"), "output": number("1")}}),
		"replayed": compose(t, nil, nil, settings{"replay": file, "window": number("1000")}),
		"untold":   compose(t, nil, play(act{chunks: say("hi")}), settings{"price": settings{"input": number("1000000"), "output": number("1000000")}}),
	}
	for _, tc := range []struct {
		fallback string
		want     spend.Amount
	}{
		{"small", spend.Amount{Calls: 2, Tokens: 1_000_000, Money: 1_000_000}},
		{"replayed", spend.Amount{Calls: 1}},
		{"untold", spend.Amount{Calls: 2, Tokens: 6, Money: 6_000_000}},
	} {
		t.Run(tc.fallback, func(t *testing.T) {
			m := compose(t, models, play(act{err: errPlain}), settings{
				"fallback": tc.fallback, "price": settings{"input": number("5"), "output": number("5")}, "budget": settings{"money": number("3")},
			})
			run := spend.NewBudget("run", spend.Limits{Money: 3_000_000})
			got := ask(runtime.WithBudgets(t.Context(), run), m, "x")
			if got.text != "hi" || got.err != nil || run.Amount() != tc.want {
				t.Errorf("got %q, %v; spent %+v, want %+v", got.text, got.err, run.Amount(), tc.want)
			}
		})
	}
}

func TestLocated(t *testing.T) {
	abs := filepath.Join(t.TempDir(), "key")
	in := settings{
		"record": "run.yaml", "replay": abs, "key": "file:keys/vendor", "model": "file:x", "prompt": "run.yaml",
		"headers": settings{"A": "file:" + abs, "B": "file:b", "C": "env:C", "D": number("1")},
	}
	want := settings{
		"record": "/etc/usher/run.yaml", "replay": abs, "key": "file:/etc/usher/keys/vendor", "model": "file:x", "prompt": "run.yaml",
		"headers": settings{"A": "file:" + abs, "B": "file:/etc/usher/b", "C": "env:C", "D": number("1")},
	}
	if diff := cmp.Diff(want, wrap.Locate(in, "/etc/usher")); diff != "" {
		t.Errorf("Located (-want +got):\n%s", diff)
	}
	if in["record"] != "run.yaml" || in["headers"].(settings)["B"] != "file:b" {
		t.Errorf("the settings themselves were changed: %v", in)
	}
	for _, odd := range []settings{nil, {"record": true}, {"key": 3, "headers": "file:x"}, {"record": ""}, {"key": "file:"}} {
		if diff := cmp.Diff(odd, wrap.Locate(odd, "/etc")); diff != "" {
			t.Errorf("Located(%v):\n%s", odd, diff)
		}
	}
	if diff := cmp.Diff(in, wrap.Locate(in, "")); diff != "" {
		t.Errorf("Located in no folder:\n%s", diff)
	}
}

func TestSettingsAreAllTaken(t *testing.T) {
	in := settings{}
	for _, name := range wrap.Keys() {
		in[name] = true
	}
	if _, rest, _ := wrap.Split(in); len(rest) != 0 {
		t.Errorf("left for the provider: %v", rest)
	}
}

// Calls that share a model's budget wait for what the others hold of it.
func TestComposedBudgetsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := compose(t, nil, play(act{before: time.Second, chunks: say("hi")}), settings{"budget": settings{"calls": number("100"), "tokens": number("9000")}})
		done := make(chan answer, 3)
		for range 3 {
			go func() { done <- ask(t.Context(), m, "x") }()
		}
		for range 3 {
			if got := <-done; got.text != "hi" || got.err != nil {
				t.Errorf("got %q, %v", got.text, got.err)
			}
		}
	})
}

// What a file holds is a secret of a model as much as what stands in the settings.
func TestComposeKnowsKeysInFiles(t *testing.T) {
	dir := t.TempDir()
	file, key := filepath.Join(dir, "run.yaml"), filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("hunter"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := compose(t, nil, play(act{chunks: say("it is hunter")}), settings{"record": file, "key": "file:" + key})
	ask(t.Context(), m, "x")
	raw, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(raw), "it is [redacted]") {
		t.Errorf("the cassette is %v\n%s", err, raw)
	}
}
