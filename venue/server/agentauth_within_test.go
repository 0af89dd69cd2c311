package server_test

import (
	"fmt"
	"testing"
)

// What an operation may do further while it runs is nothing that an execute asks of it itself, nor
// is it what a denial lists.
func TestWhatIsWithinIsNotExecuted(t *testing.T) {
	w := visitorOpen(t, nil)
	a := w.host().approved(object{"capabilities": []any{"careful_write"}})
	status, out := a.execute("careful_write", object{"path": "w/accounts/one", "value": 1})
	w.want("what is given", status, out, 200, "")
	status, out = a.execute("careful_write", object{"path": "w/ledger/one", "value": 1})
	w.want("what is within", status, out, 403, "capability_denied")
	if list := fmt.Sprint(out["capabilities"]); list == "" || list != fmt.Sprint([]any{out["capabilities"].([]any)[0]}) {
		t.Errorf("the denial lists %s", list)
	}
	status, out = w.post("/capability/batch-execute", a.jwt(nil), object{"requests": []any{object{"capability": "careful_write", "arguments": object{"path": "w/ledger/one", "value": 1}}}})
	if list, _ := out["responses"].([]any); status != 200 || len(list) != 1 || list[0].(object)["status"] != "failed" {
		t.Errorf("in a batch: %d %v", status, out)
	}
}
