package venue_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"usher/tools/agents"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/runs"
)

// answers is what dave does about a request of alice's.
func (d *desk) answers(t *testing.T, dave *venue.User, op, id, more string) error {
	t.Helper()
	_, err := dave.Invoke(t.Context(), op, json.RawMessage(fmt.Sprintf(`{"owner":"%s","id":"%s"%s}`, d.alice.DID(), id, more)))
	return err
}

// gives has alice delegate to dave, below her namespace, and returns the tokens.
func (d *desk) gives(t *testing.T, dave *venue.User, can ...[2]string) (cids []string) {
	t.Helper()
	for _, c := range can {
		cids = append(cids, delegate(t, d.alice, dave.DID().String(), c[0], d.alice.DID().String()+"/"+c[1]))
	}
	return cids
}

var (
	mayAnswer = [2]string{"approval", "approvals"}
	mayRefund = [2]string{"crud/write", "w/refunds"}
)

// Who holds a delegation of it answers for another person, by their own key, for what they
// may do themselves.
func TestAnswerByDelegation(t *testing.T) {
	d := newDesk(t, "", true)
	dave := user(t, d.v, "dave")
	d.gives(t, dave, mayAnswer, mayRefund)
	req := d.ask(t, "w/refunds/1")
	out, err := dave.Invoke(t.Context(), "approval:list", map[string]string{"owner": d.alice.DID().String()})
	if err != nil || !strings.Contains(string(out), req.ID) {
		t.Errorf("dave lists %s, %v", out, err)
	}
	if err := d.answers(t, dave, "approval:show", req.ID, ""); err != nil {
		t.Error(err)
	}
	if err := d.answers(t, dave, "approval:approve", req.ID, ""); err != nil {
		t.Fatal(err)
	}
	if now := d.show(t, req.ID); now.Answer == nil || now.Answer.By != dave.DID().String() {
		t.Errorf("the request is %+v", now)
	}
	if _, result := d.goOn(t, req.Run); !strings.Contains(result, `"written":true`) {
		t.Errorf("the call comes to %s", result)
	}
	next := d.ask(t, "w/refunds/2")
	if err := d.answers(t, dave, "approval:deny", next.ID, `,"reason":"no"`); err != nil {
		t.Fatal(err)
	}
	if _, result := d.goOn(t, next.Run); !strings.Contains(result, "a person has refused this call: no") {
		t.Errorf("the call comes to %s", result)
	}
}

// Without the delegation, or for what they may not do, nobody answers for another.
func TestAnswerBeyondTheDelegation(t *testing.T) {
	for name, tc := range map[string]struct {
		given [][2]string
		code  fault.Code
		want  string
	}{
		"nothing":                {nil, fault.Denied, "The resource belongs to another user"},
		"looking":                {[][2]string{{"approval/read", "approvals"}, mayRefund}, fault.Denied, "The resource belongs to another user"},
		"other requests":         {[][2]string{{"approval", "approvals/01J"}, mayRefund}, fault.Denied, "The resource belongs to another user"},
		"answering alone":        {[][2]string{mayAnswer}, fault.Refused, "may not do crud/write on w/refunds/1 in the namespace of"},
		"less than the call":     {[][2]string{mayAnswer, {"crud/write", "w/refunds/2"}}, fault.Refused, "may not do crud/write on w/refunds/1 in the namespace of"},
		"another ability":        {[][2]string{mayAnswer, {"crud/read", "w"}}, fault.Refused, "may not do crud/write on w/refunds/1 in the namespace of"},
		"enough, for comparison": {[][2]string{mayAnswer, mayRefund}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "", true)
			dave := user(t, d.v, "dave")
			d.gives(t, dave, tc.given...)
			req := d.ask(t, "w/refunds/1")
			err := d.answers(t, dave, "approval:approve", req.ID, "")
			if fault.Of(err) != tc.code || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("dave approves: %v, want %q", err, tc.want)
			}
			if now := d.show(t, req.ID); (now.Status == approvals.Approved) != (tc.code == "") {
				t.Errorf("the request is %s", now.Status)
			}
		})
	}
}

