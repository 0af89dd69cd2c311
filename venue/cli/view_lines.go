package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"usher/runtime"
	"usher/tools/spend"
)

// line prints an event that is told alike while it happens and in a log, and what
// a turn waits for then.
func (v *view) line(ev runtime.Event) {
	v.unsettle()
	switch ev := ev.(type) {
	case runtime.ContextGap:
		fmt.Fprintf(v.err, "%s without its context %s: %s\n", v.notes.warn("!"), v.notes.safe(ev.Label), v.notes.safe(ev.Reason))
	case runtime.OutputRejection:
		fmt.Fprintf(v.err, "%s the answer does not fit the output schema (try %d of %d): %s\n", v.notes.warn("·"), ev.Try, ev.Tries, v.notes.safe(ev.Reason))
	case runtime.ModelDelay:
		v.note(late(ev))
	case runtime.ToolStart:
		v.calls[ev.Call.ID] = ev.Call
		v.settle(ev.Call.Name + " " + brief(ev.Call.Arguments))
		return
	case runtime.ToolEnd:
		v.tool(ev, v.calls[ev.CallID].Arguments)
		delete(v.calls, ev.CallID)
	}
	v.settle("waiting for the model")
}

// settle shows quietly what the turn waits for, where it can be written over by
// what is said next.
func (v *view) settle(text string) {
	if v.waits = v.live && v.notes.live(); v.waits {
		fmt.Fprint(v.err, "\r\x1b[K", v.notes.dim(v.notes.line(text, v.notes.width()-3)+" …"))
	}
}

func (v *view) unsettle() {
	if v.waits {
		fmt.Fprint(v.err, "\r\x1b[K")
		v.waits = false
	}
}

// tool prints a tool call as one calm line, and why it was refused or failed.
func (s *streams) tool(ev runtime.ToolEnd, arguments string) {
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
	if ev.Outcome != runtime.ToolFailed || told.Error != "invalid_input" { // else the names may be wrong
		arguments = brief(arguments)
	}
	fmt.Fprintln(s.err, mark, s.notes.line(cmp.Or(ev.Operation, ev.Name)+" "+arguments, s.notes.width()-3))
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
		if json.Unmarshal(value, &text) != nil || text == "" {
			var b bytes.Buffer
			_ = json.Compact(&b, value) // it is JSON
			text = fmt.Sprint(key) + "=" + b.String()
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// late is why the model's answer does not come yet, as one line.
func late(ev runtime.ModelDelay) string {
	wait := max(time.Duration(ev.Wait)*time.Millisecond, 100*time.Millisecond).Round(100 * time.Millisecond)
	switch {
	case ev.Model != "":
		return ev.Reason + ": asking " + ev.Model + " instead"
	case ev.Try > 0:
		return fmt.Sprintf("%s: trying again in %s (try %d of %d)", ev.Reason, wait, ev.Try, ev.Tries)
	}
	return fmt.Sprintf("%s: waiting %s", ev.Reason, wait)
}

// usageLine is what a turn used, as one line.
func usageLine(ev *runtime.TurnEnd) string {
	text := used(ev.Calls, ev.Usage)
	if all := ev.Caused; all != nil {
		text += "; with the agents that it asked: " + used(all.Calls, all.Usage)
	}
	return text
}

func used(calls int, u runtime.Usage) string {
	parts := []string{many(calls, "model call")}
	if u.Input > 0 || u.Output > 0 {
		in := groupDigits(u.Input) + " in"
		if u.CacheRead > 0 {
			in += " (" + groupDigits(u.CacheRead) + " cached)"
		}
		parts = append(parts, in, groupDigits(u.Output)+" out")
	}
	if u.Cost > 0 {
		parts = append(parts, spend.Money(u.Cost).String())
	}
	return strings.Join(parts, " · ")
}

func many[N int | int64 | uint64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return groupDigits(int(n)) + " " + noun
}

// groupDigits writes a count with a comma before each three digits.
func groupDigits(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
