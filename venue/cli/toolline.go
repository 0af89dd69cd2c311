package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"usher/runtime"
	"usher/tools/spend"
)

// tool prints a tool call as one calm line, and why it was refused or failed.
func (s *streams) tool(ev runtime.ToolFinished, arguments string) {
	name := ev.Operation
	if name == "" {
		name = ev.Name
	}
	mark := s.notes.warn("!")
	switch ev.Outcome {
	case runtime.ToolOK:
		mark = s.notes.good("✓")
	case runtime.ToolDenied:
		mark = s.notes.bad("✗")
	}
	var told struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(ev.Result), &told) != nil || told.Message == "" {
		told.Message = ev.Result
	}
	shown := brief(arguments)
	if ev.Outcome == runtime.ToolFailed && told.Error == "invalid_input" { // the names may be wrong
		shown = arguments
	}
	fmt.Fprintln(s.err, mark, s.notes.line(name+" "+shown, s.notes.width()-3))
	if ev.Outcome != runtime.ToolOK {
		reason := strings.ReplaceAll(strings.TrimSpace(s.notes.safe(told.Message)), "\n", "\n  ")
		fmt.Fprintf(s.err, "  %s\n", s.notes.dim(reason))
	}
}

// brief returns the arguments of a call as a person would write them: texts
// bare, the rest with its name. What is no JSON object stays as it is.
func brief(arguments string) string {
	dec := json.NewDecoder(strings.NewReader(arguments))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return arguments
	}
	var parts []string
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return arguments
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return arguments
		}
		var text string
		if json.Unmarshal(value, &text) == nil && text != "" {
			parts = append(parts, text)
			continue
		}
		var b bytes.Buffer
		if json.Compact(&b, value) != nil {
			return arguments
		}
		parts = append(parts, fmt.Sprint(key)+"="+b.String())
	}
	return strings.Join(parts, " ")
}

// told prints what else happens in a turn: that the agent works without something,
// that the model is asked again, and why.
func (s *streams) told(ev runtime.Event) {
	switch ev := ev.(type) {
	case runtime.ContextMissing:
		fmt.Fprintf(s.err, "%s without its context %s: %s\n", s.notes.warn("!"), s.notes.safe(ev.Label), s.notes.safe(ev.Reason))
	case runtime.OutputRejected:
		fmt.Fprintf(s.err, "%s the answer does not fit the output schema (try %d of %d): %s\n", s.notes.warn("·"), ev.Try, ev.Tries, s.notes.safe(ev.Reason))
	case runtime.ModelDelayed:
		s.note(late(ev))
	}
}

// late is why the model's answer does not come yet, as one line.
func late(ev runtime.ModelDelayed) string {
	wait := max(time.Duration(ev.Wait)*time.Millisecond, 100*time.Millisecond).Round(100 * time.Millisecond)
	switch {
	case ev.Model != "":
		return ev.Reason + ": asking " + ev.Model + " instead"
	case ev.Try > 0:
		return fmt.Sprintf("%s: trying again in %s (try %d of %d)", ev.Reason, wait, ev.Try, ev.Tries)
	}
	return fmt.Sprintf("%s: waiting %s", ev.Reason, wait)
}

// spent is what a turn used, as one line.
func spent(ev *runtime.TurnFinished) string {
	text := used(ev.Calls, ev.Usage)
	if all := ev.Caused; all != nil {
		text += "; with the agents that it asked: " + used(all.Calls, all.Usage)
	}
	return text
}

func used(calls int, u runtime.Usage) string {
	parts := []string{many(calls, "model call")}
	if u.Input > 0 || u.Output > 0 {
		in := grouped(u.Input) + " in"
		if u.CacheRead > 0 {
			in += " (" + grouped(u.CacheRead) + " cached)"
		}
		parts = append(parts, in, grouped(u.Output)+" out")
	}
	if u.Cost > 0 {
		parts = append(parts, spend.Money(u.Cost).String())
	}
	return strings.Join(parts, " · ")
}

// grouped writes a count with a comma before each three digits.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
