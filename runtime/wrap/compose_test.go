package wrap_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/wrap"
)

type settings = map[string]any

func number(s string) json.Number { return json.Number(s) }

func compose(t *testing.T, models map[string]runtime.Model, m runtime.Model, s settings) runtime.Model {
	t.Helper()
	out, _, err := wrap.Compose(models, "default", m, s)
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
		{"misspelt key", settings{"retry": settings{"triess": number("3")}}, `model default: retry: there is no setting "triess": did you mean "tries"?`},
		{"foreign key", settings{"timeouts": settings{"whole_conversation": "3s"}}, `model default: timeouts: there is no setting "whole_conversation"; there are first_chunk, between, total`},
		{"no unit", settings{"timeouts": settings{"total": number("30")}}, `model default: timeouts.total: want a time such as 500ms, 30s or 5m, not 30`},
		{"negative time", settings{"timeouts": settings{"total": "-1s"}}, `model default: timeouts.total: want a time such as 500ms, 30s or 5m, not "-1s"`},
		{"empty section", settings{"rate_limit": settings{}}, `model default: rate_limit is empty: give a limit or remove it`},
		{"null section", settings{"retry": nil}, `model default: retry: want a mapping, true or false, not nothing`},
		{"no mapping", settings{"budget": number("3")}, `model default: budget: want a mapping, not 3`},
		{"fraction", settings{"rate_limit": settings{"per_minute": number("1.5")}}, `model default: rate_limit.per_minute: want a whole number above 0, not 1.5; leave it out for no limit of your own`},
		{"zero is not unlimited", settings{"budget": settings{"calls": number("0")}}, `model default: budget.calls: want a whole number above 0, not 0; leave it out for no limit of your own`},
		{"no money", settings{"budget": settings{"money": number("0.00")}}, `model default: budget.money: want an amount above 0; leave it out for no limit`},
		{"money too fine", settings{"budget": settings{"money": number("0.0000001")}}, `model default: budget.money: want an amount such as 2.50, with at most six decimals, not 0.0000001`},
		{"money without prices", settings{"budget": settings{"money": number("2")}}, `model default: budget: money needs a price for model default: add it under prices`},
		{"money without the fallback's price", settings{"fallback": "small", "budget": settings{"money": number("2"), "prices": settings{"default": settings{"input": number("1"), "output": number("2")}}}}, `model default: budget: money needs a price for model small: add it under prices`},
		{"half a price", settings{"budget": settings{"money": number("2"), "prices": settings{"default": settings{"input": number("1")}}}}, `model default: budget.prices.default: give the prices of input and output, for a million tokens`},
		{"burst alone", settings{"rate_limit": settings{"burst": number("3")}}, `model default: rate_limit: burst needs per_minute`},
		{"unknown fallback", settings{"fallback": "smal"}, `model default: fallback: there is no model "smal": did you mean "small"?`},
		{"empty fallback", settings{"fallback": []any{}}, `model default: fallback: the list is empty: name a model or remove it`},
		{"fallback twice", settings{"fallback": []any{"small", "small"}}, `model default: fallback: small is named twice`},
		{"fallback is no name", settings{"fallback": true}, `model default: fallback: want a model's name or a list of names, not true`},
		{"record and replay", settings{"record": "a", "replay": "b"}, `model default: record and replay exclude each other: remove one`},
		{"no file", settings{"record": true}, `model default: record: want a file name, not true`},
		{"replay of nothing", settings{"replay": filepath.Join(t.TempDir(), "none.yaml")}, `no such file`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, _, err := wrap.Compose(map[string]runtime.Model{"small": play(act{})}, "default", play(act{}), tc.in)
			if !strings.Contains(message(err), tc.want) || m != nil {
				t.Errorf("got %v, %v; want %s", m, err, tc.want)
			}
		})
	}
}

func TestComposeLeavesTheProvidersSettings(t *testing.T) {
	in := settings{"model": "gpt-x", "timeout": "3s", "retry": true, "cache": false, "budget": settings{"calls": number("1")}}
	_, rest, err := wrap.Compose(nil, "default", play(act{}), in)
	if err != nil {
		t.Fatal(err)
	}
	want := settings{"model": "gpt-x", "timeout": "3s"}
	if diff := cmp.Diff([]settings{want, want}, []settings{rest, wrap.Rest(in)}); diff != "" || len(in) != 5 {
		t.Errorf("rest (-want +got):\n%s", diff)
	}
}

// Each setting does its part, and they stand in the documented order.
func TestComposeOrder(t *testing.T) {
	busy := act{err: fault{text: "busy", temporary: true}}
	hi := act{chunks: append(say("hi"), used(1_000_000, 0))}
	price := settings{"input": number("2.50"), "output": "10"}
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
		{name: "kept answers cost nothing", in: settings{"cache": settings{"ttl": "1h", "max_entries": number("3")}, "budget": settings{"money": number("1.25"), "prices": settings{"default": price}}}, acts: []act{hi}, asks: 4, calls: 1, lastText: "hi"},
		{name: "money", in: settings{"budget": settings{"money": "2.51", "prices": settings{"default": price}}}, acts: []act{hi}, asks: 4, calls: 2, last: `budget "model default" is spent: 5.00 of 2.51 money`},
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
	run := wrap.NewBudget("run", wrap.BudgetLimits{Calls: 1})
	ctx := wrap.WithBudget(t.Context(), run)
	inner := play(act{chunks: say("hi")})
	m := compose(t, nil, inner, nil)
	ask(ctx, m, "x")
	got := ask(ctx, m, "x")
	if spent, ok := errors.AsType[*wrap.BudgetError](got.err); !ok || spent.Budget != "run" || inner.calls != 1 {
		t.Errorf("got %v after %d calls", got.err, inner.calls)
	}
}

func TestComposeRecordsAndReplays(t *testing.T) {
	t.Setenv("WRAP_TEST_KEY", "a-key-of-no-known-form")
	file := filepath.Join(t.TempDir(), "run.yaml")
	in := settings{"record": file, "retry": settings{"first": "1ms"}, "key": "env:WRAP_TEST_KEY", "headers": settings{"X-Token": "Token another-secret"}}
	inner := play(act{err: fault{text: "busy", temporary: true}}, act{chunks: say("a-key-of-no-known-form, another-secret")})
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
	if got := ask(t.Context(), player, "z"); !strings.Contains(message(got.err), "does not know this request") {
		t.Errorf("z: got %v", got.err)
	}
}

func TestOrder(t *testing.T) {
	got, err := wrap.Order(map[string]map[string]any{
		"a": {"fallback": []any{"c", "b"}}, "b": {"fallback": "d"}, "c": nil, "d": {"fallback": "given elsewhere"},
	})
	if diff := cmp.Diff([]string{"c", "d", "b", "a"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	_, err = wrap.Order(map[string]map[string]any{"a": {"fallback": "b"}, "b": {"fallback": "c"}, "c": {"fallback": "b"}})
	if want := "model b: fallback goes in a circle: b, c, b"; message(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestSettingsAreAllTaken(t *testing.T) {
	in := settings{}
	for _, name := range wrap.Settings() {
		in[name] = true
	}
	if rest := wrap.Rest(in); len(rest) != 0 {
		t.Errorf("left for the provider: %v", rest)
	}
}
