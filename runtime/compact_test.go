package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"usher/caps"
	"usher/runtime"
)

// small is a model with a small window: it refuses what does not fit, writes
// notes where it is asked for them, and otherwise answers by its script.
type small struct {
	*script
	window  int    // that it tells; 0 tells nothing
	refuses int    // tokens above which it refuses; 0 is never
	notes   string // that it writes; may be empty
	hang    bool   // it begins notes and never ends them
	counts  int    // what CountTokens says; 0 is no answer

	counted int
	noted   []runtime.Request
}

func (m *small) About() runtime.About { return runtime.About{Window: m.window} }

func (m *small) CountTokens(context.Context, *runtime.Request) (int, error) {
	m.counted++
	if m.counts == 0 {
		return 0, errors.New("not today")
	}
	return m.counts, nil
}

func (m *small) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	if n := runtime.EstimateTokens(req); m.refuses > 0 && n > m.refuses {
		return func(yield func(runtime.Chunk, error) bool) {
			yield(runtime.Chunk{}, fmt.Errorf("%d tokens: %w", n, runtime.ErrWindow))
		}
	}
	if isNotes(req) {
		m.noted = append(m.noted, *req)
		if m.hang {
			return stuck(runtime.Chunk{Text: m.notes}).Generate(ctx, req)
		}
		return func(yield func(runtime.Chunk, error) bool) {
			yield(runtime.Chunk{Text: m.notes, Usage: &runtime.Usage{Input: 10, Output: 1}}, nil)
		}
	}
	return m.script.Generate(ctx, req)
}

func isNotes(req *runtime.Request) bool { return strings.HasPrefix(req.System, "You keep the notes") }

// long gives the fixture a small model and returns it.
func (f *fixture) long(m *small) *small {
	m.script = f.model
	f.agent.Model = m
	return m
}

// says is a session in which much was said, and the turns of it that failed.
func says(t *testing.T, f *fixture, turns ...string) (*runtime.Session, *keeper) {
	t.Helper()
	log := new(keeper)
	s := runtime.NewSession("s", log)
	for _, say := range turns {
		_, err := turn(t, f.runner(runtime.Options{}), f.agent, s, say)
		if failed := strings.HasPrefix(say, "fail"); failed != (err != nil) {
			t.Fatalf("turn %q = %v", say, err)
		}
	}
	return s, log
}

var filler = strings.Repeat("Invoice lines and what was found of them. ", 100) // about 1,000 tokens

func TestAConversationThatOutgrowsTheWindowIsSummarised(t *testing.T) {
	for _, tc := range []struct {
		name string
		m    small
	}{
		{"where the window is known", small{window: 4000, notes: "We spoke of invoices."}},
		{"where the provider says so", small{refuses: 2300, notes: "We spoke of invoices."}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t, caps.Of(caps.MustCapability("w/mine", "crud/read")),
				text("One."+filler), calls("map_read", key("w/theirs")), text("No."+filler), text("Three."), text("Four."))
			m := f.long(&tc.m)
			s, log := says(t, f, "first "+filler, "read theirs", "third", "fourth")
			kinds := make(map[string]int)
			var compacted runtime.Compaction
			for _, e := range log.entries {
				kinds[fmt.Sprintf("%T", e.Event)]++
				if c, ok := e.Event.(runtime.Compaction); ok {
					compacted = c
				}
			}
			if kinds["runtime.Compaction"] != 1 || kinds["runtime.TurnEnd"] != 4 {
				t.Fatalf("events: %v, want one compacted and four turns", kinds)
			}
			if n := len(m.noted); n == 0 || compacted.Usage != (runtime.Usage{Input: 10 * n, Output: n}) || compacted.Calls != n {
				t.Errorf("compacted took %d calls, %+v; the model was asked for notes %d times", compacted.Calls, compacted.Usage, len(m.noted))
			}
			messages := s.Messages()
			var told strings.Builder
			for _, m := range messages {
				told.WriteString(m.Text + "\n")
			}
			for _, want := range []string{"> We spoke of invoices.", "Capability denied: v/ops/map/read requires crud/read on w/theirs."} {
				if !strings.Contains(told.String(), want) {
					t.Errorf("the conversation lacks %q:\n%s", want, told.String())
				}
			}
			if strings.Contains(messages[0].Text, "Asked of you") {
				t.Errorf("the summary holds tasks that were answered:\n%s", messages[0].Text)
			}
			if last := messages[len(messages)-1].Text; last != "Four." {
				t.Errorf("the conversation ends with %q", last)
			}
			if diff := cmp.Diff(messages, runtime.NewSession("s", nil, log.entries...).Messages()); diff != "" {
				t.Errorf("conversation after reading the log (-want +got):\n%s", diff)
			}
		})
	}
}

