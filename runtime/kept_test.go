package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
)

// past is a log that is written by hand.
type past []runtime.Entry

func (p *past) add(events ...runtime.Event) {
	for _, ev := range events {
		*p = append(*p, runtime.Entry{Seq: uint64(len(*p)) + 1, Event: ev})
	}
}

func (p *past) call(done runtime.ToolEnd, arguments string) {
	done.CallID, done.Name = fmt.Sprint("c", len(*p)), "t"
	p.add(runtime.ModelAnswer{Calls: []runtime.ToolCall{{ID: done.CallID, Name: done.Name, Arguments: arguments}}}, done)
}

func denied(resource string) runtime.ToolEnd {
	return runtime.ToolEnd{Outcome: runtime.ToolDenied, Result: `{"operation":"v/ops/t","ability":"crud/read","resource":"` + resource + `"}`}
}

// shortened goes on with the log until it is summed up, and returns the log
// with what was added, and the last summary.
func shortened(t *testing.T, p past, m small) (past, runtime.Compaction) {
	t.Helper()
	f := newFixture(t, reader(), text("ok"))
	f.long(&m)
	log := &keeper{entries: p}
	if _, err := turn(t, f.runner(runtime.Options{MaxModelCalls: 100}), f.agent, runtime.NewSession("s", log, p...), "go on"); err != nil {
		t.Fatal(err)
	}
	var last runtime.Compaction
	for _, e := range log.entries[len(p):] {
		if c, ok := e.Event.(runtime.Compaction); ok {
			last = c
		}
	}
	if last.Summary == "" {
		t.Fatal("nothing was summed up: the test is too small")
	}
	return log.entries, last
}

func textsOf(c runtime.Compaction, kind string) []string {
	var out []string
	for _, k := range c.Kept {
		if k.Kind == kind {
			out = append(out, k.Text)
		}
	}
	return out
}

// Beyond the bounds the newest is kept: what was asked last is what matters.
func TestTheNewestIsKept(t *testing.T) {
	var p past
	for i := range 200 {
		p.add(runtime.TurnStart{Text: fmt.Sprint("task ", i)})
		p.call(runtime.ToolEnd{Outcome: runtime.ToolStopped, Result: "{}"}, fmt.Sprint(i))
		p.call(denied(fmt.Sprint("w/", i)), "{}")
		p.add(runtime.TurnEnd{Error: "no"})
	}
	p.add(runtime.ModelAnswer{Text: filler})
	_, c := shortened(t, p, small{window: 3000, notes: "Notes."})
	for _, tc := range []struct {
		kind        string
		n           int
		first, last string
	}{
		{"task", 32, "task 168", "task 199"},
		{"open", 32, "t 168: stopped, its effect is unknown", "t 199: stopped, its effect is unknown"},
		{"denial", 33, "Capability denied: v/ops/t requires crud/read", "Capability denied: v/ops/t requires crud/read on w/199."},
	} {
		got := textsOf(c, tc.kind)
		if len(got) != tc.n || got[0] != tc.first || got[len(got)-1] != tc.last {
			t.Errorf("%s: %d are kept, from %q to %q; want %d, from %q to %q", tc.kind, len(got), got[0], got[len(got)-1], tc.n, tc.first, tc.last)
		}
	}
}

// However often denials are gathered, none is lost from their count.
func TestGatheredDenialsAddUp(t *testing.T) {
	var p past
	for round := range 3 {
		p.add(runtime.TurnStart{Text: "start"})
		for i := range 100 {
			p.call(denied(fmt.Sprint("w/", round, "/", i)), "{}")
		}
		p.add(runtime.ModelAnswer{Text: filler})
		p.add(runtime.TurnEnd{Text: filler})
		var c runtime.Compaction
		p, c = shortened(t, p, small{window: 3000, notes: "Notes."})
		sum := 0
		for _, k := range c.Kept {
			if k.Kind == "denial" {
				sum += max(k.Count, 1)
			}
		}
		if want := 100 * (round + 1); sum != want {
			t.Errorf("after %d refusals the summary counts %d", want, sum)
		}
	}
}

