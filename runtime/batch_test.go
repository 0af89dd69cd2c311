package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
)

type slowInput struct {
	Key       string          `json:"key"`
	Operation string          `json:"operation,omitempty"` // that it says it runs
	Input     json.RawMessage `json:"input,omitempty"`
}

// slow gives the agent the operation, on the path of its input, which takes
// 10 ms of virtual time for "fast" paths and 1 s for others, and returns what
// began and ended in which order.
func (f *fixture) slow(t *testing.T, name, can string, opts ...tools.Option) (log func() []string) {
	t.Helper()
	var lines []string
	note := func(word, key string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		lines = append(lines, word+" "+key)
	}
	op := tools.New(name, "Take a while.",
		func(in slowInput) []caps.Request { return []caps.Request{caps.Need(can, in.Key)} },
		func(ctx context.Context, _ tools.Call, in slowInput) (string, error) {
			note("begin", in.Key)
			defer note("end", in.Key)
			if strings.HasSuffix(in.Key, "panic") {
				panic("no")
			}
			wait := time.Second
			if strings.Contains(in.Key, "fast") {
				wait = 10 * time.Millisecond
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
			return "did " + in.Key, nil
		}, opts...)
	if err := f.ops.Register(op); err != nil {
		t.Fatal(err)
	}
	f.agent.Tools = append(f.agent.Tools, op)
	return func() []string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Clone(lines)
	}
}

func key(path string) string { return `{"key":"` + path + `"}` }

func TestCallsOfOneAnswerRunSideBySide(t *testing.T) {
	side := []string{"begin w/a", "begin w/fast", "end w/fast", "end w/a"}
	inOrder := func(a, b string) []string { return []string{"begin " + a, "end " + a, "begin " + b, "end " + b} }
	for _, tc := range []struct {
		name, can   string
		opts        []tools.Option
		first, then string
		want        []string
	}{
		{"reads", "crud/read", []tools.Option{tools.ReadOnly()}, "w/a", "w/fast", side},
		{"reads of one path", "crud/read", nil, "w/a", "w/a", []string{"begin w/a", "begin w/a", "end w/a", "end w/a"}},
		{"writes apart", "crud/write", nil, "w/a", "w/fast", side},
		{"tasks of one agent", "agent/request", nil, "g/a", "g/a", []string{"begin g/a", "begin g/a", "end g/a", "end g/a"}},
		{"writes of one path", "crud/write", nil, "w/a", "w/a", inOrder("w/a", "w/a")},
		{"a write below the other", "crud/write", nil, "w/a", "w/a/fast", inOrder("w/a", "w/a/fast")},
		{"a write above the other", "crud/delete", nil, "w/a/b", "w/a", inOrder("w/a/b", "w/a")},
		{"everything on data", "crud", nil, "w/a", "w/a", inOrder("w/a", "w/a")},
		{"what changes who may do what", "agent/update", []tools.Option{tools.Exclusive()}, "g/a", "g/fast", inOrder("g/a", "g/fast")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, caps.Unrestricted(), calls("slow_do", key(tc.first), "slow_do", key(tc.then)), text("done"))
				log := f.slow(t, "slow:do", tc.can, tc.opts...)
				events, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "go")
				if err != nil {
					t.Fatal(err)
				}
				got := log()
				if strings.HasPrefix(got[1], "begin") {
					slices.Sort(got[:2]) // side by side, either may be first
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("what ran (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{`"did ` + tc.first + `"`, `"did ` + tc.then + `"`}, results(events)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// What a call would touch is known whichever way it is asked for.
func TestCallsThatMeetKeepTheirOrder(t *testing.T) {
	inner := func(input json.RawMessage) []tools.Invocation {
		var in struct {
			Key, Operation string
			Input          json.RawMessage
		}
		_ = json.Unmarshal(input, &in)
		return []tools.Invocation{{Operation: in.Operation, Input: in.Input}}
	}
	session := func(json.RawMessage) string { return "g/kid/main" }
	for _, tc := range []struct {
		name           string
		first, then    string // abilities
		with           string // of the second call; empty is w/a, as the first
		firstOpts, opt []tools.Option
		side           bool
	}{
		{name: "a secret and its use", first: "secret/store", then: "secret/decrypt"},
		{name: "what is sent to one place", first: "net/send", then: "net/send"},
		{name: "what is got from one place", first: "net/get", then: "net/get", side: true},
		{name: "a write, and a read by the full name", first: "crud/write", then: "crud/read", with: "OWNER/w/a"},
		{name: "an operation that is written, and run", first: "crud/write", then: "invoke"},
		{name: "an operation that is run twice", first: "invoke", then: "invoke", side: true},
		{name: "two tasks in one session", first: "agent/request", then: "agent/request", firstOpts: []tools.Option{tools.InLane(session)}, opt: []tools.Option{tools.InLane(session)}},
		{name: "a task in a session, and one in none", first: "agent/request", then: "agent/request", opt: []tools.Option{tools.InLane(session)}, side: true},
		{name: "through another operation", first: "crud/write", then: "crud/read", firstOpts: []tools.Option{tools.WithStarts(inner)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, caps.Unrestricted())
				with := "w/a"
				if tc.with != "" {
					with = strings.Replace(tc.with, "OWNER", f.agent.Authority.Owner().String(), 1)
				}
				log := f.slow(t, "one:do", tc.first, tc.firstOpts...)
				f.slow(t, "two:do", tc.then, tc.opt...)
				f.model.answers = [][]runtime.Chunk{calls("one_do", key("w/a"), "two_do", key(with)), text("done")}
				if tc.name == "through another operation" { // which is told to write w/b, where the second reads
					f.model.answers[0] = calls("one_do", `{"key":"w/z","operation":"map:write","input":{"key":"w/b"}}`, "two_do", key("w/b"))
				}
				began := time.Now()
				if _, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "go"); err != nil {
					t.Fatal(err)
				}
				if len(log()) != 2 {
					t.Errorf("the first call did not run: %v", log())
				}
				if side := time.Since(began) < 2*time.Second; side != tc.side {
					t.Errorf("side by side: %t, want %t", side, tc.side)
				}
			})
		})
	}
}

