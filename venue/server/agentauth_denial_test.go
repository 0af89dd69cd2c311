package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/venue"
	"usher/venue/config"
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

// What a program of the owner's does inside is told to no agent from elsewhere, also where it is denied
// there, or fails: neither where its steps work, nor what it may do while it runs.
func TestNoDenialTellsOfTheInside(t *testing.T) {
	text := strings.Replace(settings, "agentauth:\n", `orchestrations:
  - id: denied
    input: {type: object, required: [to], properties: {to: {type: string}}}
    steps:
      - {name: keep, op: covia:write, input: {path: w/ledger/a, value: 1}}
      - {name: hush, op: covia:write, input: {path: [concat, w/private/payroll/, [input, to]], value: 1}}
  - id: fails
    steps: [{name: hush, op: covia:slice, input: {path: w/ledger/payroll, offset: -7}}]
agentauth:
`, 1)
	offers := ""
	for _, id := range []string{"denied", "fails"} {
		for _, answer := range []string{"sync", "async", "stream"} {
			offers += fmt.Sprintf("    - {name: %s_%s, operation: o/%[1]s, caps: [{with: o/%[1]s, can: invoke}], within: [{with: w/ledger/, can: crud}], answer: %[2]s}\n", id, answer)
		}
	}
	cfg, err := config.Parse("usher.yaml", []byte(strings.Replace(text, "  autonomous:", offers+"  autonomous:", 1)))
	if err != nil {
		t.Fatal(err)
	}
	w := visitorOpen(t, &venue.Options{Config: cfg})
	all := []any{"denied_sync", "denied_async", "denied_stream", "fails_sync", "fails_async", "fails_stream"}
	a := w.host().approved(object{"capabilities": all})
	for _, name := range all {
		status, out := a.execute(name.(string), object{"to": "x"})
		if at, waits := out["status_url"].(string); waits {
			for out["status"] == "pending" {
				_, out = w.get(strings.TrimPrefix(at, w.server.URL), a.jwt(nil))
			}
		}
		told := fmt.Sprint(out)
		_, batch := w.post("/capability/batch-execute", a.jwt(nil), object{"requests": []any{object{"capability": name, "arguments": object{"to": "x"}}}})
		for _, said := range []string{told, fmt.Sprint(batch)} {
			for _, inside := range []string{"hush", "payroll", "ledger", "covia"} {
				if inside == "hush" && strings.HasSuffix(name.(string), "stream") {
					continue // whose events name the steps
				}
				if strings.Contains(said, inside) {
					t.Errorf("%s (%d) tells of %s: %s", name, status, inside, said)
				}
			}
		}
		if strings.HasPrefix(name.(string), "denied") && !strings.Contains(told, "capability_denied") {
			t.Errorf("%s (%d) is no denial: %s", name, status, told)
		}
	}
	status, out := a.execute("denied_sync", object{"to": 5})
	if w.want("its own arguments", status, out, http.StatusBadRequest, "invalid_request"); !strings.Contains(fmt.Sprint(out["message"]), "string") {
		t.Errorf("its own arguments are not told of: %v", out)
	}
}