// What the approver may do no more when the answer is used, it does not allow.
func TestAnAnswerEndsWithItsDelegation(t *testing.T) {
	for i, name := range []string{"to answer", "to do it"} {
		for _, when := range []string{"", `{"/value":{"max":5}}`} {
			t.Run(name+when, func(t *testing.T) {
				d := newDesk(t, "", true)
				dave := user(t, d.v, "dave")
				cids := d.gives(t, dave, mayAnswer, mayRefund)
				req := d.ask(t, "w/refunds/1")
				more := ""
				if when != "" {
					more = `,"when":` + when
					d.model.Ask("covia_write", `{"path":"w/refunds/1","value":5}`)
				}
				if err := d.answers(t, dave, "approval:approve", req.ID, more); err != nil {
					t.Fatal(err)
				}
				invoke(t, d.alice, "ucan:revoke", `{"cid":"`+cids[i]+`"}`)
				if _, result := d.goOn(t, req.Run); !strings.Contains(result, "does not hold any more") {
					t.Errorf("the call comes to %s", result)
				}
				if got := read(t, d.alice, "w/refunds/1"); got != `{"exists":false}` {
					t.Errorf("w/refunds/1 reads %s", got)
				}
			})
		}
	}
}

// No agent of anybody answers, by no way and whatever was delegated to it.
func TestAgentsDoNotAnswerByDelegation(t *testing.T) {
	d := newDesk(t, "", true)
	dave := user(t, d.v, "dave")
	d.gives(t, dave, mayAnswer, mayRefund)
	req := d.ask(t, "w/refunds/1")
	own, independent := spec("mallory", "", `null`), spec("eve", "", `null`)
	own.Tools, independent.Tools = []string{"approval:*"}, []string{"approval:*"}
	independent.Identity = agents.IdentityOwn
	for _, s := range []agents.Spec{own, independent} {
		a := create(t, dave, s)
		if s.Identity == agents.IdentityOwn {
			var info agents.Info
			if err := json.Unmarshal([]byte(invoke(t, dave, "agent:info", `{"agentId":"eve"}`)), &info); err != nil {
				t.Fatal(err)
			}
			for _, c := range [][2]string{mayAnswer, mayRefund} {
				delegate(t, d.alice, info.DID, c[0], d.alice.DID().String()+"/"+c[1])
			}
		}
		for _, op := range []string{"approval_approve", "approval_deny"} {
			done := attempt(t, a, d.model, op, fmt.Sprintf(`{"owner":"%s","id":"%s"}`, d.alice.DID(), req.ID))
			if !strings.Contains(done.Result, "an agent cannot answer for a person") {
				t.Errorf("%s of %s: %+v", op, s.ID, done)
			}
		}
	}
	if now := d.show(t, req.ID); now.Status != approvals.Pending {
		t.Errorf("the request is %s", now.Status)
	}
	if rec, err := d.alice.Run(t.Context(), req.Run); err != nil || rec.Status != runs.Waiting {
		t.Errorf("the run is %s, %v", rec.Status, err)
	}
}

// An answer is of who signed it: in the name of another it allows nothing.
func TestAnAnswerInAnothersName(t *testing.T) {
	d := newDesk(t, "", true)
	dave := user(t, d.v, "dave")
	d.gives(t, dave, mayAnswer, mayRefund)
	req := d.ask(t, "w/refunds/1")
	if err := d.answers(t, dave, "approval:approve", req.ID, ""); err != nil {
		t.Fatal(err)
	}
	key := fmt.Sprint("p/req/", d.alice.DID(), "/", req.ID)
	if n, err := d.v.Replace(t.Context(), key, `"by":"`+dave.DID().String(), `"by":"`+d.alice.DID().String()); err != nil || n != 1 {
		t.Fatalf("%d places changed, %v", n, err)
	}
	if _, result := d.goOn(t, req.Run); !strings.Contains(result, "is not what a person has signed") {
		t.Errorf("the call comes to %s", result)
	}
}
