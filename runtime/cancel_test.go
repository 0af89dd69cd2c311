package runtime_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/runtime"
)

// stuck is an answer that gives its chunks and then hangs until it is stopped.
func stuck(chunks ...runtime.Chunk) runtime.Model {
	return runtime.ModelFunc(func(ctx context.Context, _ *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		return func(yield func(runtime.Chunk, error) bool) {
			for _, c := range chunks {
				if !yield(c, nil) {
					return
				}
			}
			<-ctx.Done()
			yield(runtime.Chunk{}, context.Cause(ctx))
		}
	})
}

// then is a model that asks the first for its first answer and the second for
// the others.
func then(first, others runtime.Model) runtime.Model {
	n := 0
	return runtime.ModelFunc(func(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		n++
		if n == 1 {
			return first.Generate(ctx, req)
		}
		return others.Generate(ctx, req)
	})
}

// phases are the moments at which a turn is stopped: model is what it asks, and
// held blocks its tools.
var phases = []struct {
	name string
	m    func(f *fixture) runtime.Model
	held bool
	open []string // results that the log then owes and gives
	said string   // that the model will find it had said
}{
	{name: "before the first token", m: func(*fixture) runtime.Model { return stuck() }},
	{name: "while it reasons", m: func(*fixture) runtime.Model { return stuck(runtime.Chunk{Reasoning: "hm"}) }},
	{name: "in the middle of a text", m: func(*fixture) runtime.Model { return stuck(runtime.Chunk{Text: "It i"}) }, said: "It i"},
	{name: "in the middle of a call", m: func(*fixture) runtime.Model {
		return stuck(runtime.Chunk{Call: &runtime.CallDelta{ID: "c", Name: "map_write", Arguments: `{"key":"w/`}})
	}},
	{name: "after a whole call", m: func(*fixture) runtime.Model {
		return stuck(runtime.Chunk{Call: &runtime.CallDelta{ID: "c", Name: "map_read", Arguments: key("w/a")}})
	}},
	{
		name: "in the middle of a tool", held: true, open: []string{"stopped"},
		m: func(f *fixture) runtime.Model {
			f.model.answers = append(f.model.answers, calls("map_read", key("w/a")))
			return f.model
		},
	},
	{
		name: "in the middle of two tools", held: true, open: []string{"stopped", "stopped"},
		m: func(f *fixture) runtime.Model {
			f.model.answers = append(f.model.answers, calls("map_read", key("w/a"), "map_read", key("w/b")))
			return f.model
		},
	},
	{name: "between calls", m: func(f *fixture) runtime.Model {
		f.model.answers = append(f.model.answers, calls("map_read", key("w/a")))
		return then(f.model, stuck())
	}},
	{name: "while it summarises", m: func(f *fixture) runtime.Model {
		return &small{window: 300, script: f.model, notes: "n", hang: true}
	}},
}

// A turn that is stopped, at whatever moment and by whatever means, says so in
// the log, leaves no goroutine, and the session goes on with a conversation
// that every provider takes.
func TestAStoppedTurnLeavesASessionThatGoesOn(t *testing.T) {
	stop := errors.New("enough")
	for _, leaves := range []bool{false, true} {
		for _, tc := range phases {
			name := tc.name + ", cancelled"
			if leaves {
				name = tc.name + ", left"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t, caps.Unrestricted())
					if tc.held {
						f.onRead = func(ctx context.Context, _ string) (string, error) {
							<-ctx.Done()
							return "", context.Cause(ctx)
						}
					}
					f.agent.Model = tc.m(f)
					log := new(keeper)
					s := runtime.NewSession("s", log, runtime.Entry{Seq: 1, Event: runtime.TurnStart{Text: strings.Repeat("Earlier. ", 150)}},
						runtime.Entry{Seq: 2, Event: runtime.ModelAnswer{Text: "Yes."}}, runtime.Entry{Seq: 3, Event: runtime.TurnEnd{}})
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					go func() {
						synctest.Wait() // until nothing moves any more: the phase is reached
						cancel(stop)
					}()
					for ev, err := range f.runner(runtime.Options{}).Turn(ctx, f.agent, s, runtime.Say{Text: "go"}) {
						if err != nil && !errors.Is(err, stop) && !errors.Is(err, context.Canceled) {
							t.Errorf("turn = %v, want %v", err, stop)
						}
						if _, started := ev.(runtime.TurnStart); !started && leaves {
							break
						}
					}
					last, ok := log.entries[len(log.entries)-1].Event.(runtime.TurnEnd)
					if !ok || last.Error == "" {
						t.Errorf("the log ends with %+v, want how the turn ended", log.entries[len(log.entries)-1].Event)
					}
					if !leaves {
						var outcomes []string
						for _, e := range log.entries {
							if done, ok := e.Event.(runtime.ToolEnd); ok && done.Outcome != runtime.ToolOK {
								outcomes = append(outcomes, done.Outcome)
							}
						}
						if diff := cmp.Diff(tc.open, outcomes); diff != "" {
							t.Errorf("outcomes that are not ok (-want +got):\n%s", diff)
						}
					}
					var said string
					for _, m := range s.Messages()[2:] {
						if m.Role == runtime.RoleAssistant {
							said += m.Text
						}
					}
					if said != tc.said {
						t.Errorf("the model is told that it said %q, want %q", said, tc.said)
					}
					f.agent.Model = &script{answers: [][]runtime.Chunk{text("On we go.")}}
					if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "go on"); err != nil {
						t.Fatalf("the next turn = %v", err)
					}
					checkConversation(t, s.Messages())
					reread := append([]runtime.Entry{
						{Seq: 1, Event: runtime.TurnStart{Text: strings.Repeat("Earlier. ", 150)}},
						{Seq: 2, Event: runtime.ModelAnswer{Text: "Yes."}},
						{Seq: 3, Event: runtime.TurnEnd{}},
					}, log.entries...)
					if diff := cmp.Diff(s.Messages(), runtime.NewSession("s", nil, reread...).Messages()); diff != "" {
						t.Errorf("conversation after reading the log (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// checkConversation holds a conversation to what providers ask of it: every
// call has its result, right after the answer that asked, and no other has.
func checkConversation(t *testing.T, messages []runtime.Message) {
	t.Helper()
	open := make(map[string]bool)
	for _, m := range messages {
		switch {
		case m.Role == runtime.RoleTool && !open[m.CallID]:
			t.Errorf("the result of %s stands without its call", m.CallID)
		case m.Role == runtime.RoleTool:
			delete(open, m.CallID)
		case len(open) > 0:
			t.Errorf("%d calls have no result before %q", len(open), m.Text)
		}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
	}
}

// A listener that takes its time holds the model up: nothing is queued.
func TestASlowListenerHoldsTheModelUp(t *testing.T) {
	f := newFixture(t, reader())
	made := 0
	f.agent.Model = runtime.ModelFunc(func(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		return func(yield func(runtime.Chunk, error) bool) {
			for range 1000 {
				made++
				if !yield(runtime.Chunk{Text: "x"}, nil) {
					return
				}
			}
		}
	})
	heard := 0
	for ev, err := range f.runner(runtime.Options{}).Turn(t.Context(), f.agent, runtime.NewSession("s", nil), runtime.Say{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.(runtime.TextDelta); ok {
			heard++
			if made != heard {
				t.Fatalf("the model made %d pieces while %d were heard", made, heard)
			}
		}
	}
	if heard != 1000 {
		t.Errorf("heard %d pieces of 1000", heard)
	}
}
