package wrap_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/wrap"
	"usher/tools/spend"
)

// Everything that a model says comes back.
func TestReplayOfAllParts(t *testing.T) {
	chunks := []runtime.Chunk{
		{Reasoning: "hm", Model: "v-1-2026"},
		{Text: "a", Usage: &runtime.Usage{Input: 100, Output: 1, CacheRead: 60, CacheWrite: 30, Cost: 1234}},
		{Call: &runtime.CallDelta{Index: 2, ID: "c", Name: "t", Arguments: "{}"}},
		{Finish: "stop"},
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
	if got := send(t.Context(), player, request(false)); !strings.Contains(message(got.err), "-      failed: true\n") {
		t.Errorf("a call that did not fail: %v", got.err)
	}
	got := send(t.Context(), player, request(true))
	if diff := cmp.Diff(chunks, got.chunks); diff != "" || got.err != nil {
		t.Errorf("%v (-recorded +replayed):\n%s", got.err, diff)
	}
}

// The golden cassette is one of before there were prices.
func TestOldCassettesRead(t *testing.T) {
	f, err := os.Open(filepath.Join("testdata", "run.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	player, err := wrap.Replay(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, player, "You are Bob."); err != nil || player.Left() != 0 {
		t.Errorf("%v, %d answers left", err, player.Left())
	}
}

// quota is a provider's error with a code.
type quota struct {
	Left int `json:"left"`
}

// mute is one whose JSON cannot be written.
type mute struct{ C chan int }

func (mute) Error() string { return "no words" }
func (mute) Code() string  { return "mute" }

func (quota) Error() string { return "no quota is left" }
func (quota) Code() string  { return "quota" }

func TestReplayOfErrors(t *testing.T) {
	spent := &spend.BudgetError{Budget: "run", Kind: "calls", Spent: 3, Limit: 3}
	for _, tc := range []struct {
		name    string
		err     error
		window  bool
		code    string
		details string
	}{
		{"plain", errPlain, false, "", ""},
		{"beyond the window", fmt.Errorf("400: %w", runtime.ErrWindow), true, "", ""},
		{"a spent budget", fmt.Errorf("after 2 tries: %w", spent), false, "budget_spent", `{"budget":"run","kind":"calls","spent":3,"limit":3}`},
		{"another's code", quota{}, false, "quota", `{"left":0}`},
		{"a code without details", mute{}, false, "mute", "{}"},
		{"both", errors.Join(runtime.ErrWindow, &spend.PriceError{Budget: "b", Model: "m"}), true, "no_price", `{"budget":"b","model":"m"}`},
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
			var coded runtime.Coded
			if errors.As(got, &coded) != (tc.code != "") {
				t.Fatalf("%v has a code: %t", got, coded != nil)
			}
			if tc.code == "" {
				return
			}
			_, want := errors.AsType[*spend.BudgetError](tc.err)
			if _, ok := errors.AsType[*spend.BudgetError](got); ok != want {
				t.Errorf("a BudgetError: %t, want %t", ok, want)
			}
			details, err := json.Marshal(coded)
			if coded.Code() != tc.code || string(details) != tc.details || err != nil {
				t.Errorf("code %s, details %s, %v; want %s, %s", coded.Code(), details, err, tc.code, tc.details)
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
	unknown, ok := errors.AsType[*wrap.UnknownRequestError](ask(t.Context(), player, lines("new")).err)
	if !ok || strings.Count(unknown.Diff, "\n") != 60 || !strings.HasSuffix(unknown.Diff, " more lines of difference]") {
		t.Errorf("the difference has %d lines:\n%s", strings.Count(unknown.Diff, "\n"), unknown.Diff)
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
		{"the prompt differs", strings.Replace(prompt, "Bob", "Rob", 1), "-    You are Bob.\n+    You are Rob.\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := runOn(t, compose(t, nil, nil, settings{"replay": file}), tc.prompt, yesterday.AddDate(0, 0, 1))
			if tc.refused != "" {
				if _, ok := errors.AsType[*wrap.UnknownRequestError](err); !ok || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("got %v, want a difference of\n%s", err, tc.refused)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v; events (-recorded +replayed):\n%s", err, diff)
			}
		})
	}
}
