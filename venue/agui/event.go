package agui

import (
	"encoding/json"
	"slices"

	"usher/runtime"
)

// Kinds of events (AG-UI 1.0, "Events").
const (
	runStarted  = "RUN_STARTED"
	runFinished = "RUN_FINISHED"
	runError    = "RUN_ERROR"

	textStart   = "TEXT_MESSAGE_START"
	textContent = "TEXT_MESSAGE_CONTENT"
	textEnd     = "TEXT_MESSAGE_END"

	reasoningStart        = "REASONING_START"
	reasoningMessageStart = "REASONING_MESSAGE_START"
	reasoningContent      = "REASONING_MESSAGE_CONTENT"
	reasoningMessageEnd   = "REASONING_MESSAGE_END"
	reasoningEnd          = "REASONING_END"

	toolCallStart  = "TOOL_CALL_START"
	toolCallArgs   = "TOOL_CALL_ARGS"
	toolCallEnd    = "TOOL_CALL_END"
	toolCallResult = "TOOL_CALL_RESULT"

	stepStarted  = "STEP_STARTED"
	stepFinished = "STEP_FINISHED"

	stateSnapshot    = "STATE_SNAPSHOT"
	stateDelta       = "STATE_DELTA"
	messagesSnapshot = "MESSAGES_SNAPSHOT"
	activitySnapshot = "ACTIVITY_SNAPSHOT"
	custom           = "CUSTOM"

	subagentStarted  = "SUBAGENT_STARTED"
	subagentFinished = "SUBAGENT_FINISHED"
	subagentError    = "SUBAGENT_ERROR"
)

// event is an event of any kind, with the members that its kind has. A member that a kind has
// and that may be empty is a pointer, or any value.
type event struct {
	Type        string `json:"type"`
	SubagentRun string `json:"subagentRunId,omitempty"`

	ThreadID        string `json:"threadId,omitempty"`
	RunID           string `json:"runId,omitempty"`
	ProtocolVersion string `json:"protocolVersion,omitempty"`
	ParentRunID     string `json:"parentRunId,omitempty"`

	Name           string          `json:"name,omitempty"`
	Description    string          `json:"description,omitempty"`
	ParentSubagent string          `json:"parentSubagentRunId,omitempty"`
	Value          json.RawMessage `json:"value,omitempty"`

	MessageID     string  `json:"messageId,omitempty"`
	CallID        string  `json:"toolCallId,omitempty"`
	CallName      *string `json:"toolCallName,omitempty"`
	ParentMessage string  `json:"parentMessageId,omitempty"`
	ActivityType  string  `json:"activityType,omitempty"`
	Content       any     `json:"content,omitempty"`
	Role          string  `json:"role,omitempty"`
	Delta         any     `json:"delta,omitempty"`

	StepName string          `json:"stepName,omitempty"`
	Snapshot json.RawMessage `json:"snapshot,omitempty"`
	Messages any             `json:"messages,omitempty"`

	Result   json.RawMessage `json:"result,omitempty"`
	Message  *string         `json:"message,omitempty"`
	Code     string          `json:"code,omitempty"`
	Outcome  *ending         `json:"outcome,omitempty"`
	Usage    usage           `json:"usage,omitempty"`
	Metadata any             `json:"metadata,omitempty"`
}

// ending is how a run came to its end, or a subagent.
type ending struct {
	Type       string      `json:"type"`
	Interrupts []interrupt `json:"interrupts,omitempty"`
	Pending    []string    `json:"pendingToolCallIds,omitempty"`
}

// usage is what the models of a run have used, in the order in which they did first.
type usage []modelUsage

type modelUsage struct {
	Model      string `json:"model,omitempty"`
	Input      int    `json:"inputTokens"`
	Output     int    `json:"outputTokens"`
	Total      int    `json:"totalTokens"`
	CacheRead  int    `json:"cachedInputTokens,omitempty"`
	CacheWrite int    `json:"cacheWriteInputTokens,omitempty"`
}

// add counts what an answer has used. A model that counts nothing has told nothing.
func (u *usage) add(model string, used runtime.Usage) {
	if used == (runtime.Usage{}) {
		return
	}
	i := slices.IndexFunc(*u, func(m modelUsage) bool { return m.Model == model })
	if i < 0 {
		i = len(*u)
		*u = append(*u, modelUsage{Model: model})
	}
	m := &(*u)[i]
	m.Input += used.Input
	m.Output += used.Output
	m.Total = m.Input + m.Output
	m.CacheRead += used.CacheRead
	m.CacheWrite += used.CacheWrite
}