// A call that starts others meets what these would: one that runs alone, one
// of a lane, and whatever lies too deep to be seen or cannot be told.
func TestCallsThatStartOthersMeetWhatTheseDo(t *testing.T) {
	inner := func(input json.RawMessage) []tools.Invocation {
		var in slowInput
		_ = json.Unmarshal(input, &in)
		if in.Operation == "panic" {
			panic("no")
		}
		return []tools.Invocation{{Operation: in.Operation, Input: in.Input}}
	}
	run := func(path, operation, input string) string {
		return fmt.Sprintf(`{"key":%q,"operation":%q,"input":%s}`, path, operation, input)
	}
	nested := func(depth int) string {
		input := key("w/z")
		for range depth {
			input = run("w/z", "run:do", input)
		}
		return input
	}
	lane := tools.InLane(func(json.RawMessage) string { return "g/kid/main" })
	for _, tc := range []struct {
		name, first, then string // "tool input"
		side              bool
	}{
		{"apart", "run_do " + run("w/a", "other:do", key("w/b")), "other_do " + key("w/c"), true},
		{"one that runs alone", "run_do " + run("w/a", "alone:do", key("w/b")), "other_do " + key("w/c"), false},
		{"one of a lane", "run_do " + run("w/a", "lane:do", key("w/b")), "lane_do " + key("w/c"), false},
		{"one of another lane", "run_do " + run("w/a", "lane:do", key("w/b")), "other_do " + key("w/c"), true},
		{"the deepest that is seen", "run_do " + nested(3), "other_do " + key("w/c"), true},
		{"too deep", "run_do " + nested(4), "other_do " + key("w/c"), false},
		{"what cannot be told", "run_do " + run("w/a", "panic", "{}"), "other_do " + key("w/c"), false},
		{"one that there is not", "run_do " + run("w/a", "nobody:do", "{}"), "other_do " + key("w/c"), true},
		{"after one that is apart from both", "other_do " + key("w/c") + "|other_do " + key("w/d"), "other_do " + key("w/c"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, caps.Unrestricted())
				f.slow(t, "run:do", "crud/write", tools.WithStarts(inner))
				f.slow(t, "other:do", "crud/write")
				f.slow(t, "lane:do", "crud/write", lane)
				f.slow(t, "alone:do", "crud/write", tools.Exclusive())
				var asked []string
				for call := range strings.SplitSeq(tc.first+"|"+tc.then, "|") {
					name, input, _ := strings.Cut(call, " ")
					asked = append(asked, name, input)
				}
				f.model.answers = [][]runtime.Chunk{calls(asked...), text("done")}
				began := time.Now()
				events, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "go")
				if err != nil {
					t.Fatal(err)
				}
				for _, got := range results(events) {
					if !strings.HasPrefix(got, `"did `) {
						t.Errorf("result: %s", got)
					}
				}
				if side := time.Since(began) < 2*time.Second; side != tc.side {
					t.Errorf("side by side: %t, want %t", side, tc.side)
				}
			})
		})
	}
}

