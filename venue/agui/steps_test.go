package agui_test

import (
	"encoding/json"
	"slices"
	"testing"

	"usher/venue/agui"
)

// stepped is what a stream says of steps.
func stepped(list []agui.Event) (steps []string) {
	for _, ev := range list {
		switch ev.Text("type") {
		case "STEP_STARTED":
			steps = append(steps, "begins "+ev.Text("stepName"))
		case "STEP_FINISHED":
			steps = append(steps, "ends "+ev.Text("stepName"))
		}
	}
	return steps
}

// The steps of an orchestration that an agent has run are told as steps, each to its end, also
// where one fails or waits for a person and the run goes on later.
func TestStepsOfAnOrchestration(t *testing.T) {
	for name, tt := range map[string]struct {
		last  string // step
		waits bool
		want  []string
	}{
		"to the end": {`{"name":"get","op":"covia:read","input":{"path":["const","w/notes/a"]},"after":[0]}`, false, []string{
			"begins 0 covia:write", "ends 0 covia:write", "begins 1 covia:read", "ends 1 covia:read",
		}},
		"denied": {`{"name":"get","op":"covia:read","input":{"path":["const","w/audits/a"]},"after":[0]}`, false, []string{
			"begins 0 covia:write", "ends 0 covia:write", "begins 1 covia:read", "ends 1 covia:read",
		}},
		"waits": {`{"name":"pay","op":"covia:write","input":{"path":["const","w/refunds/a"],"value":["const",1]},"after":[0]}`, true, []string{
			"begins 0 covia:write", "ends 0 covia:write", "begins 1 covia:write", "ends 1 covia:write",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t)
			doc := `{"path":"o/two","value":{"type":"orchestration","operation":{"adapter":"orchestrator","steps":[
				{"name":"put","op":"covia:write","input":{"path":["const","w/notes/a"],"value":["const",1]}},` + tt.last + `],"result":{}}}}`
			if _, err := p.alice.Invoke(t.Context(), "covia:write", json.RawMessage(doc)); err != nil {
				t.Fatal(err)
			}
			p.create(t, "dora", `{"tools":["grid:run"],"caps":[{"with":"o/two","can":"invoke"},{"with":"w/notes","can":"crud"},{"with":"w/refunds","can":"crud","ask":true}]}`)
			p.model.answer(called("", "c1", "grid_run", `{"operation":"o/two","input":{}}`)...)
			p.model.answer(said("Done.")...)
			list := p.run(t, "/dora", says("th1", "go"))
			if got := stepped(list); !slices.Equal(got, tt.want) {
				t.Errorf("it tells of %q, want %q", got, tt.want)
			}
			if !tt.waits {
				return
			}
			id := interruptOf(t, list).Text("id")
			list = p.run(t, "/dora", resumes("th1", map[string]any{"interruptId": id, "status": "resolved", "payload": map[string]any{"approved": true}}))
			if got, want := stepped(list), tt.want[2:]; !slices.Equal(got, want) {
				t.Errorf("behind the answer it tells of %q, want %q", got, want)
			}
			if got := spoken(list); !slices.Equal(got, []string{"Done."}) {
				t.Errorf("it says %q", got)
			}
		})
	}
}

// A model that counts no tokens has not used none.
func TestWhatNobodyCountsIsNotTold(t *testing.T) {
	p := serve(t)
	list := p.run(t, "/bob", says("th1", "hello"))
	if end := list[len(list)-1]; end.Text("type") != "RUN_FINISHED" || end["usage"] != nil {
		t.Errorf("it ends with %v", end)
	}
}
