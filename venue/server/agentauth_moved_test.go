package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A person approves what they have looked at: where a capability has come to give something else since,
// their word is not taken, at any door, and what it gives now is shown.
func TestAnApprovalIsOfWhatWasShown(t *testing.T) {
	const old = "description: Read an account., caps: [{with: w/accounts/, can: crud/read}]"
	for shown, now := range map[string]string{
		"crud/read on w/.": "description: Read an account., caps: [{with: w/, can: crud/read}]",
		"crud on w/secret": "description: Read an account., caps: [{with: w/accounts/, can: crud/read}], within: [{with: w/secret, can: crud}]",
	} {
		w := visitorOpen(t, nil)
		h := w.host()
		h.approved(nil)
		a, _ := h.register(object{"capabilities": []any{"read_account", "write_account"}})
		form := url.Values{"agent_id": {a.id}, "code": {code(a.was)}, "action": {"look"}, "forgery": {w.alice.forgery}, "allow": {"read_account"}}
		look := func() string {
			t.Helper()
			form.Set("action", "look")
			status, text, _ := w.alice.form(form)
			_, terms, found := strings.Cut(text, `name="terms-read_account" value="`)
			if terms, _, _ = strings.Cut(terms, `"`); status != http.StatusOK || !found {
				t.Fatalf("the page: %d %s", status, text)
			}
			form.Set("action", "approve")
			return terms
		}
		form.Set("terms-read_account", look())
		request := w.alice.waits()[0]
		w.offers(old, now)
		status, text, _ := w.alice.form(form)
		if status != http.StatusBadRequest || !strings.Contains(text, "look at it again") || !strings.Contains(text, shown) {
			t.Errorf("on the page: %d %s", status, text)
		}
		status, out := w.alice.answer(object{"agent_id": a.id, "user_code": code(a.was), "action": "approve"})
		w.want("by the code", status, out, http.StatusBadRequest, "invalid_request")
		status, out = w.alice.answer(object{"approval_id": request["id"], "action": "approve"})
		w.want("by the request", status, out, http.StatusBadRequest, "invalid_request")
		if _, err := w.alice.invoke("approval:approve", object{"id": request["id"], "digest": request["digest"]}); err == nil {
			t.Error("among the approvals it is approved")
		}
		form.Set("terms-read_account", look())
		if status, text, _ := w.alice.form(form); status != http.StatusOK || !strings.Contains(text, "You have approved 1 of 2.") {
			t.Errorf("what is shown now: %d %s", status, text)
		}
	}
}
