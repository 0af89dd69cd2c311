package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"usher/caps/value"
	"usher/prompt"
	"usher/tools"
	"usher/tools/fault"
)

// ContextEntry is material in an agent's context: a text, what a path holds, or
// what an operation answers, at the start of each turn. Path and operation pass
// the gate with the agent's own authority, and within that of whoever wrote them.
type ContextEntry struct {
	Label     string
	Text      string
	Path      string
	Operation string          // any reference that the agent may resolve
	Input     json.RawMessage // of the operation; empty is {}
	Required  bool            // a turn without it fails
}

func (c *ContextEntry) source() string {
	return cmp.Or(c.Operation, c.Path)
}

// context reads the agent's context entries through the gate, and says which of
// them are missing. Who only looks has nothing done for it: operations that may
// change something are not asked.
func (r *Runner) context(ctx context.Context, a *Agent, session string, look bool) (entries []prompt.ContextEntry, missing []ContextGap, err error) {
	if len(a.Context) == 0 {
		return nil, nil, nil
	}
	auth, err := contextAuthority(a, session)
	if err != nil {
		return nil, nil, err
	}
	entries = make([]prompt.ContextEntry, 0, len(a.Context))
	for i := range a.Context {
		c := &a.Context[i]
		text, label := c.Text, cmp.Or(c.Label, c.source(), "text")
		switch {
		case c.source() == "":
		case look && r.acts(ctx, auth, c):
			text = "(asked at the start of each turn)"
		default:
			var err error
			if text, err = r.material(ctx, auth, c); err != nil {
				if c.Required || ctx.Err() != nil {
					return nil, nil, &ContextError{a.ID, c.source(), err}
				}
				text = "(not available: " + err.Error() + ")"
				missing = append(missing, ContextGap{label, c.source(), value.Cut(err.Error(), maxWhy)})
			}
		}
		entries = append(entries, prompt.ContextEntry{Label: label, Text: text})
	}
	return entries, missing, nil
}

// ContextError says that a turn did not begin, as what the agent requires in its
// context could not be loaded.
type ContextError struct {
	Agent  string
	Source string // path or operation
	Err    error
}

func (e *ContextError) Error() string {
	return fmt.Sprintf("load required context %s of agent %s: %v", e.Source, e.Agent, e.Err)
}
func (e *ContextError) Unwrap() error { return e.Err }

// errContextOfItself: what an agent's context asks for would start a turn of
// the agent, which would ask for its context again.
var errContextOfItself = fault.New(fault.WaitsForItself, "the agent is loading its context, which asks for this very turn: take what asks the agent out of its context")

// contextAuthority is what an agent's context is read with.
func contextAuthority(a *Agent, session string) (tools.Authority, error) {
	auth := a.Authority.InSession(session).AsInner().WithAuthors(a.ContextBy)
	if !slices.ContainsFunc(a.Context, func(c ContextEntry) bool { return c.Operation != "" }) {
		return auth, nil
	}
	key := "context of " + auth.Owner().String() + "/" + a.ID
	if auth.Within(key) {
		return auth, fmt.Errorf("agent %s: %w", a.ID, errContextOfItself)
	}
	return auth.InTurn(key).AsInner(), nil
}

// acts reports whether asking for an entry may change something.
func (r *Runner) acts(ctx context.Context, auth tools.Authority, c *ContextEntry) bool {
	if c.Operation == "" {
		return false
	}
	op, err := r.gate.Resolve(ctx, auth, c.Operation)
	return err == nil && !op.ReadOnly()
}

// material reads what an entry names, within the time of a tool call.
func (r *Runner) material(ctx context.Context, auth tools.Authority, c *ContextEntry) (string, error) {
	inv := tools.Invocation{Operation: c.Operation, Input: c.Input}
	if c.Operation == "" {
		inv = tools.Invocation{Operation: "covia:read", Input: value.Append(nil, map[string]any{"path": c.Path})}
	}
	res, err := r.invoke(ctx, auth, inv)
	if err != nil {
		return "", err
	}
	out := res.Output
	if c.Operation == "" {
		var stored struct {
			Exists    bool            `json:"exists"`
			Value     json.RawMessage `json:"value"`
			Truncated bool            `json:"truncated"`
			Size      int             `json:"size"`
		}
		switch err := json.Unmarshal(out, &stored); {
		case err != nil:
			return "", err
		case !stored.Exists:
			return "", fmt.Errorf("nothing is stored at %s", c.Path)
		case stored.Truncated:
			return "", fmt.Errorf("%s holds %d bytes, too many for a context", c.Path, stored.Size)
		}
		out = stored.Value
	}
	var text string // as people write it
	if json.Unmarshal(out, &text) == nil {
		out = json.RawMessage(strings.TrimSpace(text))
	}
	return r.cut(out), nil
}

// Code is [fault.Context].
func (e *ContextError) Code() fault.Code { return fault.Context }