// The tasks of turns that failed outlive any number of summaries; what was
// answered, at whichever try, does not.
func TestTasksWithoutAnAnswerAreKept(t *testing.T) {
	f := newFixture(t, reader(),
		calls("map_read", key("w/job")), text("Started."+filler),
		text("Yes."+filler), text("Yes."+filler),
		calls("map_read", key("w/a")), calls("map_read", key("w/b")), text("Done."),
		text("Later."+filler), text("Later."+filler), text("End."))
	f.onRead = func(_ context.Context, key string) (string, error) { return key + filler, nil }
	works := f.long(&small{window: 3000, notes: "Notes."})
	fails := runtime.ModelFunc(func(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		return func(yield func(runtime.Chunk, error) bool) { yield(runtime.Chunk{}, errors.New("the line is dead")) }
	})
	s := runtime.NewSession("s", nil)
	run := func(say string, m runtime.Model) {
		t.Helper()
		f.agent.Model = m
		_, err := turn(t, f.runner(runtime.Options{}), f.agent, s, say)
		if _, works := m.(*small); works != (err == nil) {
			t.Fatalf("turn %q = %v", say, err)
		}
	}
	run("Start the job.", works)
	run("Pay Kestrel by Friday.", fails)
	run("Ask again later.", fails)
	run("Ask again later.", works)
	run("And this.", works)
	if !strings.Contains(s.Messages()[0].Text, "- Pay Kestrel by Friday.") || strings.Contains(s.Messages()[0].Text, "- Ask again later.") {
		t.Errorf("after turns of which one has no answer, the summary is:\n%s", s.Messages()[0].Text)
	}
	run("The long task.", works)
	for range 3 {
		run("More.", works)
	}
	got := s.Messages()[0].Text
	if !strings.Contains(got, "- Pay Kestrel by Friday.") {
		t.Errorf("a task without an answer was lost:\n%s", got)
	}
	if strings.Contains(got, "The long task.") {
		t.Errorf("a task that was answered is kept:\n%s", got)
	}
}

// In the middle of a long turn its own task is kept word for word, and results
// that the model has not seen are not summarised away.
func TestALongTurnKeepsItsTask(t *testing.T) {
	var answers [][]runtime.Chunk
	for i := range 6 {
		answers = append(answers, calls("map_read", key(fmt.Sprintf("w/%d", i))))
	}
	f := newFixture(t, reader(), append(answers, text("Done."))...)
	f.onRead = func(_ context.Context, key string) (string, error) { return key + " " + filler, nil }
	f.long(&small{window: 4000, notes: "Notes."})
	s := runtime.NewSession("s", nil)
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "Read all of w/ and compare."); err != nil {
		t.Fatal(err)
	}
	shortened := 0
	for i, req := range f.model.requests {
		first, last := req.Messages[0].Text, req.Messages[len(req.Messages)-1]
		if strings.HasPrefix(first, "[Summary") {
			shortened++
		}
		if !strings.Contains(first, "Read all of w/ and compare.") {
			t.Errorf("request %d begins with %q: the task is lost", i, first)
		}
		if i > 0 && !strings.Contains(last.Text, fmt.Sprintf("w/%d ", i-1)) {
			t.Errorf("request %d ends with %.30q, want the newest result", i, last.Text)
		}
	}
	if shortened == 0 {
		t.Error("nothing was summarised: the test is too small")
	}
}

func TestWhatCannotBeShortened(t *testing.T) {
	for _, tc := range []struct {
		name string
		m    small
		want error
	}{
		{"one message that is too long", small{refuses: 200, notes: "n"}, runtime.ErrWindow},
		{"a provider that refuses everything", small{refuses: 1, notes: "n"}, runtime.ErrWindow},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t, reader(), text("ok"))
			m := f.long(&tc.m)
			s := runtime.NewSession("s", nil)
			_, err := turn(t, f.runner(runtime.Options{}), f.agent, s, filler)
			if !errors.Is(err, tc.want) {
				t.Fatalf("turn = %v, want %v", err, tc.want)
			}
			m.refuses = 0
			if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "shorter"); err != nil {
				t.Errorf("the session does not go on: %v", err)
			}
		})
	}
	t.Run("a message beyond the window is not sent", func(t *testing.T) {
		f := newFixture(t, reader(), text("ok"))
		m := f.long(&small{window: 300, notes: "n"})
		_, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), filler)
		if !errors.Is(err, runtime.ErrWindow) || len(m.requests)+len(m.noted) > 0 {
			t.Errorf("turn = %v after %d requests, want %v after none", err, len(m.requests)+len(m.noted), runtime.ErrWindow)
		}
	})
	t.Run("a result beyond the window is not paid for", func(t *testing.T) {
		f := newFixture(t, reader(), calls("map_read", key("w/a")), text("ok"))
		m := f.long(&small{window: 700, notes: "n"})
		f.onRead = func(context.Context, string) (string, error) { return filler, nil }
		_, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "What is the policy?")
		if !errors.Is(err, runtime.ErrWindow) || !strings.Contains(err.Error(), "limits.tool_result") || len(m.requests) != 1 || len(m.noted) > 0 {
			t.Errorf("turn = %v after %d requests and %d for notes, want %v after one", err, len(m.requests), len(m.noted), runtime.ErrWindow)
		}
	})
	t.Run("a model that writes no notes", func(t *testing.T) {
		f := newFixture(t, reader(), text("One."+filler), text("Two."))
		m := f.long(&small{})
		s, _ := says(t, f, "first "+filler)
		m.window = 2000
		before := s.Messages()
		if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "second"); err == nil || !strings.Contains(err.Error(), "wrote no summary") {
			t.Errorf("turn = %v, want that there is no summary", err)
		}
		if diff := cmp.Diff(before, s.Messages()[:len(before)]); diff != "" {
			t.Errorf("something was lost (-want +got):\n%s", diff)
		}
	})
}

