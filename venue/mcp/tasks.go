package mcp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/tools"
	"usher/tools/fault"
	"usher/tools/grid"
	"usher/tools/pause"
	"usher/venue/runs"
)

// tasksExtension is that of SEP-2663. A task is a job of the venue.
const tasksExtension = "io.modelcontextprotocol/tasks"

// Work says how an operation that takes long is called.
type Work struct {
	Begins bool // its output is a job that it has begun; otherwise it runs as one
	Only   bool // for clients that take tasks, and no others
}

// long are the built-in operations that take long, by their paths.
var long = map[string]Work{
	"v/ops/agent/chat": {}, "v/ops/agent/request": {}, "v/ops/agent/trigger": {},
	"v/ops/grid/run": {}, "v/ops/grid/invoke": {Begins: true},
}

const (
	pollTime = time.Second     // that a client leaves between two looks at a task
	stepTime = 5 * time.Second // between two words on the progress of a job
	wakeTime = 10 * time.Second
)

// tasks reports whether the client of a message takes tasks.
func (c *caller) tasks() bool {
	if !c.modern || c.client == nil {
		return false
	}
	_, ok := c.client.Extensions[tasksExtension]
	return ok
}

var errLackTasks = lackError(map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}})

// taskParams are those of tasks/get, tasks/update and tasks/cancel.
type taskParams struct {
	sdk.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

// addTasks has a server take the methods of tasks, which [desk.receive] answers.
func addTasks(s *sdk.Server) error {
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		err := sdk.AddReceivingCustomMethod(s, method, func(context.Context, *sdk.ServerSession, *taskParams) (*answer, error) {
			return nil, failure(errFault)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *desk) task(ctx context.Context, c *caller, method string, params *taskParams, named []string) (sdk.Result, error) {
	switch {
	case !c.tasks():
		return nil, errLackTasks
	case params == nil || params.TaskID == "":
		return nil, fault.New(fault.InvalidInput, "taskId is missing")
	case len(named) > 0 && named[0] != params.TaskID:
		return nil, &jsonrpc.Error{Code: sdk.CodeHeaderMismatch, Message: "header mismatch: Mcp-Name is not the task of the body"}
	}
	rec, err := c.Run(ctx, params.TaskID)
	if err != nil {
		return nil, err
	}
	switch method {
	case "tasks/get":
		return d.taskView(ctx, c, &rec)
	case "tasks/update":
		waiting, err := d.requests(ctx, c, rec.ID)
		if err == nil {
			err = d.settle(ctx, c, waiting, params.InputResponses)
		}
		if err != nil {
			return nil, err
		}
	case "tasks/cancel":
		if !rec.Over() {
			if err := c.Stop(ctx, rec.ID); err != nil {
				return nil, err
			}
		}
	}
	return answerOf(c, map[string]any{}), nil
}

// statuses are those of tasks; what has not ended and waits for nobody is at work.
var statuses = map[string]string{
	runs.Complete: "completed", runs.Failed: "completed", runs.Rejected: "completed", runs.Cancelled: "cancelled",
}

// taskResult is the result of a call that has become a task.
func (d *desk) taskResult(c *caller, rec *runs.Record) *answer {
	members := taskOf(rec)
	members["resultType"], members["status"] = "task", "working"
	return answerOf(c, members)
}

func taskOf(rec *runs.Record) map[string]any {
	status := statuses[rec.Status]
	if status == "" {
		status = "working"
	}
	stamp := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }
	return map[string]any{
		"taskId": rec.ID, "status": status, "createdAt": stamp(rec.Created), "lastUpdatedAt": stamp(rec.Updated),
		"ttlMs": nil, "pollIntervalMs": pollTime.Milliseconds(),
	}
}

// taskView is what there is to tell of a task.
func (d *desk) taskView(ctx context.Context, c *caller, rec *runs.Record) (sdk.Result, error) {
	members := taskOf(rec)
	if !rec.Over() {
		waiting, err := d.requests(ctx, c, rec.ID)
		if err != nil {
			return nil, err
		}
		if len(waiting) > 0 {
			members["status"], members["inputRequests"] = "input_required", forms(waiting)
		}
		return answerOf(c, members), nil
	}
	if rec.Status == runs.Cancelled {
		return answerOf(c, members), nil
	}
	res, err := d.endResult(ctx, c, rec)
	if err != nil {
		members["status"], members["error"] = "failed", err
		return answerOf(c, members), nil //nolint:nilerr // it is the task's
	}
	members["result"] = res
	return answerOf(c, members), nil
}

// faults are those of the venue, not of the operation.
var faults = map[fault.Code]bool{fault.Panic: true, fault.NoLedger: true, fault.NoRequirements: true, fault.ForeignAuthority: true}

// endResult is the result of the call that a job was. The error is one of the protocol.
func (d *desk) endResult(ctx context.Context, c *caller, rec *runs.Record) (*answer, error) {
	raw, err := c.Invoke(ctx, "grid:jobStatus", map[string]string{"id": rec.ID})
	if err != nil {
		return nil, failure(err)
	}
	var st grid.Status
	if err := json.Unmarshal(raw, &st); err != nil {
		return nil, failure(err)
	}
	if st.Status == runs.Complete {
		return d.outcome(ctx, c, st.Op, st.Output), nil
	}
	why := fault.New(rec.Code, st.Error)
	if faults[rec.Code] {
		return nil, failure(why)
	}
	return refusal(c, why), nil
}

// asJob runs a call as a job, where the caller may begin one. ok is false where the call
// is to be made otherwise: then it is refused, or answered, as any other is.
func (d *desk) asJob(ctx context.Context, c *caller, m *message, call *target) (res sdk.Result, ok bool, err error) {
	ruling, err := c.Decide(ctx, call.operation, call.input)
	if err != nil || ruling.Denial() != nil {
		return nil, false, nil //nolint:nilerr // the call itself is told
	}
	begins, err := c.Decide(ctx, "grid:invoke", map[string]any{"operation": call.operation, "input": call.input})
	if err != nil || begins.Denial() != nil {
		return nil, false, nil //nolint:nilerr // as above
	}
	id, err := c.Start(ctx, call.operation, call.input)
	if err != nil {
		return refusal(c, err), true, nil
	}
	res, err = d.jobResult(ctx, c, m, id)
	return res, true, err
}

// jobResult is the result of a call that is the job of the id.
func (d *desk) jobResult(ctx context.Context, c *caller, m *message, id string) (sdk.Result, error) {
	rec, err := c.Run(ctx, id)
	if err != nil {
		return refusal(c, err), nil
	}
	if c.tasks() {
		return d.taskResult(c, &rec), nil
	}
	return d.follow(ctx, c, m, id, time.Time{})
}

// follow waits for the end of a job. Where it rests until a person has answered, and the
// caller is that person, the client is asked. What was answered last, at answeredAt, has a
// while to wake it.
func (d *desk) follow(ctx context.Context, c *caller, m *message, id string, answeredAt time.Time) (sdk.Result, error) {
	began := time.Now()
	for {
		step, cancel := context.WithTimeout(ctx, stepTime)
		rec, err := c.Await(step, id)
		moved := step.Err() == nil
		cancel()
		switch {
		case err != nil:
			return refusal(c, err), nil
		case ctx.Err() != nil:
			return refusal(c, context.Cause(ctx)), nil //nolint:nilerr // nobody hears it
		case rec.Over():
			res, err := d.endResult(ctx, c, &rec)
			if err != nil {
				return nil, err
			}
			return res, nil
		}
		if !moved {
			d.progress(ctx, c, m, time.Since(began).Seconds(), 0, "working")
			continue
		}
		waiting, err := d.requests(ctx, c, id)
		if err != nil {
			return refusal(c, err), nil
		}
		if len(waiting) == 0 {
			if time.Since(answeredAt) > wakeTime {
				return refusal(c, restError(id, "")), nil
			}
			if err := pause.For(ctx, 50*time.Millisecond); err != nil {
				return refusal(c, err), nil
			}
			continue
		}
		if !c.person.InPerson() || !c.fills() {
			return refusal(c, restError(id, waiting[0].ID)), nil
		}
		if c.modern {
			return d.askResult(c, m, forms(waiting), &state{Job: id})
		}
		said, err := c.ask(ctx, questionsOf(waiting))
		if err == nil {
			err = d.settle(ctx, c, waiting, said)
		}
		if err != nil {
			return refusal(c, err), nil
		}
		if isLeft(said) {
			return refusal(c, restError(id, waiting[0].ID)), nil
		}
		answeredAt = time.Now()
	}
}

// restError says that a job goes on later.
func restError(id, approval string) error {
	if approval != "" {
		return &tools.WaitError{Approval: approval, Call: "job " + id + ", which goes on then (grid_jobResult has its outcome),"}
	}
	return fault.New(fault.Waiting, "job "+id+" rests, and goes on later: grid_jobResult has its outcome then")
}
