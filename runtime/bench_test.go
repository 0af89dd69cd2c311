package runtime_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"usher/caps"
	"usher/runtime"
)

// oneTool asks for one tool and then answers.
var oneTool = runtime.ModelFunc(func(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	asks := req.Messages[len(req.Messages)-1].Role != runtime.RoleTool
	return func(yield func(runtime.Chunk, error) bool) {
		if asks {
			yield(runtime.Chunk{Call: &runtime.CallDelta{ID: "c", Name: "map_read", Arguments: `{"key":"w/a"}`}}, nil)
			return
		}
		yield(runtime.Chunk{Text: "done"}, nil)
	}
})

func benchFixture(b *testing.B) (*fixture, *runtime.Runner) {
	f := newFixture(b, caps.Of(caps.MustCapability("w/", "crud/read"), caps.MustCapability("w/out/", "crud"), caps.MustCapability("g/x", "agent/message")))
	f.agent.Model = oneTool
	f.onRead = func(context.Context, string) (string, error) { f.reads = f.reads[:0]; return "value", nil }
	return f, f.runner(runtime.Options{})
}

func runTurn(tb testing.TB, r *runtime.Runner, f *fixture, s *runtime.Session) {
	for _, err := range r.Turn(tb.Context(), f.agent, s, runtime.Say{From: "alice", Text: "Read a."}) {
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkTurn is one turn with one tool call, in memory: on a fresh session,
// and with a history of turns of the same kind.
func BenchmarkTurn(b *testing.B) {
	for _, history := range []int{0, 10, 100} {
		b.Run(fmt.Sprintf("history=%d", history), func(b *testing.B) {
			f, r := benchFixture(b)
			log := new(keeper)
			past := runtime.NewSession("s", log)
			for range history {
				runTurn(b, r, f, past)
			}
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				s := runtime.NewSession("s", nil, log.entries...)
				b.StartTimer()
				runTurn(b, r, f, s)
			}
		})
	}
}

func TestTurnAllocations(t *testing.T) {
	f := newFixture(t, reader())
	f.agent.Model = oneTool
	f.onRead = func(context.Context, string) (string, error) { f.reads = f.reads[:0]; return "value", nil }
	r := f.runner(runtime.Options{})
	got := testing.AllocsPerRun(50, func() { runTurn(t, r, f, runtime.NewSession("s", nil)) })
	t.Logf("%.0f allocations", got)
	if got > 125 {
		t.Errorf("a fresh turn with one tool call makes %.0f allocations, want at most 125", got)
	}
}
