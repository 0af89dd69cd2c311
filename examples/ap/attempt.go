package ap

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Outcomes of an attempt.
const (
	denied  = "denied"  // by the gate: the authority is missing
	invalid = "invalid" // the input is refused as such: not canonical, not well formed
	allowed = "allowed"
	byModel = "answered" // by a model that was plugged in, which never asked the gate
	failed  = "failed"   // that model came to no answer, and never asked the gate
)

// attempt is something that an agent tries at the gate, and what should come
// of it.
type attempt struct {
	what      string // for people
	tool      string // as models call it
	arguments any
	expect    string
}

// asks is the agent whose model decides whether the attempt gets to the gate;
// mostly none.
func (a attempt) asks() string {
	if o, ok := a.arguments.(object); ok && a.tool == "agent_request" {
		id, _ := o["agentId"].(string)
		return id
	}
	return ""
}

// key finds the attempt again in what an agent did.
func (a attempt) key() string {
	raw, err := json.Marshal(a.arguments)
	if err != nil {
		return a.tool
	}
	return callKey(a.tool, string(raw))
}

// probing reports whether a task asks to probe the gate.
func probing(task string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(task)), "probe the gate")
}

// try makes the attempts one after the other, whatever comes of them, and sums
// up.
func (t *turn) try(attempts []attempt) any {
	var refused int
	for _, a := range attempts {
		r, ready := t.call(a.tool, a.arguments)
		if !ready {
			return waiting
		}
		if outcome, _ := r.verdict(); outcome != allowed {
			refused++
		}
	}
	return fmt.Sprintf("I tried %d things; %d were refused.", len(attempts), refused)
}

var denial = regexp.MustCompile(`Capability denied: .*? Retrying the same call will not succeed — the denial is structural\.(?: [^"\\\n]*)?`)

// verdict is what came of a call, with the gate's words. A denial counts too
// where it was met further down: by a step, a child, a colleague who was asked.
func (r result) verdict() (outcome, words string) {
	if r.problem == "" {
		if m := denial.FindString(plain(r.raw)); m != "" {
			return denied, m
		}
		return allowed, ""
	}
	if m := denial.FindString(r.problem); m != "" {
		return denied, m
	}
	return invalid, r.problem
}

// plain is the text in a JSON value, its escapes undone.
func plain(raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\n")
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return b.String()
}
