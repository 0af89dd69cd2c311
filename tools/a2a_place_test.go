package tools_test

import (
	"encoding/json"
	"testing"

	"usher/caps"
	"usher/tools/a2a"
)

// One agent elsewhere has one spelling as a resource: who is denied it is not let through under
// another name of its server.
func TestAnAgentElsewhereHasOneName(t *testing.T) {
	var declared caps.Declaration
	if err := json.Unmarshal([]byte(`[{"with":"https://","can":"a2a"},{"with":"https://bank.example","can":"*","deny":true},{"with":"https://1.2.3.4","can":"*","deny":true}]`), &declared); err != nil {
		t.Fatal(err)
	}
	set, _ := declared.Set()
	for _, op := range a2a.Operations(nil) {
		if op.Name() != "a2a:card" {
			continue
		}
		for agent, want := range map[string]string{
			"https://shop.example/bob": "allowed", "https://bank.example/bob": "denied", "https://Bank.Example:443/bob/": "denied",
			"https://bank.example./bob": "refused", "https://bank.example:/bob": "refused", "https://bank.example:0443/bob": "refused",
			"https://b\uff41nk.example/bob": "refused", "https://b%EF%BD%81nk.example/bob": "refused", "https://bank\u3002example/bob": "refused", "https://1.2.3.4/bob": "denied",
			"https://16909060/bob": "refused", "https://[::ffff:1.2.3.4]/bob": "refused", "https://1.2.772/bob": "refused",
		} {
			raw, err := json.Marshal(map[string]string{"agent": agent})
			if err != nil {
				t.Fatal(err)
			}
			needs, err := op.Requirements(raw)
			got := "allowed"
			switch {
			case err != nil:
				got = "refused"
			default:
				for _, need := range needs {
					if !set.Check(need).IsAllowed() {
						got = "denied"
					}
				}
			}
			if got != want {
				t.Errorf("%s is %s, want %s", agent, got, want)
			}
		}
	}
}
