package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/tools"
	"usher/tools/grid"
	"usher/tools/toolstest"
	"usher/ucan"
)

// desk runs what it is given through the gate and remembers what it was asked.
type desk struct{ asked []string }

var _ grid.Jobs = (*desk)(nil)

func (d *desk) Run(ctx context.Context, call tools.Call, operation string, input json.RawMessage) (json.RawMessage, error) {
	d.asked = append(d.asked, "run "+operation+" "+string(input))
	result, err := call.Invoke(ctx, operation, input)
	return result.Output, err
}

func (d *desk) Start(_ context.Context, _ tools.Call, operation string, input json.RawMessage) (grid.Status, error) {
	d.asked = append(d.asked, "start "+operation+" "+string(input))
	return grid.Status{ID: "0a1b", Op: operation, Status: "STARTED", Created: 1, Updated: 2}, nil
}

func (d *desk) Status(_ context.Context, _ tools.Call, id string) (grid.Status, error) {
	d.asked = append(d.asked, "status "+id)
	return grid.Status{ID: id, Status: "COMPLETE", Created: 1, Updated: 2, Output: json.RawMessage(`{"a":1.50}`)}, nil
}

func (d *desk) Result(_ context.Context, _ tools.Call, id string, timeout time.Duration) (json.RawMessage, error) {
	d.asked = append(d.asked, "result "+id+" "+timeout.String())
	return json.RawMessage(`[1]`), nil
}

func (d *desk) List(_ context.Context, _ tools.Call, q grid.Query) (grid.Listing, error) {
	d.asked = append(d.asked, fmt.Sprintf("list %d %q", q.Limit, q.Cursor))
	return grid.Listing{Jobs: []grid.Job{{ID: "0a1b", Kind: "turn", Status: "PAUSED", Created: 1, Updated: 2}}, Cursor: "0a1b"}, nil
}

func (d *desk) manage(what, id string) (grid.Status, error) {
	d.asked = append(d.asked, what+" "+id)
	return grid.Status{ID: id, Status: "PAUSED", Created: 1, Updated: 2}, nil
}

func (d *desk) Cancel(_ context.Context, _ tools.Call, id string) (grid.Status, error) {
	return d.manage("cancel", id)
}

func (d *desk) Pause(_ context.Context, _ tools.Call, id string, wait time.Duration) (grid.Status, error) {
	return d.manage("pause "+wait.String(), id)
}

func (d *desk) Resume(_ context.Context, _ tools.Call, id string) (grid.Status, error) {
	return d.manage("resume", id)
}

func (d *desk) Outcome(_ context.Context, _ tools.Call, in grid.Outcome) (grid.OutcomeResult, error) {
	d.asked = append(d.asked, "outcome "+in.ID+" "+in.Call+" "+in.Outcome)
	return grid.OutcomeResult{ID: in.ID, Call: in.Call, Outcome: in.Outcome}, nil
}

type note struct {
	Path caps.Path `json:"path,omitzero"`
}

// invoke calls an operation as an agent with these capabilities.
func invoke(t *testing.T, d *desk, held caps.Set, op, input string) (string, error) {
	t.Helper()
	key, err := ucan.KeyFromSeed(append(make([]byte, 31), 7))
	if err != nil {
		t.Fatal(err)
	}
	registry := new(tools.Registry)
	read := tools.New("test:read", "Read.",
		func(in note) []caps.Request {
			at, err := in.Path.Resource()
			if err != nil {
				return []caps.Request{caps.Invalid(err)}
			}
			return []caps.Request{caps.NeedOn("crud/read", at)}
		},
		func(_ context.Context, _ tools.Call, in note) (string, error) { return in.Path.String(), nil })
	if err := registry.Register(append(grid.Operations(d), read)...); err != nil {
		t.Fatal(err)
	}
	g, mint := toolstest.NewGate(registry, nil)
	auth := mint.Agent(key.DID(), "Ann", func() caps.Set { return held })
	result, err := g.Invoke(t.Context(), auth, tools.Invocation{Operation: op, Input: json.RawMessage(input)})
	return string(result.Output), err
}