// What is to be summarised may itself be too long for one request.
func TestASummaryInPieces(t *testing.T) {
	f := newFixture(t, reader(), text("1 "+filler), text("2 "+filler), text("3 "+filler), text("done"))
	m := f.long(&small{notes: "Notes of a piece."})
	s, _ := says(t, f, "a "+filler, "b "+filler, "c "+filler)
	m.refuses = 2500
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "go on"); err != nil {
		t.Fatal(err)
	}
	if len(m.noted) < 2 {
		t.Fatalf("the notes were written in %d requests, want several", len(m.noted))
	}
	if later := m.noted[len(m.noted)-1].Messages[0].Text; !strings.Contains(later, "Notes of a piece.") {
		t.Errorf("a later piece was summarised without the notes so far: %.200s", later)
	}
	var all strings.Builder
	for _, req := range m.noted {
		all.WriteString(req.Messages[0].Text)
	}
	for _, want := range []string{"a Invoice", "1 Invoice", "b Invoice"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no piece holds %q", want)
		}
	}
}

func TestTheProvidersCountWins(t *testing.T) {
	f := newFixture(t, reader(), text("One."+filler), text("Two."), text("Three."))
	m := f.long(&small{window: 100_000, notes: "Notes."})
	s, _ := says(t, f, "first "+filler)
	if m.counted > 0 {
		t.Errorf("it was asked %d times although the estimate is far below the window", m.counted)
	}
	m.window, m.counts = 4400, 100 // the estimate says that it is nearly full, the provider that it is not
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, filler); err != nil {
		t.Fatal(err)
	}
	if m.counted != 1 || len(m.noted) > 0 {
		t.Errorf("counted %d times, notes %d times; want once and never", m.counted, len(m.noted))
	}
	m.counts = 4000
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "more"); err != nil {
		t.Fatal(err)
	}
	if len(m.noted) != 1 {
		t.Errorf("the provider counts more than fits, and notes were written %d times", len(m.noted))
	}
}

// A summary of what held a secret may tell it, and so may a summary of that.
func TestASummaryOfASecretIsSealed(t *testing.T) {
	call := runtime.ToolCall{ID: "c", Name: "secret_extract", Arguments: "{}"}
	s := runtime.NewSession("s", nil,
		runtime.Entry{Seq: 1, Event: runtime.TurnStart{Text: filler}},
		runtime.Entry{Seq: 2, Event: runtime.ModelAnswer{Calls: []runtime.ToolCall{call}}},
		runtime.Entry{Seq: 3, Event: runtime.ToolEnd{CallID: "c", Name: call.Name, Outcome: runtime.ToolOK, Result: `"hunter2"`, Sealed: true}},
		runtime.Entry{Seq: 4, Event: runtime.ModelAnswer{Text: filler}}, runtime.Entry{Seq: 5, Event: runtime.TurnEnd{}})
	f := newFixture(t, reader(), text("ok "+filler), text("ok"))
	f.long(&small{window: 2500, notes: "It is hunter2."})
	for range 2 {
		if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, filler); err != nil {
			t.Fatal(err)
		}
		if first := s.Messages()[0]; !strings.HasPrefix(first.Text, "[Summary") || !first.Sealed {
			t.Errorf("the first message is sealed: %t\n%.100s", first.Sealed, first.Text)
		}
	}
}

