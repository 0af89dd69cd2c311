package venue

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/tools/orchestrate"
	"usher/tools/spend"
)

// What may hold a secret is taken out of the record that is shown, and stays in
// the one that is worked with.
func TestRedact(t *testing.T) {
	raw := json.RawMessage(`"hunter2"`)
	full := func() Job {
		return Job{ID: "j", Input: raw, Output: raw, Error: "no hunter2", Steps: []orchestrate.Step{{Input: raw, Output: raw, Error: "no hunter2"}, {}}}
	}
	for _, tc := range []struct {
		name string
		all  bool
		want Job
	}{
		{"all of it", true, Job{
			ID: "j", Input: redacted, Output: redacted, Error: redactedError, Sealed: true,
			Steps: []orchestrate.Step{{Input: redacted, Output: redacted, Error: redactedError}, {}},
		}},
		{"what went in", false, Job{
			ID: "j", Input: redacted, Output: raw, Error: "no hunter2", Sealed: true,
			Steps: []orchestrate.Step{{Input: redacted, Output: raw, Error: "no hunter2"}, {}},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			job := full()
			if diff := cmp.Diff(tc.want, job.redact(tc.all)); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(full(), job); diff != "" {
				t.Errorf("the record itself (-want +got):\n%s", diff)
			}
		})
	}
}

// Who may not read the agent whose budget ended a job is told neither its name
// nor its numbers, in no part of the record.
func TestADiscreetJob(t *testing.T) {
	spent := &spend.BudgetError{Budget: "agent boss", Kind: "calls", Spent: 41, Limit: 42}
	full := func(by *spend.BudgetError) Job {
		text := "agent kid: " + by.Error()
		return Job{ID: "j", Error: text, Budget: by, Steps: []orchestrate.Step{{Error: "step 1: " + text}, {Error: "other"}}}
	}
	run := &spend.BudgetError{Budget: "run of kid", Kind: "calls", Spent: 41, Limit: 42}
	for _, tc := range []struct {
		name   string
		job    Job
		knows  []string
		hidden bool
	}{
		{"who may not read it", full(spent), []string{"kid"}, true},
		{"who may", full(spent), []string{"boss"}, false},
		{"the budget of a run", full(run), nil, false},
		{"no budget", Job{ID: "j", Error: "agent boss: no"}, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, err := json.Marshal(tc.job)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(tc.job.discreet(func(id string) bool { return slices.Contains(tc.knows, id) }))
			if err != nil {
				t.Fatal(err)
			}
			if after, _ := json.Marshal(tc.job); string(after) != string(before) {
				t.Errorf("the record itself was changed to %s", after)
			}
			told := strings.Contains(string(got), "boss") || strings.Contains(string(got), "41") || strings.Contains(string(got), "42")
			if tc.hidden && told || !tc.hidden && string(got) != string(before) {
				t.Errorf("the record is shown as %s, of %s", got, before)
			}
			if tc.hidden && strings.Count(string(got), "is spent, in calls: whoever set it can raise it") != 2 {
				t.Errorf("the record does not say that a budget is spent: %s", got)
			}
		})
	}
}