func TestOperations(t *testing.T) {
	held := caps.Of(caps.MustCapability("w/notes", "crud/read"), caps.MustCapability("", "invoke"), caps.MustCapability("j/", "crud/read"), caps.MustCapability("j/", "job"))
	const paused = `{"id":"0a1b","status":"PAUSED","created":1,"updated":2}`
	tests := []struct{ name, op, input, want, asked string }{
		{"run", "grid:run", `{"operation":"test:read","input":{"path":"w/notes/a"}}`, `"w/notes/a"`, `run test:read {"path":"w/notes/a"}`},
		{"run with a JSON text", "grid:run", `{"operation":"test:read","input":" {\"path\":\"w/notes/a\"}"}`, `"w/notes/a"`, `run test:read {"path":"w/notes/a"}`},
		{"null as venue", "grid:run", `{"operation":"test:read","input":{"path":"w/notes"},"venue":null}`, `"w/notes"`, `run test:read {"path":"w/notes"}`},
		{"start without input", "grid:invoke", `{"operation":"o/plan"}`, `{"id":"0a1b","op":"o/plan","status":"STARTED","created":1,"updated":2}`, "start o/plan {}"},
		{"start with null", "grid:invoke", `{"operation":"o/plan","input":null}`, `{"id":"0a1b","op":"o/plan","status":"STARTED","created":1,"updated":2}`, "start o/plan {}"},
		{"status", "grid:jobStatus", `{"id":"0a1b"}`, `{"id":"0a1b","status":"COMPLETE","created":1,"updated":2,"output":{"a":1.50}}`, "status 0a1b"},
		{"result", "grid:jobResult", `{"id":"0a1b"}`, `[1]`, "result 0a1b 0s"},
		{"list", "grid:jobList", `{"limit":1,"cursor":"0c"}`, `{"jobs":[{"id":"0a1b","kind":"turn","status":"PAUSED","created":1,"updated":2}],"cursor":"0a1b"}`, `list 1 "0c"`},
		{"cancel", "grid:jobCancel", `{"id":"0a1b"}`, paused, "cancel 0a1b"},
		{"pause", "grid:jobPause", `{"id":"0a1b"}`, paused, "pause 5s 0a1b"},
		{"pause without waiting", "grid:jobPause", `{"id":"0a1b","wait":0}`, paused, "pause 0s 0a1b"},
		{"resume", "v/ops/grid/job-resume", `{"id":"0a1b"}`, paused, "resume 0a1b"},
		{"outcome", "grid:jobOutcome", `{"id":"0a1b","call":"c1","outcome":"happened"}`, `{"id":"0a1b","call":"c1","outcome":"happened"}`, "outcome 0a1b c1 happened"},
		{"result in time", "v/ops/grid/job-result", `{"id":"0a1b","timeout":1500}`, `[1]`, "result 0a1b 1.5s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := new(desk)
			got, err := invoke(t, d, held, tt.op, tt.input)
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("%s(%s) = %s, want %s", tt.op, tt.input, got, tt.want)
			}
			if diff := cmp.Diff([]string{tt.asked}, d.asked); diff != "" {
				t.Errorf("asked (-want +got)\n%s", diff)
			}
		})
	}
}

