package runtime_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
)

// resumed goes on with the turn that rests in s.
func resumed(ctx context.Context, r *runtime.Runner, a *runtime.Agent, s *runtime.Session) (last runtime.TurnEnd, err error) {
	if !s.Claim() {
		return last, errors.New("no turn rests")
	}
	for ev, failed := range r.Resume(ctx, a, s) {
		if end, ok := ev.(runtime.TurnEnd); ok {
			last = end
		}
		err = failed
	}
	return last, err
}

// said is what a log comes to, beside how often it was gone on with.
func said(entries []runtime.Entry) (out []runtime.Event) {
	for _, e := range entries {
		if _, again := e.Event.(runtime.TurnResume); !again {
			out = append(out, e.Event)
		}
	}
	return out
}

// A turn that was cut after any event of its log goes on from there: what the log has
// is not asked for again, and it comes to the same.
func TestResumeFromEachEvent(t *testing.T) {
	script := [][]runtime.Chunk{calls("map_read", key("w/a"), "map_read", key("w/b")), calls("map_read", key("w/c")), text("done")}
	whole := new(keeper)
	f := newFixture(t, reader(), script...)
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", whole), "go"); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(whole.entries); n++ {
		if _, group := whole.entries[n].Event.(runtime.ToolStart); group && n == 3 {
			continue // the intents of calls that run side by side are written together
		}
		log := &keeper{entries: slices.Clone(whole.entries[:n])}
		answered := 0
		for _, e := range log.entries {
			if _, ok := e.Event.(runtime.ModelAnswer); ok {
				answered++
			}
		}
		g := newFixture(t, reader(), script[answered:]...)
		s := runtime.NewSession("s", log, log.entries...)
		end, err := resumed(t.Context(), g.runner(runtime.Options{}), g.agent, s)
		if err != nil || end.Text != "done" || end.Calls != 3 {
			t.Errorf("cut after event %d: the turn ends with %+v, %v; want done, after 3 calls of the model", n, end, err)
		}
		if len(g.model.requests) != 3-answered {
			t.Errorf("cut after event %d: the model is asked %d times more, want %d", n, len(g.model.requests), 3-answered)
		}
		if diff := cmp.Diff(said(whole.entries), said(log.entries)); diff != "" {
			t.Errorf("cut after event %d: the log (-uncut +cut):\n%s", n, diff)
		}
		if _, err := turn(t, g.runner(runtime.Options{}), g.agent, s, "more"); strings.Contains(err.Error(), "waits") {
			t.Errorf("cut after event %d: the session takes no other turn: %v", n, err)
		}
	}
}

// What began and may not be made twice is not: the model is told that nobody knows.
func TestResumeAfterAnEffect(t *testing.T) {
	for _, tc := range []struct {
		name             string
		idempotent, asks bool
		outcome          string
		written          int
	}{
		{"once", false, false, runtime.ToolUnknown, 0},
		{"idempotent", true, false, runtime.ToolOK, 1},
		{"not begun", false, true, runtime.ToolOK, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			call := runtime.ToolCall{ID: "c0", Name: "map_write", Arguments: key("w/a")}
			log := new(keeper)
			for i, ev := range []runtime.Event{
				runtime.TurnStart{Text: "go"}, runtime.ModelAnswer{Calls: []runtime.ToolCall{call}}, runtime.ToolStart{Call: call, Idempotent: tc.idempotent},
			} {
				log.entries = append(log.entries, runtime.Entry{Seq: uint64(i) + 1, Event: ev})
			}
			f := newFixture(t, caps.Unrestricted(), text("done"))
			var at tools.At
			r := f.runner(runtime.Options{Unbegun: func(_ context.Context, _ tools.Authority, asked tools.At) bool { at = asked; return tc.asks }})
			if _, err := resumed(t.Context(), r, f.agent, runtime.NewSession("s", log, log.entries...)); err != nil {
				t.Fatal(err)
			}
			var got runtime.ToolEnd
			for _, e := range log.entries {
				if ev, ok := e.Event.(runtime.ToolEnd); ok {
					got = ev
				}
			}
			if got.Outcome != tc.outcome || got.CallID != "c0" {
				t.Errorf("the call ends as %+v, want %s", got, tc.outcome)
			}
			if want := (tools.At{Event: 2, N: 1}); !tc.idempotent && at != want {
				t.Errorf("the venue is asked of the call at %v, want %v", at, want)
			}
			if tc.outcome == runtime.ToolUnknown && !strings.Contains(f.model.requests[0].Messages[2].Text, "look before you repeat it") {
				t.Errorf("the model is told %q", f.model.requests[0].Messages[2].Text)
			}
		})
	}
}

