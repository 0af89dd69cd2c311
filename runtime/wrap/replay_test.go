package wrap_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/wrap"
	"usher/tools/fault"
	"usher/tools/spend"
)

// Everything that a model says comes back.
func TestReplayOfAllParts(t *testing.T) {
	usage := &runtime.Usage{Input: 100, Output: 1, CacheRead: 60, CacheWrite: 30, Cost: 1234}
	chunks := []runtime.Chunk{
		{Reasoning: "h", Model: "v-1-2026", Usage: &runtime.Usage{Input: 100}},
		{Reasoning: "m", Text: "a"},
		{Call: &runtime.CallDelta{Index: 2, ID: "c", Name: "t", Arguments: "{"}},
		{Call: &runtime.CallDelta{Index: 0, ID: "d", Name: "u"}},
		{Call: &runtime.CallDelta{Index: 2, Arguments: "}"}, Usage: usage},
		{Finish: "stop"},
	}
	want := []runtime.Chunk{
		{Reasoning: "hm"},
		{Text: "a"},
		{Call: &runtime.CallDelta{Index: 2, ID: "c", Name: "t", Arguments: "{}"}},
		{Call: &runtime.CallDelta{Index: 0, ID: "d", Name: "u"}},
		{Finish: "stop", Model: "v-1-2026", Usage: usage},
	}
	request := func(failed bool) *runtime.Request {
		return &runtime.Request{Messages: []runtime.Message{{Role: runtime.RoleTool, CallID: "c", Name: "t", Text: "no", Failed: failed}}}
	}
	var cassette bytes.Buffer
	send(t.Context(), wrap.Record(play(act{chunks: chunks}), &cassette, nil), request(true))
	player, err := wrap.Replay(&cassette, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := send(t.Context(), player, request(false)); !strings.Contains(message(got.err), "-      \"failed\": true,\n") {
		t.Errorf("a call that did not fail: %v", got.err)
	}
	got := send(t.Context(), player, request(true))
	if diff := cmp.Diff(want, got.chunks); diff != "" || got.err != nil {
		t.Errorf("%v (-recorded +replayed):\n%s", got.err, diff)
	}
}

// quota is a provider's error with a code.
type quota struct {
	Left int `json:"left"`
}

// mute is one whose JSON cannot be written.
type mute struct{ C chan int }

func (mute) Error() string    { return "no words" }
func (mute) Code() fault.Code { return fault.RateLimited }
func (m mute) Details() any   { return m }

func (quota) Error() string    { return "no quota is left" }
func (quota) Code() fault.Code { return fault.RateLimited }
func (q quota) Details() any   { return q }

func TestReplayOfErrors(t *testing.T) {
	spent := &spend.BudgetError{Budget: "run", Kind: "calls", Spent: "3", Limit: "3"}
	for _, tc := range []struct {
		name    string
		err     error
		window  bool
		code    fault.Code
		details string
	}{
		{"plain", errPlain, false, "failed", "null"},
		{"beyond the window", fmt.Errorf("400: %w", runtime.ErrWindow), true, "window", "null"},
		{"a spent budget", fmt.Errorf("after 2 tries: %w", spent), false, "budget_spent", `{"budget":"run","kind":"calls","limit":3,"spent":3}`},
		{"no price", &spend.PriceError{Budget: "b", Model: "m"}, false, "no_price", `{"budget":"b","model":"m"}`},
		{"another's code", quota{}, false, "rate_limited", `{"left":0}`},
		{"a code without details", mute{}, false, "rate_limited", "null"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var cassette bytes.Buffer
			ask(t.Context(), wrap.Record(play(act{err: tc.err}), &cassette, nil), "x")
			player, err := wrap.Replay(&cassette, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := ask(t.Context(), player, "x").err
			if message(got) != tc.err.Error() || errors.Is(got, runtime.ErrWindow) != tc.window {
				t.Errorf("got %v, of the window %t; want %v, %t", got, errors.Is(got, runtime.ErrWindow), tc.err, tc.window)
			}
			_, want := errors.AsType[*spend.BudgetError](tc.err)
			if _, ok := errors.AsType[*spend.BudgetError](got); ok != want {
				t.Errorf("a BudgetError: %t, want %t", ok, want)
			}
			replayed, _ := errors.AsType[fault.Detailer](got)
			details, err := json.Marshal(replayed.Details())
			if code := fault.Of(got); code != tc.code || string(details) != tc.details || err != nil {
				t.Errorf("code %s, details %s, %v; want %s, %s", code, details, err, tc.code, tc.details)
			}
		})
	}
}

// The error of a request that has nothing in common with the nearest stays readable.
func TestTheDifferenceIsCut(t *testing.T) {
	lines := func(word string) (text string) {
		for i := range 100 {
			text += fmt.Sprintln(word, i)
		}
		return text + "end"
	}
	var cassette bytes.Buffer
	ask(t.Context(), wrap.Record(play(act{chunks: say("a")}), &cassette, nil), lines("old"))
	player, err := wrap.Replay(&cassette, nil)
	if err != nil {
		t.Fatal(err)
	}
	unknown := ask(t.Context(), player, lines("new")).err
	if fault.Of(unknown) != fault.NotRecorded || strings.Count(unknown.Error(), "\n") != 61 || !strings.HasSuffix(unknown.Error(), " more lines of difference]") {
		t.Errorf("the difference has %d lines:\n%v", strings.Count(unknown.Error(), "\n"), unknown)
	}
}

// A run that was recorded yesterday replays today, and a changed prompt still
// does not.
func TestReplayOnAnotherDay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.yaml")
	yesterday := time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)
	const prompt = "You are Bob.\n\nCurrent date: 2026-11-20."
	recorded := compose(t, nil, reading(act{chunks: say("done")}), settings{"record": file})
	want, err := runOn(t, recorded, prompt, yesterday)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, prompt, refused string }{
		{"nothing else differs", prompt, ""},
		{"a date of one's own differs", "You are Bob.\n\nCurrent date: 2026-11-21.", "-    Current date: 2026-11-20.\n+    Current date: 2026-11-21.\n"},
		{"the prompt differs", strings.Replace(prompt, "Bob", "Rob", 1), "-  \"system\": \"You are Bob.\n+  \"system\": \"You are Rob.\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := runOn(t, compose(t, nil, nil, settings{"replay": file}), tc.prompt, yesterday.AddDate(0, 0, 1))
			if tc.refused != "" {
				if fault.Of(err) != fault.NotRecorded || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("got %v, want a difference of\n%s", err, tc.refused)
				}
				return
			}
			if diff := cmp.Diff(logged(want), logged(got)); diff != "" || err != nil {
				t.Errorf("%v; log (-recorded +replayed):\n%s", err, diff)
			}
		})
	}
}
