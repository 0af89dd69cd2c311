package venue_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/venue"
	"usher/venue/apply"
)

// What leaves the configuration is still there, and is told of until it is
// removed, replaced or taken in again.
func TestWhatLeavesTheConfigurationIsTold(t *testing.T) {
	const (
		models = "user: alice\nmodels: {default: {provider: offline}}\n"
		both   = models + "agents: [{id: Carol, caps: []}]\norchestrations: [{id: p, steps: [{op: covia:list}]}, {id: q, steps: [{op: covia:list}]}]\n"
	)
	dir := t.TempDir()
	for i, tt := range []struct {
		config    string
		want      apply.Outcome
		operation string // that somebody runs afterwards
		input     string
	}{
		{both, apply.Outcome{}, "covia:write", `{"path":"o/q","value":{"operation":{"adapter":"covia:read"}}}`},
		{models, apply.Outcome{Agents: []string{"Carol"}, Orchestrations: []string{"o/p"}}, "", ""},
		{both, apply.Outcome{}, "covia:delete", `{"path":"o/p"}`},
		{models, apply.Outcome{Agents: []string{"Carol"}}, "agent:delete", `{"agentId":"Carol"}`},
		{models, apply.Outcome{}, "", ""},
	} {
		v, err := venue.Open(t.Context(), &venue.Options{Dir: dir, Config: parse(t, tt.config)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, v.Outcome()); diff != "" {
			t.Errorf("opening %d (-want +got):\n%s", i, diff)
		}
		if tt.operation != "" {
			invoke(t, user(t, v, "alice"), tt.operation, tt.input)
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
