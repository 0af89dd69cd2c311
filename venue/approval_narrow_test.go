package venue_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"usher/runtime"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/config"
)

// asked lets a run go on that was answered, in an idle venue, and returns the requests that
// it waits for then, or the result of its last call.
func (d *desk) goOn(t *testing.T, run string) (waits []string, result string) {
	t.Helper()
	r, err := d.alice.Resume(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(t.Context()); fault.Of(err) == fault.Waiting {
		rec, err := d.alice.Run(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		return rec.Waits, ""
	} else if err != nil {
		t.Fatal(err)
	}
	done, _ := d.ended(t, run)
	return nil, done.Result
}

// within approves a request within limits.
func (d *desk) within(t *testing.T, id, when string) {
	t.Helper()
	invoke(t, d.alice, "approval:approve", `{"id":"`+id+`","when":`+when+`}`)
}

// A call beyond the limits of its approval is refused and told them, and a narrower one
// of the same run uses the answer, once.
func TestApproveWithinLimits(t *testing.T) {
	d := newDesk(t, "", true) // runs go on when this says so
	req := d.ask(t, "w/refunds/1")
	d.within(t, req.ID, `{"/value":{"max":5}}`)
	d.model.Ask("covia_write", `{"path":"w/refunds/1","value":5}`)
	d.model.Ask("covia_write", `{"path":"w/refunds/1","value":4}`)
	waits, _ := d.goOn(t, req.Run)
	if len(waits) != 1 || waits[0] == req.ID {
		t.Fatalf("the run waits for %v, want another request for the second call within the limits", waits)
	}
	if got := read(t, d.alice, "w/refunds/1"); got != `{"exists":true,"value":5}` {
		t.Errorf("w/refunds/1 reads %s", got)
	}
	if used := d.show(t, req.ID); used.Status != approvals.Used || string(used.Answer.When) != `{"/value":{"max":5}}` {
		t.Errorf("the request is %+v", used)
	}
	for _, told := range d.model.Results()[:1] {
		var got struct {
			Error   fault.Code
			Message string
			Details struct {
				Approval string
				When     json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(told), &got); err != nil || got.Error != fault.Refused || got.Details.Approval != req.ID || string(got.Details.When) != `{"/value":{"max":5}}` ||
			!strings.Contains(got.Message, "a person allows it only when /value is at most 5, once, in this run, until ") {
			t.Errorf("the model is told %s, %v", told, err)
		}
	}
	verdicts := ""
	for row, err := range d.v.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Entry != nil && row.Operation == "v/ops/covia/write" {
			verdicts += row.Verdict + " "
		}
	}
	if want := "ask deny allow ask "; verdicts != want {
		t.Errorf("the ledger has %q, want %q", verdicts, want)
	}
}

// An answer within limits is for no other call: of another run, agent, operation, or
// input beside what the limits are on, and not after its end.
func TestLimitsOfAnApprovalAreNoMore(t *testing.T) {
	for _, tc := range []struct {
		name, tool, input string
		pass              time.Duration
	}{
		{"a larger value", "covia_write", `{"path":"w/refunds/1","value":6}`, 0},
		{"the same call again", "covia_write", `{"path":"w/refunds/1","value":7}`, 0},
		{"less than nothing", "covia_write", `{"path":"w/refunds/1","value":-1}`, 0},
		{"another path", "covia_write", `{"path":"w/refunds/2","value":5}`, 0},
		{"a text", "covia_write", `{"path":"w/refunds/1","value":"5"}`, 0},
		{"another operation", "covia_append", `{"path":"w/refunds/1","value":5}`, 0},
		{"too late", "covia_write", `{"path":"w/refunds/1","value":5}`, 25 * time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDesk(t, "", true)
			req := d.ask(t, "w/refunds/1")
			d.within(t, req.ID, `{"/value":{"max":5}}`)
			d.model.Between(func() { d.now.Add(int64(tc.pass / time.Second)) })
			d.model.Ask(tc.tool, tc.input)
			if waits, result := d.goOn(t, req.Run); len(waits) != 1 || waits[0] == req.ID {
				t.Errorf("the run waits for %v, and its call comes to %s; want another request", waits, result)
			}
			if got := read(t, d.alice, "w/refunds/1"); got != `{"exists":false}` {
				t.Errorf("w/refunds/1 reads %s", got)
			}
		})
	}
	t.Run("another run", func(t *testing.T) {
		d := newDesk(t, "", true)
		req := d.ask(t, "w/refunds/1")
		d.within(t, req.ID, `{"/value":{"max":5}}`)
		d.model.Ask("covia_write", `{"path":"w/refunds/1","value":5}`)
		if _, err := turnIn(t.Context(), d.bob, "other", "pay"); fault.Of(err) != fault.Waiting {
			t.Errorf("the turn ends with %v, want that it asks", err)
		}
	})
	t.Run("another agent", func(t *testing.T) {
		d := newDesk(t, "", true)
		create(t, d.alice, spec("kid", "", asking))
		s := spec("boss", "", asking)
		s.Tools = []string{"covia:*", "agent:request"}
		boss := create(t, d.alice, s)
		d.model.Ask("covia_write", `{"path":"w/refunds/1","value":7}`)
		_, err := turnIn(t.Context(), boss, "main", "pay")
		rest, ok := errors.AsType[*runtime.RestError](err)
		if !ok {
			t.Fatal(err)
		}
		req := d.show(t, rest.Waits[0].Approval)
		d.within(t, req.ID, `{"/value":{"max":5}}`)
		d.model.Ask("agent_request", `{"agentId":"kid","input":"pay"}`)
		d.model.Ask("covia_write", `{"path":"w/refunds/1","value":5}`)
		if waits, result := d.goOn(t, req.Run); len(waits) != 1 {
			t.Errorf("the run waits for %v, and its call comes to %s; want that kid asks", waits, result)
		}
		if now := d.show(t, req.ID); now.Status != approvals.Approved {
			t.Errorf("the answer to boss is %s", now.Status)
		}
	})
}

// Limits are narrower than the call, and on what the person has seen.
func TestLimitsWiderThanTheRequest(t *testing.T) {
	d := newDesk(t, "", true)
	req := d.ask(t, "w/refunds/1")
	for when, want := range map[string]string{
		`{"/value":{"min":8}}`:       "that would be wider than the call",
		`{"/value":8}`:               "that would be wider than the call",
		`{"/path":"w/refunds/2"}`:    "only numbers can be made smaller",
		`{"/amount":{"max":1}}`:      "the call has no /amount",
		`{"/value":{"atMost":1}}`:    "unknown operator",
		`{}`:                         "it is empty",
		`{"/value":{"max":5},"x":1}`: "a JSON pointer begins with a slash",
	} {
		if _, err := d.alice.Invoke(t.Context(), "approval:approve", json.RawMessage(`{"id":"`+req.ID+`","when":`+when+`}`)); fault.Of(err) != fault.InvalidInput || !strings.Contains(err.Error(), want) {
			t.Errorf("when %s: %v, want %q", when, err, want)
		}
	}
	if now := d.show(t, req.ID); now.Status != approvals.Pending {
		t.Errorf("the request is %s", now.Status)
	}
	d.within(t, req.ID, `{"/value":{"max":10}}`) // the call is within
	if _, result := d.goOn(t, req.Run); !strings.Contains(result, `"written":true`) {
		t.Errorf("the call comes to %s", result)
	}
	if got := read(t, d.alice, "w/refunds/1"); got != `{"exists":true,"value":7}` {
		t.Errorf("w/refunds/1 reads %s", got)
	}
}

// The answer holds over a restart between the refusal and the narrower call, which gets
// no more by a second start, and leaves no rows when it is pruned.
func TestApproveWithinLimitsAfterARestart(t *testing.T) {
	dir := t.TempDir()
	d := newDesk(t, dir, true)
	req := d.ask(t, "w/refunds/1")
	d.within(t, req.ID, `{"/value":{"max":5}}`)
	if err := d.v.Close(); err != nil {
		t.Fatal(err)
	}
	d = deskOf(t, venue.Options{Dir: dir, Idle: true, Retention: config.Retention{Approvals: config.KeepLimit{Age: time.Hour}}})
	d.model.Ask("covia_write", `{"path":"w/refunds/1","value":5}`)
	if waits, result := d.goOn(t, req.Run); waits != nil || !strings.Contains(result, `"written":true`) {
		t.Errorf("the run waits for %v, its call comes to %s", waits, result)
	}
	d.now.Add(7200)
	if gone, err := d.v.Prune(t.Context()); err != nil || gone.Approvals != 1 {
		t.Errorf("%d requests go, %v", gone.Approvals, err)
	}
	if n, err := d.v.KeysBelow(t.Context(), "p/"); err != nil || n != 1 {
		t.Errorf("%d rows are left, %v; want the counts alone", n, err)
	}
}

// An answer that somebody changed in the store allows nothing.
func TestAForgedLimitAllowsNothing(t *testing.T) {
	for name, change := range map[string][2]string{
		"other limits":  {`{\"max\":5}`, `{\"max\":6}`},
		"another input": {`"value":7`, `"value":9`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "", true)
			req := d.ask(t, "w/refunds/1")
			d.within(t, req.ID, `{"/value":{"max":5}}`)
			key := fmt.Sprint("p/req/", d.alice.DID(), "/", req.ID)
			if n, err := d.v.Replace(t.Context(), key, strings.ReplaceAll(change[0], `\`, ""), strings.ReplaceAll(change[1], `\`, "")); err != nil || n == 0 {
				t.Fatalf("%d places changed, %v", n, err)
			}
			d.model.Ask("covia_write", `{"path":"w/refunds/1","value":5}`)
			_, result := d.goOn(t, req.Run)
			if !strings.Contains(result, "is not what a person has signed") {
				t.Errorf("the call comes to %s", result)
			}
			if got := read(t, d.alice, "w/refunds/1"); got != `{"exists":false}` {
				t.Errorf("w/refunds/1 reads %s", got)
			}
		})
	}
}
