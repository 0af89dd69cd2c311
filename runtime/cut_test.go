package runtime_test

import (
	"context"
	"errors"
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

// A turn that was cut gets its end in the log, and the model is told of each call
// what is known of it.
func TestATurnThatWasCutIsMended(t *testing.T) {
	pay, look := runtime.ToolCall{ID: "c1", Name: "bank_pay", Arguments: "{}"}, runtime.ToolCall{ID: "c2", Name: "map_read", Arguments: "{}"}
	const cut = "interrupted: the venue stopped before the turn ended"
	for _, tc := range []struct {
		name  string
		after []runtime.Event // the turn began
		told  []string        // parts of the results
		error string
	}{
		{name: "before the first answer", error: cut},
		{
			name: "after a call", error: cut,
			after: []runtime.Event{runtime.ModelAnswer{Calls: []runtime.ToolCall{look}}, runtime.ToolStart{Call: look}, runtime.ToolEnd{CallID: look.ID, Name: look.Name, Outcome: runtime.ToolOK, Result: "1"}},
			told:  []string{"1"},
		},
		{
			name: "before the first of two calls", error: cut + "; these calls were never started: bank_pay, map_read",
			after: []runtime.Event{runtime.ModelAnswer{Calls: []runtime.ToolCall{pay, look}}},
			told:  []string{`"error":"not_started"`, `never started`},
		},
		{
			name: "within the first of two calls", error: cut + "; whether these calls took effect is unknown: bank_pay; these calls were never started: map_read",
			after: []runtime.Event{runtime.ModelAnswer{Calls: []runtime.ToolCall{pay, look}}, runtime.ToolStart{Call: pay}},
			told:  []string{`look before you repeat it.","retryable":false}`, `"retryable":true}`},
		},
		{
			name: "within a call that may be repeated", error: cut + "; whether these calls took effect is unknown: map_read",
			after: []runtime.Event{runtime.ModelAnswer{Calls: []runtime.ToolCall{look}}, runtime.ToolStart{Call: look, Idempotent: true}},
			told:  []string{`repeating it does no harm.","retryable":true}`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := new(keeper)
			for i, ev := range append([]runtime.Event{runtime.TurnStart{Text: "Pay."}}, tc.after...) {
				log.entries = append(log.entries, runtime.Entry{Seq: uint64(i) + 1, Run: "r1", Agent: "bob", Event: ev})
			}
			s := runtime.NewSession("s", log, log.entries...)
			if run, rests := s.Rest(); !rests || run != "r1" {
				t.Fatal("the session says that its turns have ended")
			}
			if err := s.Cut(t.Context(), time.Unix(7, 0), "", ""); err != nil {
				t.Fatal(err)
			}
			last := log.entries[len(log.entries)-1]
			end := runtime.TurnEnd{Error: tc.error, Code: "interrupted", Calls: min(len(tc.after), 1)}
			want := runtime.Entry{Seq: uint64(len(log.entries)), Time: time.Unix(7, 0), Run: "r1", Agent: "bob", Event: end}
			if diff := cmp.Diff(want, last); diff != "" {
				t.Errorf("the log ends with (-want +got):\n%s", diff)
			}
			if _, rests := runtime.NewSession("s", nil, log.entries...).Rest(); rests {
				t.Error("a turn that has got its end rests")
			}
			f := newFixture(t, reader(), text("ok"))
			if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "go on"); err != nil {
				t.Fatal(err)
			}
			sent := f.model.requests[0].Messages
			checkConversation(t, sent)
			var told []string
			for _, m := range sent {
				if m.Role == runtime.RoleTool {
					told = append(told, m.Text)
				}
			}
			if len(told) != len(tc.told) {
				t.Fatalf("the model is told %q, want %d results", told, len(tc.told))
			}
			for i, part := range tc.told {
				if !strings.Contains(told[i], part) {
					t.Errorf("result %d is %s, want %q in it", i, told[i], part)
				}
			}
			if note := sent[len(sent)-2]; note.Role != runtime.RoleUser || !strings.Contains(note.Text, tc.error) {
				t.Errorf("before the next message the model is told %q, want %q", note.Text, tc.error)
			}
		})
	}
}

