package venue_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"usher/runtime"
	"usher/tools/agents"
	"usher/venue"
)

// clerk is a model that asks for one write in each turn, where it is told that it
// may write, and then answers. It sums conversations up in a few words.
type clerk struct{}

var _ runtime.Model = clerk{}

func (clerk) About() runtime.About { return runtime.About{Window: 4000} }

func (clerk) Generate(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		last := &req.Messages[len(req.Messages)-1]
		switch {
		case strings.HasPrefix(req.System, "You keep the notes"):
			yield(runtime.Chunk{Text: "Nothing of note."}, nil)
		case last.Role == runtime.RoleTool:
			yield(runtime.Chunk{Text: "Done."}, nil)
		default:
			_, may, _ := strings.Cut(req.System, "crud on ")
			path, _, _ := strings.Cut(may, "/\n")
			yield(runtime.Chunk{Call: &runtime.CallDelta{ID: "c1", Name: "covia_write", Arguments: `{"path":"` + path + `/today","value":"water the plants"}`}}, nil)
		}
	}
}

func clerks(b *testing.B, dir string, n int) []*venue.Agent {
	b.Helper()
	v, err := venue.Open(b.Context(), &venue.Options{Dir: dir, Models: map[string]runtime.Model{"default": clerk{}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := v.Close(); err != nil {
			b.Error(err)
		}
	})
	alice := user(b, v, "alice")
	out := make([]*venue.Agent, n)
	for i := range out {
		out[i] = create(b, alice, spec(fmt.Sprintf("clerk%d", i), "", `[{"with":"w/notes`+fmt.Sprint(i)+`/","can":"crud"}]`))
	}
	return out
}

func note(b testing.TB, a *venue.Agent, session string) {
	for ev, err := range a.ChatIn(b.Context(), session, "Note it.") {
		if done, is := ev.(runtime.ToolEnd); err != nil || is && done.Outcome != runtime.ToolOK {
			b.Fatal(ev, err)
		}
	}
}

// BenchmarkTurn is one turn with one tool call through the public API: in a new
// session, and after turns in one that was summed up, so that the model gets
// requests of one size.
func BenchmarkTurn(b *testing.B) {
	for _, disk := range []bool{false, true} {
		for _, past := range []int{0, 100, 10_000} {
			if disk && past == 10_000 {
				continue
			}
			b.Run(fmt.Sprintf("disk=%t/past=%d", disk, past), func(b *testing.B) {
				dir := ""
				if disk {
					dir = b.TempDir()
				}
				a := clerks(b, dir, 1)[0]
				for range past {
					note(b, a, "main")
				}
				session := "main"
				if past == 0 {
					session = ""
				}
				b.ReportAllocs()
				for b.Loop() {
					note(b, a, session)
				}
			})
		}
	}
}

// BenchmarkSessions are 64 sessions at once on disk, all synced.
func BenchmarkSessions(b *testing.B) {
	all := clerks(b, b.TempDir(), 64)
	var next atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		a := all[int(next.Add(1))%len(all)]
		for pb.Next() {
			note(b, a, "main")
		}
	})
}

// BenchmarkSignature is what the other figures are scaled by.
func BenchmarkSignature(b *testing.B) {
	public, private, _ := ed25519.GenerateKey(nil)
	message := []byte("scale")
	signature := ed25519.Sign(private, message)
	for b.Loop() {
		if !ed25519.Verify(public, message, signature) {
			b.Fatal("it does not verify")
		}
	}
}

// BenchmarkAgentList reads a page of 100 in the middle of 100,000 agents.
func BenchmarkAgentList(b *testing.B) {
	v := open(b, &venue.Options{Models: map[string]runtime.Model{"default": clerk{}}})
	alice := user(b, v, "alice")
	for i := range 100_000 {
		create(b, alice, spec(fmt.Sprintf("agent%06d", i), "", "[]"))
	}
	for b.Loop() {
		var page agents.Listing
		out, err := alice.Invoke(b.Context(), "agent:list", agents.Query{Cursor: "agent050000"})
		if err == nil {
			err = json.Unmarshal(out, &page)
		}
		if err != nil || len(page.Agents) != 100 || page.Cursor != "agent050100" {
			b.Fatalf("%d agents, then %q, %v", len(page.Agents), page.Cursor, err)
		}
	}
}
