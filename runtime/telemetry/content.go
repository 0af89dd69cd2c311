package telemetry

import (
	"encoding/json"

	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"usher/caps/value"
)

// Message is one message of a conversation.
type Message struct {
	Role   string // system, user, assistant or tool
	Text   string
	Calls  []MessageCall // of an assistant: what it asked for
	CallID string        // of a tool: the call that Text is the result of
}

// MessageCall is a tool call within a message.
type MessageCall struct{ ID, Name, Arguments string }

// Content reports whether the call records what is said. Only then is it worth
// making a [ModelSpan.Input] of it.
func (s *ModelSpan) Content() bool { return s != nil && s.turn.t.content }

// Input records what the model is sent, where [Options.Content] asks for it.
func (s *ModelSpan) Input(system string, conversation []Message) {
	if !s.Content() {
		return
	}
	var set attributes
	if system != "" {
		set.text(semconv.GenAISystemInstructionsKey, asJSON([]part{textPart(s.turn.secrets.scrub(system))}))
	}
	messages := make([]message, len(conversation))
	for i := range conversation {
		messages[i] = message{Role: conversation[i].Role, Parts: conversation[i].parts(s.turn.secrets.scrub)}
	}
	set.text(semconv.GenAIInputMessagesKey, asJSON(messages))
	s.span.SetAttributes(set...)
}

func (s *ModelSpan) outputJSON(a *Answer) string {
	finish := a.Finish // a copy: where nothing is recorded the answer stays off the heap
	return asJSON([]message{{Role: "assistant", Parts: a.Message.parts(s.turn.secrets.scrub), Finish: &finish}})
}

// message and part have the form of the conventions' JSON schemas of input
// messages, output messages and system instructions.
type message struct {
	Role   string  `json:"role"`
	Parts  []part  `json:"parts"`
	Finish *string `json:"finish_reason,omitempty"` // of output, which must have it
}

type part struct {
	Type      string          `json:"type"`
	Content   *string         `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  json.RawMessage `json:"response,omitempty"`
}

func textPart(text string) part { return part{Type: "text", Content: &text} }

func (m *Message) parts(scrub func(string) string) []part {
	parts := make([]part, 0, 1+len(m.Calls))
	switch {
	case m.CallID != "":
		parts = append(parts, part{Type: "tool_call_response", ID: m.CallID, Response: jsonOf(scrub(m.Text))})
	case m.Text != "":
		parts = append(parts, textPart(scrub(m.Text)))
	}
	for _, c := range m.Calls {
		parts = append(parts, part{Type: "tool_call", ID: c.ID, Name: scrub(c.Name), Arguments: jsonOf(scrub(c.Arguments))})
	}
	return parts
}

// jsonOf is JSON as it is, and any other text as a string.
func jsonOf(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return json.RawMessage(asJSON(text))
}

// asJSON leaves <, > and & as they are: people read it.
func asJSON(v any) string {
	raw, err := value.Encode(v)
	if err != nil {
		return "" // not of the types above
	}
	return string(raw)
}