// What the last turn was asked is kept whole, however long it is.
func TestALongTaskOfARunningTurnIsKeptWhole(t *testing.T) {
	var answers [][]runtime.Chunk
	for i := range 6 {
		answers = append(answers, calls("map_read", key(fmt.Sprintf("w/%d", i))))
	}
	f := newFixture(t, reader(), append(answers, text("Done."))...)
	f.onRead = func(context.Context, string) (string, error) { return strings.Repeat(filler, 3), nil }
	m := f.long(&small{window: 20_000, notes: "Notes."})
	task := "Begin. " + strings.Repeat("x", 20_000) + " And at the end tell Dave."
	s := runtime.NewSession("s", nil)
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, task); err != nil {
		t.Fatal(err)
	}
	if len(m.noted) == 0 {
		t.Fatal("nothing was summed up: the test is too small")
	}
	for i, req := range f.model.requests {
		if !strings.Contains(req.Messages[0].Text, task) {
			t.Errorf("request %d has not all of the task: %.200q", i, req.Messages[0].Text)
		}
	}
}

// A call whose effect is unknown is kept in few words.
func TestAStoppedCallIsKept(t *testing.T) {
	var p past
	p.add(runtime.TurnStart{Text: "start"})
	p.call(runtime.ToolEnd{Outcome: runtime.ToolStopped, Result: "{}"}, strings.Repeat("y", 501))
	p.add(runtime.ModelAnswer{Text: filler}, runtime.TurnEnd{})
	_, c := shortened(t, p, small{window: 1200, notes: "Notes."})
	want := []string{"t " + strings.Repeat("y", 497) + "…: stopped, its effect is unknown"}
	if diff := cmp.Diff(want, textsOf(c, "open")); diff != "" {
		t.Errorf("open calls (-want +got):\n%s", diff)
	}
}

// A task that is too long to be kept whole is forgotten with its answer, too;
// and the same words of somebody else are the same task.
func TestAnAnswerForgetsEarlierTries(t *testing.T) {
	long := strings.Repeat("x", 9<<10)
	for _, tc := range []struct {
		name string
		end  runtime.TurnEnd
		want []string
	}{
		{"answered", runtime.TurnEnd{}, nil},
		{"failed again", runtime.TurnEnd{Error: "no"}, []string{long[:8<<10-3] + "…", long[:8<<10-3] + "…"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var p past
			p.add(runtime.TurnStart{Text: long}, runtime.TurnEnd{Error: "no"}, runtime.ModelAnswer{Text: filler + filler + filler})
			p, _ = shortened(t, p, small{window: 5000, notes: "Notes."})
			p.add(runtime.TurnStart{Text: long}, runtime.ModelAnswer{Text: "yes" + filler + filler + filler}, tc.end)
			_, c := shortened(t, p, small{window: 5000, notes: "Notes."})
			if diff := cmp.Diff(tc.want, textsOf(c, "task")); diff != "" {
				t.Errorf("tasks (-want +got):\n%s", diff)
			}
		})
	}
}

// A refusal is kept once, however often it was met, at its newest place; and in
// few words where it does not say what it refused.
func TestARefusalIsKeptOnce(t *testing.T) {
	var p past
	p.add(runtime.TurnStart{Text: "start"})
	for _, resource := range []string{"w/a", "w/b", "w/a"} {
		p.call(denied(resource), "{}")
	}
	p.call(runtime.ToolEnd{Outcome: runtime.ToolDenied, Result: strings.Repeat("x", 501)}, "{}")
	p.call(runtime.ToolEnd{Outcome: runtime.ToolDenied, Result: `{"operation":"v/ops/t","ability":"invoke"}`}, "{}")
	p.add(runtime.ModelAnswer{Text: filler}, runtime.TurnEnd{})
	_, c := shortened(t, p, small{window: 1200, notes: "Notes."})
	want := []string{
		"Capability denied: v/ops/t requires crud/read on w/b.", "Capability denied: v/ops/t requires crud/read on w/a.",
		strings.Repeat("x", 497) + "…", "Capability denied: v/ops/t requires invoke.",
	}
	if diff := cmp.Diff(want, textsOf(c, "denial")); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}