// A session whose turn rests takes no other, until that one has its end.
func TestATurnThatRestsIsInTheWay(t *testing.T) {
	log := &keeper{entries: []runtime.Entry{{Seq: 1, Run: "r1", Event: runtime.TurnStart{Text: "Pay."}}}}
	s := runtime.NewSession("s", log, log.entries...)
	f := newFixture(t, reader(), text("ok"))
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "go on"); fault.Of(err) != fault.Waiting || len(log.entries) != 1 {
		t.Errorf("the turn ends with %v, and the log has %d entries; want that it has to wait", err, len(log.entries))
	}
	if err := s.Cut(t.Context(), time.Now(), "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "go on"); err != nil {
		t.Error(err)
	}
}

// What a tool came to counts, although the turn was stopped meanwhile; what it did
// not is unknown, and may be repeated where that does no harm.
func TestResultsOfAStoppedTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, reader(), calls("map_read", key("w/a"), "map_read", key("w/b"), "map_read", key("w/c")))
		ctx, cancel := context.WithCancel(t.Context())
		f.onRead = func(ctx context.Context, key string) (string, error) {
			if key == "w/a" {
				return "", context.Cause(waitAnd(ctx, cancel))
			}
			<-ctx.Done()
			return "value of " + key, nil
		}
		log := new(keeper)
		var last error
		for _, err := range f.runner(runtime.Options{}).Turn(ctx, f.agent, runtime.NewSession("s", log), runtime.Say{Text: "go"}) {
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("turn = %v", last)
		}
		got := make(map[string]string)
		for _, e := range log.entries {
			if done, ok := e.Event.(runtime.ToolEnd); ok {
				got[done.CallID] = done.Outcome
			}
		}
		if diff := cmp.Diff(map[string]string{"c0": runtime.ToolStopped, "c1": runtime.ToolOK, "c2": runtime.ToolOK}, got); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s", diff)
		}
	})
}

// waitAnd stops the turn once all its calls wait.
func waitAnd(ctx context.Context, cancel func()) context.Context {
	time.Sleep(time.Minute)
	cancel()
	return ctx
}

// A tool that takes too long may have taken effect: only one that may be repeated is
// told to be.
func TestATimeoutIsRetryableWhereThatDoesNoHarm(t *testing.T) {
	for name, tc := range map[string]struct {
		opts          []tools.Option
		outcome, want string
	}{
		"not idempotent": {nil, runtime.ToolUnknown, `{"error":"unknown","message":"tool call timed out after 5m0s (limits.tool_timeout). Whether v/ops/bank/pay took effect is unknown: look before you repeat it.","retryable":false}`},
		"idempotent":     {[]tools.Option{tools.Idempotent()}, runtime.ToolFailed, `{"error":"timeout","message":"tool call timed out after 5m0s (limits.tool_timeout)","retryable":true}`},
		"sealed":         {[]tools.Option{tools.WithSeal()}, runtime.ToolUnknown, `{"error":"unknown","message":"tool call timed out after 5m0s (limits.tool_timeout). Whether v/ops/bank/pay took effect is unknown: look before you repeat it.","retryable":false}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, caps.Unrestricted(), calls("bank_pay", `{"key":"w/a"}`), text("done"))
				pay := tools.New("bank:pay", "Pay.", func(in keyInput) []caps.Request { return []caps.Request{caps.Need("crud/write", in.Key)} },
					func(ctx context.Context, _ tools.Call, _ keyInput) (bool, error) {
						<-ctx.Done()
						return false, ctx.Err()
					}, append(tc.opts, tools.Within(caps.ScopeUnder("crud/write", "w", 1, 0)))...)
				if err := f.ops.Register(pay); err != nil {
					t.Fatal(err)
				}
				f.agent.Tools = append(f.agent.Tools, pay)
				s := runtime.NewSession("s", nil)
				events, err := turn(t, f.runner(runtime.Options{}), f.agent, s, "go")
				if err != nil {
					t.Fatal(err)
				}
				if got := s.Messages()[2].Text; got != tc.want {
					t.Errorf("the model is told %s, want %s", got, tc.want)
				}
				for _, ev := range events {
					if done, ok := ev.(runtime.ToolEnd); ok && (done.Outcome != tc.outcome || strings.Contains(done.Result, "unknown") != (tc.outcome == runtime.ToolUnknown)) {
						t.Errorf("the listener is told %s: %s", done.Outcome, done.Result)
					}
				}
			})
		})
	}
}
