package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"usher/caps"
	"usher/prompt"
	"usher/tools"
	"usher/tools/schema"
)

// Agent is what a turn needs to know of an agent. The venue makes one for each
// turn from the agent's record; the capabilities behind Authority are read
// anew at every step.
type Agent struct {
	ID        string
	Authority tools.Authority
	Model     Model
	ModelName string             // as the prompt tells it; may be empty
	Prompt    string             // who the agent is and what it should do
	Venue     string             // name of the venue; may be empty
	Tools     []*tools.Operation // what it may ask for, before its capabilities are counted
	Context   []ContextEntry
	Output    *schema.Schema // the form of the answer; nil is free text

	// Held returns what others have delegated to the agent's principal and it can
	// use now; nil is never anything.
	Held func(context.Context) ([]prompt.Delegation, error)
}

// ContextEntry is material in an agent's context: the text, or what a path
// holds at the start of each turn, read with the agent's own authority.
type ContextEntry struct {
	Label    string
	Text     string
	Path     string
	Required bool // a turn without it fails
}

// Options adjusts how turns run. The zero value is valid.
type Options struct {
	MaxModelCalls int              // of a turn; 0 is 20
	ToolTimeout   time.Duration    // of a tool call; 0 is 300 s
	MaxToolResult int              // bytes to the model, cut beyond; 0 is 256 KiB
	OutputTries   int              // answers until one fits the output schema; 0 is 3
	Now           func() time.Time // nil is time.Now
}

// Runner runs turns of agents behind one gate. It is safe for concurrent use.
type Runner struct {
	gate *tools.Gate
	opts Options
}

// New returns a runner before the gate.
func New(gate *tools.Gate, opts *Options) *Runner {
	r := &Runner{gate: gate}
	if opts != nil {
		r.opts = *opts
	}
	if r.opts.MaxModelCalls == 0 {
		r.opts.MaxModelCalls = 20
	}
	if r.opts.ToolTimeout == 0 {
		r.opts.ToolTimeout = 300 * time.Second
	}
	if r.opts.MaxToolResult == 0 {
		r.opts.MaxToolResult = 256 << 10
	}
	if r.opts.OutputTries == 0 {
		r.opts.OutputTries = 3
	}
	if r.opts.Now == nil {
		r.opts.Now = time.Now
	}
	return r
}

// Briefing is what the model is told beside the conversation: the system
// message and the tools on offer, both made from one capability set.
type Briefing struct {
	System string
	Tools  []Tool
	caps   caps.Set
	held   []prompt.Delegation
	fresh  bool
}

// Brief returns what the agent's model would be told now.
func (r *Runner) Brief(ctx context.Context, a *Agent) (Briefing, error) {
	entries, err := r.context(ctx, a)
	if err != nil {
		return Briefing{}, err
	}
	var b Briefing
	err = r.refresh(ctx, &b, a, entries)
	return b, err
}

// refresh brings the briefing up to what the agent may do at this moment.
func (r *Runner) refresh(ctx context.Context, b *Briefing, a *Agent, entries []prompt.ContextEntry) error {
	set := a.Authority.Caps()
	var held []prompt.Delegation
	if a.Held != nil {
		var err error
		if held, err = a.Held(ctx); err != nil {
			return fmt.Errorf("list what is delegated to agent %s: %w", a.ID, err)
		}
	}
	if b.fresh && b.caps == set && slices.Equal(b.held, held) {
		return nil
	}
	in := prompt.Input{
		Identity: a.Prompt, Date: r.opts.Now().UTC().Format(time.DateOnly), Venue: a.Venue,
		Model: a.ModelName, Context: entries, Self: a.Authority.Owner().String(), Held: held, Caps: set,
	}
	if a.Output != nil {
		in.Output = string(a.Output.JSON())
	}
	*b = Briefing{System: prompt.System(in), Tools: offered(a.Tools, set), caps: set, held: held, fresh: true}
	return nil
}

// offered returns the operations that set could allow at all.
func offered(ops []*tools.Operation, set caps.Set) []Tool {
	out := make([]Tool, 0, len(ops))
	for _, op := range ops {
		if op.CouldAllow(set) {
			out = append(out, Tool{Name: op.ToolName(), Description: op.Description(), Input: op.InputSchema()})
		}
	}
	return out
}

// context reads the agent's context entries through the gate.
func (r *Runner) context(ctx context.Context, a *Agent) ([]prompt.ContextEntry, error) {
	if len(a.Context) == 0 {
		return nil, nil
	}
	entries := make([]prompt.ContextEntry, 0, len(a.Context))
	for _, c := range a.Context {
		text, label := c.Text, c.Label
		if label == "" {
			label = c.Path
		}
		if c.Path != "" {
			var err error
			if text, err = r.read(ctx, a.Authority, c.Path); err != nil {
				if c.Required || ctx.Err() != nil {
					return nil, fmt.Errorf("load required context %s of agent %s: %w", c.Path, a.ID, err)
				}
				text = "(not available: " + err.Error() + ")"
			}
		}
		entries = append(entries, prompt.ContextEntry{Label: label, Text: text})
	}
	return entries, nil
}

func (r *Runner) read(ctx context.Context, auth tools.Authority, path string) (string, error) {
	input, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		return "", err
	}
	res, err := r.gate.Invoke(ctx, auth, tools.Invocation{Operation: "covia:read", Input: input})
	if err != nil {
		return "", err
	}
	var out struct {
		Exists    bool            `json:"exists"`
		Value     json.RawMessage `json:"value"`
		Truncated bool            `json:"truncated"`
		Size      int             `json:"size"`
	}
	if err := json.Unmarshal(res.Output, &out); err != nil {
		return "", err
	}
	var text string
	switch {
	case !out.Exists:
		return "", fmt.Errorf("nothing is stored at %s", path)
	case out.Truncated:
		return "", fmt.Errorf("%s holds %d bytes, too many for a context", path, out.Size)
	case json.Unmarshal(out.Value, &text) == nil:
		return strings.TrimSpace(text), nil
	}
	return string(out.Value), nil
}
