package cli_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"usher/runtime"
	"usher/venue/cli"
)

// ahead is a model that counts its pieces, and the reader of its answer.
type ahead struct {
	made, read atomic.Int64
	full       int64 // after so many writes the reader is gone; 0 is never
	stopped    atomic.Bool

	mu  sync.Mutex
	got strings.Builder
}

func (a *ahead) text() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.got.String()
}

const pieces = 500

func (a *ahead) Generate(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		for range pieces {
			a.made.Add(1)
			if !yield(runtime.Chunk{Text: "piece "}, nil) {
				a.stopped.Store(true)
				return
			}
		}
		yield(runtime.Chunk{Finish: "stop"}, nil)
	}
}

func (a *ahead) Write(p []byte) (int, error) {
	if read := a.read.Add(1); a.full > 0 && read > a.full {
		return 0, errors.New("nobody reads")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.got.Write(p)
}

func (a *ahead) run(t *testing.T, args ...string) int {
	t.Helper()
	file := project(t, "user: me\nstore: memory\nmodels: {default: {provider: test}}\nagents: [{id: clerk, caps: []}]\n")
	return modelled(a, a, io.Discard).Run(t.Context(), append(args, "clerk", "-c", file))
}

// streaming are the commands that write an answer while it is made. `usher run`
// writes it whole, where nobody watches it come.
var streaming = [][]string{{"run", "--json"}, {"chat"}, {"chat", "--json"}}

// Whoever reads an answer while it is made gets all of it, however slowly it is
// read: the model waits for nobody.
func TestASlowReaderGetsTheWholeAnswer(t *testing.T) {
	for _, args := range streaming {
		a := new(ahead)
		if status := a.run(t, args...); status != cli.ExitOK {
			t.Fatalf("%v: status %d", args, status)
		}
		if got := strings.Count(a.text(), "piece "); a.made.Load() != pieces || got < pieces {
			t.Errorf("%v: %d of %d pieces were written", args, got, a.made.Load())
		}
	}
}

func TestATurnEndsWithItsReader(t *testing.T) {
	for _, args := range streaming {
		a := &ahead{full: 1}
		if status := a.run(t, args...); status != cli.ExitFailed {
			t.Errorf("%v: status %d, want a failure", args, status)
		}
		if !a.stopped.Load() && a.made.Load() != pieces {
			t.Errorf("%v: the model was left after %d pieces", args, a.made.Load())
		}
	}
}

// slow fails for now, once, and answers then.
type slow struct{ calls atomic.Int64 }

type tooMany struct{}

func (tooMany) Error() string   { return "429 too many requests" }
func (tooMany) Temporary() bool { return true }

func (s *slow) Generate(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		if s.calls.Add(1) == 1 {
			yield(runtime.Chunk{}, tooMany{})
			return
		}
		yield(runtime.Chunk{Text: "hello", Finish: "stop"}, nil)
	}
}

// Whoever waits for a model that is asked again is told so.
func TestAWaitIsShown(t *testing.T) {
	for _, tc := range []struct {
		name, settings, json, want string
	}{
		{"asked again", "retry: {first: 1ms}", "", "429 too many requests: trying again in 100ms (try 2 of 4)\n"},
		{"another is asked", "fallback: spare", "", "429 too many requests: asking spare instead\n"},
		{"asked again, as JSON", "retry: {first: 1ms}", "--json", `{"type":"model_delayed","reason":"429 too many requests","waitMs":`},
		{"another is asked, as JSON", "fallback: spare", "--json", `"waitMs":0,"model":"spare"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := project(t, "user: me\nstore: memory\nmodels: {default: {provider: test, "+tc.settings+"}, spare: {provider: test}}\nagents: [{id: clerk, caps: []}]\n")
			args := []string{"run", "clerk", "hi", "-c", file}
			if tc.json != "" {
				args = append(args, tc.json)
			}
			var out, log strings.Builder
			if status := modelled(new(slow), &out, &log).Run(t.Context(), args); status != cli.ExitOK {
				t.Fatalf("status %d\n%s", status, log.String())
			}
			shown := log.String()
			if tc.json != "" {
				shown = out.String()
			}
			if !strings.Contains(shown, tc.want) {
				t.Errorf("shown:\n%s\nwant %q", shown, tc.want)
			}
			if !strings.Contains(out.String(), "hello") {
				t.Errorf("the answer is missing: %q", out.String())
			}
		})
	}
}
