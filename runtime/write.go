package runtime

import "usher/caps/value"

// write writes an event as a member. Those that each turn logs take a quarter of the
// time that encoding/json would.
func write(w *value.Writer, name string, ev Event) error {
	switch ev := ev.(type) {
	case TurnStart:
		if ev.Tools != nil || ev.Answers != nil {
			return w.Any(name, ev)
		}
		w.Begin(name)
		w.Text("agent", ev.Agent)
		w.Text("session", ev.Session)
		w.Some("from", ev.From)
		w.Text("text", ev.Text)
	case ModelAnswer:
		w.Begin(name)
		w.Some("text", ev.Text)
		w.List("calls", len(ev.Calls), func(i int) { writeCall(w, &ev.Calls[i]) })
		w.Some("reasoning", ev.Reasoning)
		writeUsage(w, &ev.Usage)
		w.Some("finish", ev.Finish)
		w.Some("model", ev.Model)
	case ToolStart:
		w.Begin(name)
		w.Begin("call")
		writeCall(w, &ev.Call)
		w.End()
		w.Mark("idempotent", ev.Idempotent)
	case ToolEnd:
		w.Begin(name)
		w.Text("callId", ev.CallID)
		w.Text("name", ev.Name)
		w.Some("operation", ev.Operation)
		w.Text("outcome", ev.Outcome)
		w.Text("result", ev.Result)
		w.Mark("sealed", ev.Sealed)
	case TurnEnd:
		if ev.Output != nil || ev.Caused != nil || ev.Pending != nil {
			return w.Any(name, ev)
		}
		w.Begin(name)
		w.Some("text", ev.Text)
		w.Some("error", ev.Error)
		w.Some("errorCode", ev.Code)
		w.Int("modelCalls", int64(ev.Calls))
		writeUsage(w, &ev.Usage)
	default:
		return w.Any(name, ev)
	}
	w.End()
	return nil
}

func writeCall(w *value.Writer, c *ToolCall) {
	w.Text("id", c.ID)
	w.Text("name", c.Name)
	w.Text("arguments", c.Arguments)
	w.Mark("sealed", c.Sealed)
	w.Mark("client", c.Client)
}

func writeUsage(w *value.Writer, u *Usage) {
	w.Begin("usage")
	w.Int("input", int64(u.Input))
	w.Int("output", int64(u.Output))
	w.Count("cacheRead", int64(u.CacheRead))
	w.Count("cacheWrite", int64(u.CacheWrite))
	w.Count("costMicros", u.Cost)
	w.End()
}
