package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"usher/caps/value"
	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/spend"
	"usher/ucan"
)

// Kinds of a run.
const (
	Turn          = "turn"
	Task          = "task"
	Job           = "job"
	Orchestration = "orchestration"
)

// Statuses of a run.
const (
	Started   = "STARTED"
	Waiting   = "INPUT_REQUIRED" // for what [Record.Waits] lists: a person, or another run
	Paused    = "PAUSED"         // until [Book.Continue]
	Complete  = "COMPLETE"
	Failed    = "FAILED"
	Cancelled = "CANCELLED"
	Rejected  = "REJECTED" // the gate refused it
)

// OfJob is where a job calls its operation, each time that it goes on.
var OfJob = tools.At{Event: 1, N: 1}

// Record is what is kept of a run beside its log.
type Record struct {
	ID      string             `json:"id"`
	Kind    string             `json:"kind"`
	Op      string             `json:"op,omitempty"` // catalogue path; of a turn none
	Status  string             `json:"status"`
	Created int64              `json:"created"`           // ms
	Updated int64              `json:"updated"`           // ms
	Agent   string             `json:"agent,omitempty"`   // whose turn it is
	Input   json.RawMessage    `json:"input,omitempty"`   // of a turn none: it is in the log
	Caller  string             `json:"caller,omitempty"`  // the agent that started it; empty for the owner
	Via     []string           `json:"via,omitempty"`     // agents on whose behalf, the first caller first
	Parent  string             `json:"parent,omitempty"`  // the run that it is part of
	Above   ucan.DID           `json:"above,omitzero"`    // whose the run Parent is, where that is another principal
	Session string             `json:"session,omitempty"` // that it is a turn of
	Of      tools.Life         `json:"of,omitempty"`      // whose session that is
	From    uint64             `json:"from,omitempty"`    // number of its first event in the session
	Output  json.RawMessage    `json:"output,omitempty"`
	Error   string             `json:"error,omitempty"`
	Budget  *spend.BudgetError `json:"budget,omitempty"` // that ended it
	Steps   []runtime.Step     `json:"steps,omitempty"`
	Spent   *tools.Amounts     `json:"spent,omitempty"` // by all that came of the first call, when it ended
	Fired   *Firing            `json:"fired,omitempty"` // by which schedule
	Code    fault.Code         `json:"errorCode,omitempty"`

	Key        string          `json:"key,omitempty"`        // of the call that started it: see [tools.Call.Key]
	Inside     bool            `json:"inside,omitempty"`     // the call that started it drives it
	Background bool            `json:"background,omitempty"` // it may outlive the call that starts it
	Ref        string          `json:"ref,omitempty"`        // what a job calls its operation by, where that is not Op
	Schema     json.RawMessage `json:"schema,omitempty"`     // of a task's answer
	Limits     *spend.Limits   `json:"limits,omitempty"`     // of what a task may spend
	Message    string          `json:"message,omitempty"`    // its sender's id of the message that gave the task: see [ByMessage]
	Began      bool            `json:"began,omitempty"`      // the operation of the job was allowed
	Waits      []string        `json:"waits,omitempty"`      // ids of the requests and runs that it waits for, and g/<id> of a suspended agent
	Paused     bool            `json:"paused,omitempty"`     // it rests, with the status of that, as soon as it can

	Authority json.RawMessage `json:"authority,omitempty"` // sealed: see [tools.Mint.Open]
}

// Firing says which schedule a run is of, and for which of its times. When it fired is
// the run's Created.
type Firing struct {
	Schedule string `json:"schedule"`
	Due      int64  `json:"due,omitempty"`    // ms; 0: somebody triggered it, beside its times
	Missed   int    `json:"missed,omitempty"` // its times that passed without a firing of their own; this one stands for them
	Since    int64  `json:"since,omitempty"`  // ms: the first of those
}

// above is whose the run is that started this one of owner's.
func (r *Record) above(owner ucan.DID) ucan.DID {
	if r.Above.IsZero() {
		return owner
	}
	return r.Above
}

// maxRecord bounds the stored record of a run, in bytes.
const maxRecord = 512 << 10

// encode returns the record as it is stored. What is too large for it is
// replaced by its size: the steps' values first, then the input, then the output.
func (r Record) encode() ([]byte, error) {
	if r.Above.IsZero() && r.Op == "" && r.Output == nil && r.Error == "" && r.Steps == nil && r.Input == nil && r.Waits == nil && !r.Paused {
		return r.turn(), nil
	}
	raw, err := json.Marshal(r)
	for cut := 0; err == nil && len(raw) > maxRecord && cut < 3; cut++ {
		switch cut {
		case 0:
			r.Steps = slices.Clone(r.Steps)
			for i := range r.Steps {
				r.Steps[i] = small(r.Steps[i])
			}
		case 1:
			r.Input = tooLarge(r.Input)
		case 2:
			r.Output = tooLarge(r.Output)
		}
		raw, err = json.Marshal(r)
	}
	return raw, err
}

// turn encodes the record of a turn that did not fail, which each one stores twice.
func (r *Record) turn() []byte {
	w := value.NewWriter()
	w.Text("id", r.ID)
	w.Text("kind", r.Kind)
	w.Text("status", r.Status)
	w.Int("created", r.Created)
	w.Int("updated", r.Updated)
	w.Some("agent", r.Agent)
	w.Some("caller", r.Caller)
	w.Texts("via", r.Via)
	w.Some("parent", r.Parent)
	w.Some("session", r.Session)
	w.Some("of", string(r.Of))
	w.Int("from", int64(r.From))
	if r.Spent != nil {
		r.Spent.Write(&w, "spent")
	}
	if r.Authority != nil {
		w.Raw("authority", r.Authority)
	}
	return w.Object()
}

// small is a step with the sizes of large values in their place.
func small(s runtime.Step) runtime.Step {
	whole := len(s.Output)
	s.Input, s.Output = tooLarge(s.Input), tooLarge(s.Output)
	s.Lost = s.Lost || len(s.Output) != whole
	return s
}

func tooLarge(value json.RawMessage) json.RawMessage {
	if len(value) < 1<<10 {
		return value
	}
	return json.RawMessage(fmt.Sprintf(`{"truncated":true,"size":%d}`, len(value)))
}

// end notes how the run ended.
func (r *Record) end(output json.RawMessage, failure error) {
	r.Status, r.Output, r.Waits, r.Paused = Complete, output, nil, false
	if failure == nil {
		return
	}
	r.Status, r.Output, r.Error, r.Code = statusOf(failure), nil, tools.Cut(failure.Error()), fault.Of(failure)
	r.Budget, _ = errors.AsType[*spend.BudgetError](failure)
}

func statusOf(failure error) string {
	if unknown, ok := errors.AsType[*tools.UnknownError](failure); ok { // a run that was stopped, was, whatever it did
		failure = unknown.Err
	}
	switch fault.Of(failure) {
	case fault.Denied:
		return Rejected
	case fault.Canceled, fault.Stopped:
		return Cancelled
	}
	return Failed
}
