package runtime

import "slices"

// redactedInput stands in a log for the arguments of a sealed operation.
const redactedInput = `{"redacted":true}`

// discreet returns the entry as it may be recorded and shown: without what sealed
// operations were given, and gave.
func (e Entry) discreet() Entry {
	switch ev := e.Event.(type) {
	case ModelAnswer:
		if slices.ContainsFunc(ev.Calls, func(c ToolCall) bool { return c.Sealed }) {
			ev.Calls = slices.Clone(ev.Calls)
			for i := range ev.Calls {
				ev.Calls[i] = ev.Calls[i].discreet()
			}
			e.Event = ev
		}
	case ToolStart:
		if ev.Call.Sealed {
			ev.Call = ev.Call.discreet()
			e.Event = ev
		}
	case ToolEnd:
		if ev.Sealed {
			e.Event = ev.discreet()
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

func (done ToolEnd) discreet() ToolEnd {
	if !done.Sealed {
		return done
	}
	switch done.Outcome {
	case ToolOK:
		done.Result = redacted
	case ToolFailed: // an error may quote what it was given
		done.Result = `{"error":"failed","message":"[redacted]"}`
	case ToolUnknown:
		done.Result = `{"error":"unknown","message":"[redacted] Whether it took effect is unknown: look before you repeat it.","retryable":false}`
	}
	return done
}
