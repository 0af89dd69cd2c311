package a2a

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"usher/tools/fault"
	"usher/venue/runs"
)

// artifact is the id of what a task has made: its answer.
const artifact = "answer"

// states are those of tasks, by the statuses of runs.
var states = map[string]a2a.TaskState{
	runs.Started: a2a.TaskStateWorking, runs.Waiting: a2a.TaskStateAuthRequired, runs.Paused: a2a.TaskStateInputRequired,
	runs.Complete: a2a.TaskStateCompleted, runs.Failed: a2a.TaskStateFailed, runs.Cancelled: a2a.TaskStateCanceled, runs.Rejected: a2a.TaskStateRejected,
}

// stateOf is the state of a task.
func stateOf(rec *runs.Record) a2a.TaskState {
	if s := states[rec.Status]; s != "" {
		return s
	}
	return a2a.TaskStateWorking
}

// find is the run of a task of the caller's.
func (c *call) find(id string) (*runs.Record, error) {
	if id == "" {
		return nil, errParams.because("the id of the task is missing")
	}
	rec, err := c.p.Run(c.r.Context(), id)
	if err != nil {
		return nil, noTask(err)
	}
	if !c.isTask(&rec) {
		return nil, errNoTask
	}
	return &rec, nil
}

// isTask reports whether a run is a task that the address shows.
func (c *call) isTask(rec *runs.Record) bool {
	return rec.Kind == runs.Task && rec.Agent != "" && (c.agent == "" || rec.Agent == c.agent)
}

// shape says how much of a task is shown.
type shape struct {
	history   *int // messages at most; nil is all
	artifacts bool
}

var errHistory = errParams.because("historyLength is negative")

func (s shape) check() error {
	if s.history != nil && *s.history < 0 {
		return errHistory
	}
	return nil
}

// task is a run as a task.
func (c *call) task(rec *runs.Record, s shape) (*a2a.Task, error) {
	t := &a2a.Task{ID: a2a.TaskID(rec.ID), ContextID: rec.Session, Status: c.status(rec)}
	if s.history == nil || *s.history > 0 {
		if said := partOf(rec.Input); said != nil {
			t.History = []*a2a.Message{{ID: cmp.Or(rec.Message, rec.ID+"-in"), Role: a2a.MessageRoleUser, TaskID: t.ID, ContextID: t.ContextID, Parts: a2a.ContentParts{said}}}
		}
	}
	if rec.Status == runs.Complete && s.artifacts {
		made := partOf(rec.Output)
		if made == nil {
			return nil, errAgentAnswer
		}
		t.Artifacts = []*a2a.Artifact{{ID: artifact, Name: artifact, Parts: a2a.ContentParts{made}}}
	}
	return t, nil
}

// status is that of a task, and why it is so.
func (c *call) status(rec *runs.Record) a2a.TaskStatus {
	at := time.UnixMilli(rec.Updated).UTC()
	s := a2a.TaskStatus{State: stateOf(rec), Timestamp: &at}
	var parts a2a.ContentParts
	switch {
	case rec.Status == runs.Waiting:
		parts = c.waits(rec)
	case rec.Status == runs.Paused:
		parts = a2a.ContentParts{a2a.NewTextPart("The owner has paused the task. A message to it has it go on.")}
	case rec.Code == fault.BudgetSpent && (c.brief || !c.person.InPerson()):
		parts = a2a.ContentParts{a2a.NewTextPart("A budget is spent: the owner can raise it.")}
	case rec.Error != "":
		parts = a2a.ContentParts{a2a.NewTextPart(rec.Error)}
	}
	if parts != nil {
		s.Message = &a2a.Message{
			ID: rec.ID + "-" + strings.ToLower(rec.Status), Role: a2a.MessageRoleAgent, TaskID: a2a.TaskID(rec.ID), ContextID: rec.Session, Parts: parts,
		}
	}
	return s
}

// partOf is a value as a part; nil for one that is missing or was not kept whole.
func partOf(value json.RawMessage) *a2a.Part {
	var text string
	if json.Unmarshal(value, &text) == nil && len(value) > 0 && value[0] == '"' {
		return a2a.NewTextPart(text)
	}
	if !json.Valid(value) {
		return nil
	}
	var m map[string]any
	if json.Unmarshal(value, &m) == nil && len(m) == 2 && m["truncated"] == true && m["size"] != nil {
		return nil
	}
	return &a2a.Part{Content: a2a.Data{Value: value}, MediaType: jsonType}
}

func (c *call) get() (any, error) {
	var in a2a.GetTaskRequest
	if err := c.read(&in); err != nil {
		return nil, err
	}
	s := shape{in.HistoryLength, true}
	if err := s.check(); err != nil {
		return nil, err
	}
	rec, err := c.find(string(in.ID))
	if err != nil {
		return nil, err
	}
	return c.task(rec, s)
}

func (c *call) cancel() (any, error) {
	var in a2a.CancelTaskRequest
	if err := c.read(&in); err != nil {
		return nil, err
	}
	rec, err := c.find(string(in.ID))
	if err != nil {
		return nil, err
	}
	if rec.Over() {
		return nil, errNotCancel
	}
	if err := c.p.Stop(c.r.Context(), rec.ID); err != nil {
		return nil, noTask(err)
	}
	if rec, err = c.find(rec.ID); err != nil {
		return nil, err
	}
	if rec.Status != runs.Cancelled { // it ended first
		return nil, errNotCancel
	}
	return c.task(rec, shape{artifacts: true})
}
