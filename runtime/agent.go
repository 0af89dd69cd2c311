package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"usher/caps"
	"usher/prompt"
	"usher/runtime/telemetry"
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
	ContextBy tools.Bound    // who wrote it, within which it is read
	Output    *schema.Schema // the form of the answer; nil is free text

	// Complete and Fail are called to end a task, and are offered in the turn of one:
	// see [endsTask].
	Complete, Fail *tools.Operation
	Task           bool // the turn is that of a task

	// Ready is asked once the turn before it in the session is over; its error is why
	// the turn does not begin. Nil is that it does.
	Ready func() error

	// Last is where the turns of one agent leave their briefings for each other; nil
	// keeps none.
	Last *atomic.Pointer[Briefing]

	// Asks has every tool on offer: the owner is asked for what the capabilities lack, where they have any.
	Asks bool

	// Granted returns what persons have granted for the task at hand, beside the agent's
	// capabilities; nil is never anything.
	Granted func(context.Context) ([]caps.Capability, error)

	// Held returns what others have delegated to the agent's principal and it can
	// use now; nil is never anything.
	Held func(context.Context) ([]prompt.Delegation, error)
}

// Options adjusts how turns run. The zero value is valid.
type Options struct {
	MaxModelCalls int              // of a turn; 0 is 20
	ToolTimeout   time.Duration    // of a tool call; 0 is 300 s
	MaxToolResult int              // bytes to the model, cut beyond; 0 is 256 KiB, and more than [MaxSaid] is that
	ToolsAtOnce   int              // calls of one answer that run side by side; 0 is 8
	OutputTries   int              // answers until one fits the output schema; 0 is 3
	Now           func() time.Time // nil is time.Now

	// Unbegun reports whether a call whose intent is logged is known not to have begun:
	// a person was to be asked first. Nil knows of none.
	Unbegun func(ctx context.Context, auth tools.Authority, at tools.At) bool

	Telemetry *telemetry.Telemetry // traces and metrics of turns; nil is none
}

// Runner runs turns of agents behind one gate. It is safe for concurrent use.
type Runner struct {
	gate *tools.Gate
	opts Options
	late error // of a tool call that takes too long
}

// New returns a runner before the gate.
func New(gate *tools.Gate, opts *Options) *Runner {
	r := &Runner{gate: gate}
	if opts != nil {
		r.opts = *opts
	}
	o := &r.opts
	o.MaxModelCalls = cmp.Or(o.MaxModelCalls, 20)
	o.ToolTimeout = cmp.Or(o.ToolTimeout, 300*time.Second)
	o.MaxToolResult = min(cmp.Or(o.MaxToolResult, 256<<10), MaxSaid)
	o.ToolsAtOnce = cmp.Or(o.ToolsAtOnce, 8)
	o.OutputTries = cmp.Or(o.OutputTries, 3)
	if o.Now == nil {
		o.Now = time.Now
	}
	r.late = fmt.Errorf("%w after %s (limits.tool_timeout)", errToolTimeout, o.ToolTimeout)
	return r
}

// Briefing is what the model is told beside the conversation: the system
// message and the tools on offer, both made from one capability set.
type Briefing struct {
	System string
	Tools  []Tool
	of     basis
	tokens int // an estimate, with the output schema
}

// basis is what a briefing is made of, beside what stays the same for an agent.
type basis struct {
	caps    caps.Set
	held    []prompt.Delegation
	granted []caps.Capability
	context []prompt.ContextEntry
	self    string
	day     int // since 1970, in UTC
	output  *schema.Schema
	task    bool
}

func (b *basis) equal(other *basis) bool {
	return b.caps == other.caps && b.self == other.self && b.day == other.day && b.output == other.output && b.task == other.task &&
		slices.Equal(b.held, other.held) && slices.EqualFunc(b.granted, other.granted, caps.Capability.Equal) && slices.Equal(b.context, other.context)
}

// MaxModelCalls is how often a turn asks its model, at most.
func (r *Runner) MaxModelCalls() int { return r.opts.MaxModelCalls }

// Brief returns what the agent's model would be told now.
func (r *Runner) Brief(ctx context.Context, a *Agent) (Briefing, error) {
	entries, _, err := r.context(ctx, a, "", true)
	if err != nil {
		return Briefing{}, err
	}
	b, err := r.refresh(ctx, nil, a, entries)
	if err != nil {
		return Briefing{}, err
	}
	out := *b
	out.Tools = slices.Clone(b.Tools) // the turns go on with theirs
	return out, nil
}

// refresh returns the briefing of what the agent may do at this moment: last, as
// long as that is the same.
func (r *Runner) refresh(ctx context.Context, last *Briefing, a *Agent, entries []prompt.ContextEntry) (*Briefing, error) {
	today := r.opts.Now()
	now := basis{
		caps: a.Authority.Caps(), context: entries, self: a.Authority.Owner().String(), output: a.Output, task: a.Task,
		day: int(today.Unix() / int64(24*time.Hour/time.Second)),
	}
	if a.Held != nil {
		var err error
		if now.held, err = a.Held(ctx); err != nil {
			return nil, fmt.Errorf("list what is delegated to agent %s: %w", a.ID, err)
		}
	}
	if a.Granted != nil {
		var err error
		if now.granted, err = a.Granted(ctx); err != nil {
			return nil, fmt.Errorf("list what is granted to agent %s: %w", a.ID, err)
		}
	}
	if last == nil && a.Last != nil {
		last = a.Last.Load()
	}
	if last != nil && last.of.equal(&now) {
		return last, nil
	}
	in := prompt.Input{
		Identity: a.Prompt, Date: today.UTC().Format(time.DateOnly), Venue: a.Venue, Model: a.ModelName, Context: entries, Self: now.self, Held: now.held, Granted: now.granted, Asks: a.Asks, Caps: now.caps,
	}
	if a.Output != nil {
		in.Output = string(a.Output.JSON())
	}
	b := &Briefing{System: prompt.System(in), Tools: a.offer(now.caps, caps.Of(now.granted...)), of: now}
	if a.Task {
		for _, op := range []*tools.Operation{a.Complete, a.Fail} {
			b.Tools = append(b.Tools, offer(op))
		}
	}
	b.Tools = slices.Clip(b.Tools)
	b.tokens = estimateBrief(b.System, b.Tools, json.RawMessage(in.Output))
	if a.Last != nil {
		a.Last.Store(b)
	}
	return b, nil
}

// offer returns the operations that set could allow at all, what is granted beside it,
// or whoever is asked.
func (a *Agent) offer(set, granted caps.Set) []Tool {
	out := make([]Tool, 0, len(a.Tools))
	for _, op := range a.Tools {
		if a.Asks && !set.IsEmpty() || op.CouldAllow(set) || op.CouldAllow(granted) {
			out = append(out, offer(op))
		}
	}
	return out
}

func offer(op *tools.Operation) Tool {
	return Tool{Name: op.ToolName(), Description: op.Description(), Input: op.InputSchema()}
}