// An operation that tells nothing of what it touches runs alone.
func TestADefinedOperationMayRunAlone(t *testing.T) {
	for _, alone := range []bool{false, true} {
		op := tools.Define(tools.Definition{
			Path: "o/flow", Exclusive: alone,
			Needs: func(json.RawMessage) []caps.Request { return []caps.Request{caps.Need("invoke", "o/flow")} },
			Run:   func(context.Context, tools.Call, json.RawMessage) (any, error) { return nil, nil },
		})
		if op.Exclusive() != alone {
			t.Errorf("Exclusive = %t", op.Exclusive())
		}
	}
}

// A tool's error that panics when it is asked what it says fails its own call.
func TestAnErrorThatPanics(t *testing.T) {
	for _, n := range []int{1, 2} {
		f := newFixture(t, reader(), calls([]string{"map_read", key("w/a"), "map_read", key("w/b")}[:2*n]...), text("done"))
		f.onRead = func(_ context.Context, key string) (string, error) {
			if key == "w/a" {
				var none *typedNil
				return "", none
			}
			return key, nil
		}
		events, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "go")
		if err != nil {
			t.Fatal(err)
		}
		if got := results(events); len(got) != n || !strings.Contains(got[0], "failed inside") {
			t.Errorf("results: %v", got)
		}
	}
}

type typedNil struct{ text string }

func (e *typedNil) Error() string { return e.text }

// Counts of a broken provider overflow nothing.
func TestAbsurdUsage(t *testing.T) {
	for _, n := range []int{-1_000_000, 1 << 62} {
		f := newFixture(t, reader(), []runtime.Chunk{{Text: "hi"}, {Usage: &runtime.Usage{Input: n, Output: n, CacheRead: n, Cost: int64(n)}}}, text("again"))
		f.long(&small{window: 4000, notes: "n"})
		s := runtime.NewSession("s", nil)
		for range 2 {
			events, err := turn(t, f.runner(runtime.Options{}), f.agent, s, filler)
			if err != nil {
				t.Logf("turn = %v", err)
			}
			for _, ev := range events {
				if done, ok := ev.(runtime.TurnEnd); ok && (done.Usage.Input < 0 || done.Usage.Cost < 0) {
					t.Errorf("usage is %+v", done.Usage)
				}
			}
		}
	}
}

// Ids that a provider gives twice, leaves out or makes up of nonsense are made
// distinct.
func TestIDsOfCallsAreDistinct(t *testing.T) {
	named := func(ids ...string) (out []runtime.Chunk) {
		for i, id := range ids {
			out = append(out, runtime.Chunk{Call: &runtime.CallDelta{Index: i, ID: id, Name: "map_read", Arguments: key("w/a")}})
		}
		return out
	}
	f := newFixture(t, reader(), named("call-1-1", "call-1-1", "", "call-1-2", strings.Repeat("x", 100_000)), text("done"))
	s := runtime.NewSession("s", nil)
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "go"); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, c := range s.Messages()[1].Calls {
		if seen[c.ID] || c.ID == "" || len(c.ID) > 64<<10 {
			t.Errorf("id %.40q stands twice, or is none", c.ID)
		}
		seen[c.ID] = true
	}
	checkConversation(t, s.Messages())
}