// A call that waits lets the turn rest, after the calls beside it; nothing that comes
// after it begins before it has come to its end.
func TestACallThatWaits(t *testing.T) {
	f := newFixture(t, caps.Unrestricted(), calls("map_read", key("w/a"), "map_read", key("w/b"), "map_write", key("w/b")), text("done"))
	waits := true
	f.onRead = func(_ context.Context, key string) (string, error) {
		if key == "w/b" && waits {
			return "", &tools.WaitError{Call: "reading w/b", Run: "r9"}
		}
		return key, nil
	}
	log := new(keeper)
	s := runtime.NewSession("s", log)
	r := f.runner(runtime.Options{})
	_, err := turn(t, r, f.agent, s, "go")
	rest, ok := errors.AsType[*runtime.RestError](err)
	if !ok || len(rest.Waits) != 1 || rest.Waits[0] != (runtime.Wait{CallID: "c1", Name: "map_read", Run: "r9", Text: "reading w/b waits for run r9"}) {
		t.Fatalf("the turn ends with %v, want that it waits for r9", err)
	}
	spent := f.agent.Authority.Meter().Amounts()
	if last := log.entries[len(log.entries)-1].Event; !cmp.Equal(last, runtime.Event(runtime.TurnRest{Waits: rest.Waits, Spent: &spent})) {
		t.Errorf("the log ends with %+v", last)
	}
	if _, err := turn(t, r, f.agent, s, "hello?"); fault.Of(err) != fault.Waiting {
		t.Errorf("another turn ends with %v, want that it has to wait", err)
	}
	waits = false
	if end, err := resumed(t.Context(), r, f.agent, s); err != nil || end.Text != "done" {
		t.Fatalf("the turn ends with %+v, %v", end, err)
	}
	var results []string
	for _, e := range log.entries {
		if done, ok := e.Event.(runtime.ToolEnd); ok {
			results = append(results, done.CallID+" "+done.Result)
		}
	}
	if want := []string{`c0 "w/a"`, `c1 "w/b"`, `c2 true`}; !slices.Equal(results, want) {
		t.Errorf("the calls come to %q, want %q", results, want)
	}
	if _, err := resumed(t.Context(), r, f.agent, s); err == nil || !strings.Contains(err.Error(), "no turn rests") {
		t.Errorf("a turn that has ended is gone on with: %v", err)
	}
}

// A turn that shall rest does so at once where it waits for its model, and goes on
// with the same question.
func TestPark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, reader())
		f.agent.Model = runtime.ModelFunc(func(ctx context.Context, _ *runtime.Request) iter.Seq2[runtime.Chunk, error] {
			return func(yield func(runtime.Chunk, error) bool) {
				<-ctx.Done()
				yield(runtime.Chunk{}, ctx.Err())
			}
		})
		s := runtime.NewSession("s", new(keeper))
		r := f.runner(runtime.Options{})
		ended := make(chan error)
		go func() {
			_, err := turn(t, r, f.agent, s, "go")
			ended <- err
		}()
		synctest.Wait()
		s.Park()
		if err := <-ended; fault.Of(err) != fault.Waiting || err.Error() != "the turn rests: it goes on when the venue is opened again" {
			t.Errorf("the turn ends with %v, want that it rests", err)
		}
	})
}