func TestInvalidInput(t *testing.T) {
	tests := []struct{ name, op, input, want string }{
		{"no operation", "grid:run", `{"input":{}}`, "operation is missing"},
		{"blank operation", "grid:invoke", `{"operation":" "}`, "operation is missing"},
		{"list as input", "grid:run", `{"operation":"a:b","input":[1]}`, "input is not a JSON object"},
		{"text that is no JSON", "grid:run", `{"operation":"a:b","input":"hello"}`, "input is not a JSON object"},
		{"text that holds a list", "grid:run", `{"operation":"a:b","input":"[1]"}`, "input is not a JSON object"},
		{"broken JSON text", "grid:run", `{"operation":"a:b","input":"{\"a\":"}`, "input is not a JSON object"},
		{"other venue", "grid:run", `{"operation":"a:b","venue":"did:web:x"}`, "venue is given"},
		{"other venue's job", "grid:jobStatus", `{"id":"0a","venue":"did:web:x"}`, "venue is given"},
		{"no id", "grid:jobStatus", `{}`, "id is missing"},
		{"path as id", "grid:jobResult", `{"id":"../w/notes"}`, "is no job id"},
		{"two segments", "grid:jobStatus", `{"id":"0a/0b"}`, "is no job id"},
		{"negative timeout", "grid:jobResult", `{"id":"0a","timeout":-1}`, "timeout is -1"},
		{"endless timeout", "grid:jobResult", `{"id":"0a","timeout":9223372036854775807}`, "give milliseconds from 0 to 86400000"},
		{"too long a page", "grid:jobList", `{"limit":1001}`, "limit is 1001"},
		{"path as cursor", "grid:jobList", `{"cursor":"../w"}`, "cursor: "},
		{"path as id of one to cancel", "grid:jobCancel", `{"id":"0a/0b"}`, "is no job id"},
		{"outcome that is none", "grid:jobOutcome", `{"id":"0a","outcome":"ok"}`, "give happened or failed"},
		{"negative wait", "grid:jobPause", `{"id":"0a","wait":-1}`, "wait is -1"},
		{"unknown field", "grid:run", `{"operation":"a:b","inptu":{}}`, "inptu"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := new(desk)
			_, err := invoke(t, d, caps.Unrestricted(), tt.op, tt.input)
			var input *tools.InputError
			if !errors.As(err, &input) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s(%s) = %v, want an input error with %q", tt.op, tt.input, err, tt.want)
			}
			if d.asked != nil {
				t.Errorf("it ran: %v", d.asked)
			}
		})
	}
}

func TestDenials(t *testing.T) {
	tests := []struct{ name, with, can, op, input, denied string }{
		{"run without invoke", "w/", "crud", "grid:run", `{"operation":"test:read","input":{"path":"w/a"}}`, "v/ops/grid/run"},
		{"what runs is asked too", "", "invoke", "grid:run", `{"operation":"test:read","input":{"path":"w/a"}}`, "v/ops/test/read"},
		{"start without invoke", "", "crud", "grid:invoke", `{"operation":"a:b"}`, "v/ops/grid/invoke"},
		{"status of another job", "j/0a", "crud/read", "grid:jobStatus", `{"id":"0b"}`, "v/ops/grid/job-status"},
		{"list by one job", "j/0a", "crud/read", "grid:jobList", `{}`, "v/ops/grid/job-list"},
		{"cancel by all on data", "", "crud", "grid:jobCancel", `{"id":"0b"}`, "v/ops/grid/job-cancel"},
		{"pause of another job", "j/0a", "job", "grid:jobPause", `{"id":"0b"}`, "v/ops/grid/job-pause"},
		{"resume by read", "j/", "crud/read", "grid:jobResume", `{"id":"0b"}`, "v/ops/grid/job-resume"},
		{"outcome by read", "j/", "crud/read", "grid:jobOutcome", `{"id":"0b","outcome":"failed"}`, "v/ops/grid/job-outcome"},
		{"result without read", "", "invoke", "grid:jobResult", `{"id":"0b"}`, "v/ops/grid/job-result"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := invoke(t, new(desk), caps.Of(caps.MustCapability(tt.with, tt.can)), tt.op, tt.input)
			var denial *caps.Denial
			if !errors.As(err, &denial) || denial.Operation != tt.denied {
				t.Errorf("%s(%s) = %v, want a denial of %s", tt.op, tt.input, err, tt.denied)
			}
		})
	}
}

// An operation is offered if and only if some input of it would be allowed.
func TestOffered(t *testing.T) {
	tests := []struct {
		with, can string
		want      []string
	}{
		{"w/", "invoke", []string{"grid:run", "grid:invoke"}},
		{"j/", "crud/read", []string{"grid:jobStatus", "grid:jobResult", "grid:jobList"}},
		{"j/", "job", []string{"grid:jobCancel", "grid:jobPause", "grid:jobResume", "grid:jobOutcome"}},
		{"j/0a", "crud", []string{"grid:jobStatus", "grid:jobResult"}},
		{"j/0a/steps", "crud", nil},
		{"w/", "crud", nil},
	}
	for _, tt := range tests {
		var got []string
		for _, op := range grid.Operations(new(desk)) {
			if op.CouldAllow(caps.Of(caps.MustCapability(tt.with, tt.can))) {
				got = append(got, op.Name())
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s on %s (-want +got)\n%s", tt.can, tt.with, diff)
		}
	}
}