// A read that follows a write of its path, in one answer, sees what was written.
func TestAReadWaitsForTheWriteBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, caps.Unrestricted(), calls("slow_write", key("w/a"), "map_read", key("w/b"), "map_read", key("w/a")), text("done"))
		log := f.slow(t, "slow:write", "crud/write")
		f.onRead = func(_ context.Context, key string) (string, error) {
			return fmt.Sprintf("%s after %d", key, len(log())), nil
		}
		events, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "go")
		if err != nil {
			t.Fatal(err)
		}
		want := []string{`"did w/a"`, `"w/b after 1"`, `"w/a after 2"`}
		got := results(events)
		got[1] = strings.Replace(got[1], "after 0", "after 1", 1) // it may be quicker than the write's begin
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// The intent of every call of a group stands in the log before any of them runs.
func TestIntentsComeBeforeACallRuns(t *testing.T) {
	f := newFixture(t, caps.Unrestricted(), calls("map_read", key("w/a"), "map_read", key("w/b")), text("done"))
	log := new(keeper)
	var begun []int
	f.onRead = func(context.Context, string) (string, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		begun = append(begun, log.len())
		return "", nil
	}
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", log), "go"); err != nil {
		t.Fatal(err)
	}
	for _, n := range begun {
		if _, ok := log.entries[3].Event.(runtime.ToolStart); !ok || n < 4 {
			t.Errorf("a call ran with %d entries in the log, want its fourth to be the second call's intent", n)
		}
	}
}

func TestOneCallOfAGroupFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := caps.Of(caps.MustCapability("w/mine", "crud"))
		f := newFixture(t, held, calls("slow_do", key("w/mine/panic"), "slow_do", key("w/theirs"), "nothing", "{}", "slow_do", `{"key":`, "slow_do", key("w/mine/fast")), text("done"))
		f.slow(t, "slow:do", "crud/write")
		events, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "go")
		if err != nil {
			t.Fatal(err)
		}
		var outcomes []string
		for _, ev := range events {
			if done, ok := ev.(runtime.ToolEnd); ok {
				outcomes = append(outcomes, done.Outcome)
			}
		}
		want := []string{runtime.ToolFailed, runtime.ToolDenied, runtime.ToolFailed, runtime.ToolFailed, runtime.ToolOK}
		if diff := cmp.Diff(want, outcomes); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s\n%s", diff, strings.Join(results(events), "\n"))
		}
	})
}

func TestHowManyCallsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		for i := range 10 {
			asked = append(asked, "slow_do", key(fmt.Sprintf("w/%d", i)))
		}
		f := newFixture(t, caps.Unrestricted(), calls(asked...), text("done"))
		log := f.slow(t, "slow:do", "crud/read")
		if _, err := turn(t, f.runner(runtime.Options{ToolsAtOnce: 3}), f.agent, runtime.NewSession("s", nil), "go"); err != nil {
			t.Fatal(err)
		}
		most, now := 0, 0
		for _, line := range log() {
			if strings.HasPrefix(line, "begin") {
				now++
			} else {
				now--
			}
			most = max(most, now)
		}
		if most != 3 {
			t.Errorf("at most %d ran at once, want 3", most)
		}
	})
}

// codedError is an error with a word for models, as a spent budget has.
type codedError struct {
	Budget string `json:"budget"`
}

func (codedError) Error() string    { return "the budget is spent" }
func (codedError) Code() fault.Code { return fault.BudgetSpent }
func (e codedError) Details() any   { return e }

func TestACodedErrorReachesTheModel(t *testing.T) {
	f := newFixture(t, reader(), calls("map_read", key("w/a")), text("done"))
	f.onRead = func(context.Context, string) (string, error) {
		return "", fmt.Errorf("agent carol: %w", codedError{"agent bob"})
	}
	events, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "go")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`{"error":"budget_spent","message":"agent carol: the budget is spent","retryable":false,"details":{"budget":"agent bob"}}`}
	if diff := cmp.Diff(want, results(events)); diff != "" {
		t.Errorf("the model is told (-want +got):\n%s", diff)
	}
}

// results are the results of the tool calls, in the order of the events.
func results(events []runtime.Event) []string {
	var out []string
	for _, ev := range events {
		if done, ok := ev.(runtime.ToolEnd); ok {
			out = append(out, done.Result)
		}
	}
	return out
}
