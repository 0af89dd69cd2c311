package runtime

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/orchestrate"
)

// Event is something that happened in a turn. Those that implement it here are all
// there are; a switch over them is complete. Deltas are only streamed; the
// others are also the session's log, which alone makes the conversation.
type Event interface {
	kind() string // in JSON, for example "tool_finished"
}

// TurnStart opens a turn with what was said to the agent.
type TurnStart struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`
	From    string `json:"from,omitempty"` // who says it: a user's DID or an agent's id
	Text    string `json:"text"`

	Tools   []Tool   `json:"tools,omitempty"`   // of whoever says it, for this turn
	Answers []Answer `json:"answers,omitempty"` // to what the turn before it asked of them
}

// ContextGap says that an entry of the agent's context could not be read, so
// that the turn goes on without it.
type ContextGap struct {
	Label  string `json:"label"`
	Source string `json:"source"` // path or operation
	Reason string `json:"reason"`
}

// TextDelta is a piece of the model's answer. Not logged.
type TextDelta struct {
	Text string `json:"text"`
}

// ReasoningDelta is a piece of the model's reasoning, where the provider shows it. Not logged.
type ReasoningDelta struct {
	Text string `json:"text"`
}

// ToolCallDelta is a piece of a tool call that the model is writing: the id
// and name come once, the arguments are appended. Not logged.
type ToolCallDelta struct {
	Index     int    `json:"index"` // of the call in the answer
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

// UsageDelta is what the model call that runs has used so far. Not logged.
type UsageDelta struct {
	Usage Usage `json:"usage"`
}

// ModelDelay says why the answer does not come yet: the model failed and is
// asked again, another one is asked, or a rate limit holds the call back. Not
// logged.
type ModelDelay struct {
	Reason string `json:"reason"`
	Wait   int64  `json:"waitMs"`          // until the next call, in milliseconds
	Model  string `json:"model,omitempty"` // asked instead; left out, the same one is
	Try    int    `json:"try,omitempty"`   // number of the next call
	Tries  int    `json:"tries,omitempty"`
}

// ModelAnswer is one complete answer of the model: text, tool calls, or both.
type ModelAnswer struct {
	Text  string     `json:"text,omitempty"`
	Calls []ToolCall `json:"calls,omitempty"`

	Reasoning string `json:"reasoning,omitempty"` // what led to the calls, where the provider shows it

	Usage  Usage  `json:"usage"`
	Finish string `json:"finish,omitempty"`
	Model  string `json:"model,omitempty"` // which model answered, in the provider's word
}

// ToolStart says that a tool is about to be called: the intent.
type ToolStart struct {
	Call       ToolCall `json:"call"`
	Idempotent bool     `json:"idempotent,omitempty"` // it may be made twice
}

// Outcomes of a tool call in [ToolEnd].
const (
	ToolOK         = "ok"
	ToolDenied     = "denied"
	ToolFailed     = "failed"
	ToolStopped    = "stopped"     // the turn ended first; the effect is unknown
	ToolUnknown    = "unknown"     // it ran, and nobody can tell what came of it
	ToolNotStarted = "not_started" // the turn ended before the call began
)

// ToolEnd is the result of a tool call as the model receives it.
type ToolEnd struct {
	CallID    string `json:"callId"`
	Name      string `json:"name"`
	Operation string `json:"operation,omitempty"` // catalogue path, where one was found
	Outcome   string `json:"outcome"`
	Result    string `json:"result"`           // JSON; cut when too large, and says so
	Sealed    bool   `json:"sealed,omitempty"` // what went in or came out holds a secret
}

// OutputRejection says that an answer did not fit the agent's output schema.
type OutputRejection struct {
	Reason string `json:"reason"`
	Try    int    `json:"try"`
	Tries  int    `json:"tries"`
}

// TurnEnd closes a turn.
type TurnEnd struct {
	Text   string          `json:"text,omitempty"`   // the answer
	Output json.RawMessage `json:"output,omitempty"` // the answer as JSON, where the agent has an output schema
	Error  string          `json:"error,omitempty"`
	Code   string          `json:"errorCode,omitempty"` // the error in a word, as in traces: budget_spent, stopped, timeout, 429, failed, …
	Calls  int             `json:"modelCalls"`
	Usage  Usage           `json:"usage"`

	// Pending are the calls that whoever talks is asked to make: the next turn goes on with
	// what they answer.
	Pending []ClientCall `json:"pending,omitempty"`

	// Caused is what the turn and those of the agents that it asked used together,
	// until its end. Left out where it asked none.
	Caused *Spending `json:"caused,omitempty"`
}

// Spending is what model calls used.
type Spending struct {
	Calls int   `json:"modelCalls"`
	Usage Usage `json:"usage"`
}

// TurnRest says that the turn goes on later: after what its calls wait for, or,
// where it lists none, when the venue is opened again.
type TurnRest struct {
	Waits []Wait         `json:"waits,omitempty"`
	Spent *tools.Amounts `json:"spent,omitempty"` // by all that came of the first call, until now
}

// Wait is a call that waits: for the approval of a person, for another run, or, with
// neither, because it had not begun.
type Wait struct {
	CallID   string `json:"callId"`
	Name     string `json:"name"`               // of the tool
	Approval string `json:"approval,omitempty"` // id of the request
	Run      string `json:"run,omitempty"`
	Owner    string `json:"owner,omitempty"` // DID of whose run it is
	Text     string `json:"text"`
}

// TurnResume says that the turn goes on: from here the log may differ from that of
// a turn that was not cut.
type TurnResume struct{}

// Compaction says that the conversation up to an event of the log is put to
// models by a summary from here on, as it would not fit the model's window. The
// log keeps all of it.
type Compaction struct {
	Through uint64       `json:"through"`          // number of the last event that the summary stands for
	Summary string       `json:"summary"`          // by the agent's own model
	Kept    []MemoryItem `json:"kept,omitempty"`   // word for word, beside the summary
	Sealed  bool         `json:"sealed,omitempty"` // it may tell a secret that was said in the conversation
	Calls   int          `json:"modelCalls"`       // that it took
	Usage   Usage        `json:"usage"`
}

// InboxMessage is a message left for the agent between turns; it is heard at the
// next one.
type InboxMessage struct {
	From string `json:"from"`
	Text string `json:"text"`
}

// Step says how a step of an orchestration stands. It is logged whenever that
// changes.
type Step orchestrate.Step

func (TurnStart) kind() string       { return "turn_started" }
func (ContextGap) kind() string      { return "context_missing" }
func (TextDelta) kind() string       { return "text_delta" }
func (ReasoningDelta) kind() string  { return "reasoning_delta" }
func (ToolCallDelta) kind() string   { return "tool_call_delta" }
func (UsageDelta) kind() string      { return "usage_delta" }
func (ModelDelay) kind() string      { return "model_delayed" }
func (ModelAnswer) kind() string     { return "answered" }
func (ToolStart) kind() string       { return "tool_started" }
func (ToolEnd) kind() string         { return "tool_finished" }
func (OutputRejection) kind() string { return "output_rejected" }
func (TurnEnd) kind() string         { return "turn_finished" }
func (TurnRest) kind() string        { return "turn_rested" }
func (TurnResume) kind() string      { return "turn_resumed" }
func (InboxMessage) kind() string    { return "received" }
func (Compaction) kind() string      { return "compacted" }
func (Step) kind() string            { return "step" }

// Entry is an event in its envelope: as it stands in the log of a run or a
// session, and as whoever follows a run gets it.
type Entry struct {
	Seq    uint64 // in its log: 1 for the first; 0 for an event that is not logged
	Time   time.Time
	Run    string // id of the run; empty for what happens between runs
	Agent  string // id of the agent whose turn it is, or that started the run
	Parent string // id of the run that started the run
	Event  Event
}

type entryJSON struct {
	Seq    uint64          `json:"seq"`
	Time   time.Time       `json:"time"`
	Run    string          `json:"run,omitempty"`
	Agent  string          `json:"agent,omitempty"`
	Parent string          `json:"parent,omitempty"`
	Type   string          `json:"type"`
	Body   json.RawMessage `json:"event"`
}

// MarshalJSON writes {"seq","time","run","agent","parent","type","event"}.
func (e Entry) MarshalJSON() ([]byte, error) {
	w := value.NewWriter()
	w.Int("seq", int64(e.Seq))
	w.Time("time", e.Time)
	w.Some("run", e.Run)
	w.Some("agent", e.Agent)
	w.Some("parent", e.Parent)
	w.Text("type", e.Event.kind())
	err := write(&w, "event", e.Event)
	return w.Object(), err
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var in entryJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	kind, ok := logged[in.Type]
	if !ok {
		return fmt.Errorf("read session log: unknown event type %q: written by a newer version", in.Type)
	}
	ev := reflect.New(kind)
	if err := json.Unmarshal(in.Body, ev.Interface()); err != nil {
		return fmt.Errorf("read session log: event %d: %w", in.Seq, err)
	}
	*e = Entry{in.Seq, in.Time, in.Run, in.Agent, in.Parent, ev.Elem().Interface().(Event)} //nolint:forcetypeassert // as all of logged
	return nil
}

// logged are the types of the events of a log, by their kinds.
var logged = make(map[string]reflect.Type)

func init() {
	for _, ev := range []Event{
		TurnStart{}, ContextGap{}, ModelAnswer{}, ToolStart{}, ToolEnd{}, OutputRejection{}, TurnEnd{}, TurnRest{}, TurnResume{}, InboxMessage{}, OutcomeNote{}, Compaction{}, Step{},
	} {
		logged[ev.kind()] = reflect.TypeOf(ev)
	}
}

// EventJSON returns the event as one JSON object with its kind as "type".
func EventJSON(ev Event) ([]byte, error) {
	body, err := json.Marshal(ev)
	if err != nil {
		return nil, err
	}
	head := []byte(`{"type":"` + ev.kind() + `"`)
	if len(body) > 2 {
		head = append(head, ',')
	}
	return append(head, body[1:]...), nil
}
