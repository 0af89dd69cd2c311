package server_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A denial has its points beside its text, also as an item of a batch. What two grants give
// stands there once.
func TestDenial(t *testing.T) {
	w := visitorOpen(t, nil)
	a := w.host().approved(object{"capabilities": []string{"write_account", "write_again"}})
	arguments := object{"path": "w/secret", "value": 1}

	status, alone := a.execute("write_account", arguments)
	w.want("alone", status, alone, http.StatusForbidden, "capability_denied")
	given, _ := alone["capabilities"].([]any)
	if len(given) != 1 {
		t.Fatalf("alone: it lists %v", given)
	}
	until := given[0].(object)["until"]
	want := object{
		"operation": "v/ops/covia/write", "ability": "crud/write", "resource": "w/secret", "retryable": false,
		"capabilities": []any{object{"with": "w/accounts", "can": "crud/write", "until": until}},
		"message":      alone["message"], "error": "capability_denied",
	}
	delete(alone, "hint")
	if diff := cmp.Diff(want, alone); diff != "" {
		t.Errorf("alone (-want +got):\n%s", diff)
	}

	status, out := w.post("/capability/batch-execute", a.jwt(nil), object{"requests": []any{object{"id": "1", "capability": "write_account", "arguments": arguments}}})
	if status != http.StatusOK {
		t.Fatalf("batch: %d %v", status, out)
	}
	item := out["responses"].([]any)[0].(object)["error"].(object)
	delete(item, "hint")
	want["code"] = want["error"]
	delete(want, "error")
	if diff := cmp.Diff(want, item); diff != "" {
		t.Errorf("in a batch (-want +got):\n%s", diff)
	}
}
