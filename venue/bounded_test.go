package venue_test

import (
	"encoding/json"
	"strings"
	"testing"

	"usher/runtime"
)

// An agent that works for another is told by whom it is bounded, and the ledger is; one
// that may not do it anyway, or that acts by its own authority, is not.
func TestADenialSaysByWhomItIsBounded(t *testing.T) {
	const may, not = `[{"with":"w/","can":"crud"}]`, `[{"with":"w/other","can":"crud"}]`
	for name, tt := range map[string]struct {
		boss, held, by string
	}{
		"the asker lacks it":   {`[{"with":"g/","can":"agent"}]`, may, "boss"},
		"neither has it":       {`[{"with":"g/","can":"agent"}]`, not, ""},
		"only the asker has":   {`[{"with":"g/","can":"agent"},{"with":"w/","can":"crud"}]`, not, ""},
		"nobody has the place": {`[{"with":"g/","can":"agent"}]`, `[]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			boss, kid := new(puppet), new(puppet)
			opts := with(boss)
			opts.Models["kid"] = kid
			v := open(t, opts)
			alice := user(t, v, "alice")
			create(t, alice, spec("boss", "", tt.boss))
			create(t, alice, spec("kid", "kid", tt.held))
			kid.Ask("covia_write", `{"path":"w/a","value":1}`)
			if done := attempt(t, agentOf(t, alice, "boss"), boss, "agent_request", `{"agentId":"kid","input":"write"}`); done.Outcome != runtime.ToolOK {
				t.Fatalf("%s %s", done.Outcome, done.Result)
			}
			var told struct{ BoundedBy, Message string }
			if err := json.Unmarshal([]byte(kid.Results()[0]), &told); err != nil {
				t.Fatal(err)
			}
			if told.BoundedBy != tt.by || strings.Contains(told.Message, "bounded by boss, who asked") != (tt.by != "") {
				t.Errorf("it is told %+v, want %q", told, tt.by)
			}
			found := false
			for row, err := range v.Audit(t.Context(), 1) {
				if err != nil {
					t.Fatal(err)
				}
				if row.Entry != nil && row.Operation == "v/ops/covia/write" {
					if found = true; row.BoundedBy != tt.by {
						t.Errorf("the row says %q", row.BoundedBy)
					}
				}
			}
			if !found {
				t.Error("there is no row of it")
			}
		})
	}
}
