package runtime

import (
	"slices"

	"usher/caps/value"
	"usher/runtime/telemetry"
)

// redacted stands in a trace for what a sealed operation was given, and gave.
const redacted = `"` + value.Redacted + `"`

// observedMessages is a conversation for a trace, without what sealed
// operations were given and gave.
func (t *turn) observedMessages(messages []Message) []telemetry.Message {
	out := make([]telemetry.Message, len(messages))
	for i := range messages {
		m := &messages[i]
		out[i] = observedMessage(m)
		if m.Sealed {
			t.span.Conceal(m.Text)
			out[i].Text = redacted
		}
		results := messages[i+1:]
		if end := slices.IndexFunc(results, func(m Message) bool { return m.Role != RoleTool }); end >= 0 {
			results = results[:end]
		}
		// Ids are unique in one answer only.
		for j, call := range m.Calls {
			result := slices.IndexFunc(results, func(r Message) bool { return r.CallID == call.ID })
			if result >= 0 && results[result].Sealed || t.seals(call.Name) {
				t.span.Conceal(call.Arguments)
				out[i].Calls[j].Arguments = redacted
			}
		}
	}
	return out
}

// sealCalls takes the arguments of sealed operations out of an answer, before
// any of its calls runs.
func (t *turn) sealCalls(m *telemetry.Message) {
	for i := range m.Calls {
		call := &m.Calls[i]
		if t.seals(call.Name) {
			t.span.Conceal(call.Arguments)
			call.Arguments = redacted
		}
	}
}

// redactedInput stands in a log for the arguments of a sealed operation.
const redactedInput = `{"redacted":true}`

// Discreet returns the entry as it may be recorded and shown: without what sealed
// operations were given, and gave.
func (e Entry) Discreet() Entry {
	switch ev := e.Event.(type) {
	case Answered:
		if slices.ContainsFunc(ev.Calls, func(c ToolCall) bool { return c.Sealed }) {
			ev.Calls = slices.Clone(ev.Calls)
			for i := range ev.Calls {
				ev.Calls[i] = ev.Calls[i].discreet()
			}
			e.Event = ev
		}
	case ToolStarted:
		if ev.Call.Sealed {
			ev.Call = ev.Call.discreet()
			e.Event = ev
		}
	case ToolFinished:
		switch {
		case ev.Sealed && ev.Outcome == ToolOK:
			ev.Result = redacted
			e.Event = ev
		case ev.Sealed && ev.Outcome == ToolFailed: // an error may quote what it was given
			ev.Result = `{"error":"failed","message":"[redacted]"}`
			e.Event = ev
		}
	}
	return e
}

func (c ToolCall) discreet() ToolCall {
	if c.Sealed {
		c.Arguments = redactedInput
	}
	return c
}

// seals reports whether a tool gives or takes a secret.
func (t *turn) seals(tool string) bool {
	op, err := t.tool(tool)
	return err == nil && op.Sealed()
}

// notesOnSecrets reports whether the request is one for a summary of what may
// hold secrets, which cannot be told from the rest of it.
func (t *turn) notesOnSecrets(req *Request) bool {
	return req.System == summarising && slices.ContainsFunc(t.session.Messages(), func(m Message) bool { return m.Sealed })
}