// Who can provoke denials or failing turns without end fills no window with them.
func TestWhatIsKeptIsBounded(t *testing.T) {
	var past []runtime.Entry
	add := func(ev runtime.Event) { past = append(past, runtime.Entry{Seq: uint64(len(past)) + 1, Event: ev}) }
	for i := range 500 {
		c := runtime.ToolCall{ID: fmt.Sprint(i), Name: "t", Arguments: "{}"}
		add(runtime.TurnStart{Text: fmt.Sprint("task ", i, " ", strings.Repeat("x", 20_000))})
		add(runtime.ModelAnswer{Calls: []runtime.ToolCall{c}})
		add(runtime.ToolEnd{CallID: c.ID, Name: "t", Outcome: runtime.ToolDenied, Result: fmt.Sprintf(`{"operation":"v/ops/t","ability":"crud/read","resource":"w/%d"}`, i)})
		add(runtime.TurnEnd{Error: "no"})
	}
	s := runtime.NewSession("s", nil, past...)
	for i := range 3 { // what is kept stays kept
		f := newFixture(t, reader(), text("ok"+filler))
		f.long(&small{window: 400_000, refuses: 400_000, notes: "Notes."})
		if i == 0 {
			f.agent.Model.(*small).window = 1_000_000
		}
		if _, err := turn(t, f.runner(runtime.Options{MaxModelCalls: 100}), f.agent, s, "go on"); err != nil {
			t.Fatal(err)
		}
	}
	got := s.Messages()[0].Text
	if len(got) > 400<<10 {
		t.Errorf("the summary has %d bytes", len(got))
	}
	if !strings.Contains(got, " earlier refusals of Capability denied: v/ops/t requires crud/read\n") || strings.Count(got, "- task ") != 32 {
		t.Errorf("the summary has %d tasks, want the newest 32, and how many denials there were:\n%s", strings.Count(got, "- task "), got[len(got)-2000:])
	}
}

// Whatever is said, refused, left and shortened: no result stands without its
// call, and no open task and no denial is missing from what the model is told.
func TestShorteningKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		log := new(keeper)
		var seq uint64
		open, denied := map[string]bool{}, map[string]bool{}
		var entries []runtime.Entry
		add := func(ev runtime.Event) {
			seq++
			entries = append(entries, runtime.Entry{Seq: seq, Event: ev})
		}
		for i := range rapid.IntRange(1, 12).Draw(r, "turns") {
			task := fmt.Sprintf("task %d of %d", i, rapid.IntRange(0, 3).Draw(r, "kind"))
			add(runtime.TurnStart{Text: task})
			open[task] = true
			for c := range rapid.IntRange(0, 4).Draw(r, "rounds") {
				id := fmt.Sprintf("c%d-%d", i, c)
				call := runtime.ToolCall{ID: id, Name: "t", Arguments: "{}"}
				add(runtime.ModelAnswer{Calls: []runtime.ToolCall{call}})
				done := runtime.ToolEnd{CallID: id, Name: "t", Outcome: runtime.ToolOK, Result: strings.Repeat("r", rapid.IntRange(0, 400).Draw(r, "size"))}
				if rapid.Bool().Draw(r, "denied") {
					why := "w/" + id
					denied[why] = true
					done.Outcome, done.Result = runtime.ToolDenied, `{"operation":"v/ops/t","ability":"crud/read","resource":"w/`+id+`"}`
				}
				add(done)
			}
			end := runtime.TurnEnd{}
			if rapid.Bool().Draw(r, "fails") {
				end.Error = "no"
			} else {
				add(runtime.ModelAnswer{Text: "answer"})
				delete(open, task)
			}
			add(end)
		}
		s := runtime.NewSession("s", log, entries...)
		notes := &small{script: &script{failure: errors.New("over")}, window: rapid.IntRange(100, 1500).Draw(r, "window"), notes: "n"}
		f := newFixture(t, reader())
		f.agent.Model = notes
		for range rapid.IntRange(1, 3).Draw(r, "shortenings") {
			notes.answers = append(notes.answers, text("ok"))
			for range f.runner(runtime.Options{}).Turn(t.Context(), f.agent, s, runtime.Say{Text: "again " + strings.Repeat("x", rapid.IntRange(0, 600).Draw(r, "say"))}) {
			}
		}
		calls := map[string]bool{}
		var told strings.Builder
		for _, m := range s.Messages() {
			told.WriteString(m.Text + "\n")
			for _, c := range m.Calls {
				calls[c.ID] = true
			}
			if m.Role == runtime.RoleTool && !calls[m.CallID] {
				r.Fatalf("result of %s stands without its call", m.CallID)
			}
		}
		for _, must := range []map[string]bool{open, denied} {
			for what := range must {
				if !strings.Contains(told.String(), what) {
					r.Fatalf("lost: %s\n%s", what, told.String())
				}
			}
		}
	})
}

func TestCompactedSurvivesJSON(t *testing.T) {
	want := runtime.Entry{Seq: 9, Time: clock(), Event: runtime.Compaction{
		Through: 7, Summary: "s", Kept: []runtime.MemoryItem{{Kind: "open", Event: 3, Text: "t", Count: 2}}, Calls: 1,
	}}
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got runtime.Entry
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after JSON (-want +got):\n%s", diff)
	}
}
