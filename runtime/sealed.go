package runtime

import "usher/runtime/telemetry"

// redacted stands in a trace for what a sealed operation was given, and gave.
const redacted = `"[redacted]"`

// redact takes what sealed tools were given and gave out of a conversation.
func (t *turn) redact(messages ...telemetry.Message) {
	sealed := make(map[string]bool) // ids of calls
	for i := range messages {
		m := &messages[i]
		if sealed[m.CallID] {
			m.Text = redacted
		}
		for j := range m.Calls {
			call := &m.Calls[j]
			if op, err := t.tool(call.Name); err == nil && op.Sealed() {
				sealed[call.ID], call.Arguments = true, redacted
			}
		}
	}
}
