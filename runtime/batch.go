package runtime

import (
	"context"
	"encoding/json"
	"path"
	"slices"

	"usher/caps"
	"usher/tools"
)

// batches splits the calls of one answer into groups, in order: the calls of a
// group run side by side, the groups one after the other. A call begins a new
// group when it could see what a call of the group does, or undo it: who asks
// for a write and a read of the same path in one answer means them in that
// order.
func (t *turn) batches(ctx context.Context, calls []ToolCall) [][]wish {
	all := make([]wish, len(calls))
	for i, call := range calls {
		all[i].ToolCall = call
		all[i].op, all[i].err = t.tool(call.Name)
	}
	if len(all) == 1 {
		return [][]wish{all}
	}
	for i := range all {
		if all[i].op != nil {
			all[i].reach = t.reach(ctx, all[i].op, json.RawMessage(all[i].Arguments), 0)
		}
	}
	start := 0
	var out [][]wish
	for i := range all {
		if slices.ContainsFunc(all[start:i], all[i].after) {
			out = append(out, all[start:i])
			start = i
		}
	}
	return append(out, all[start:])
}

// wish is a tool call with what it would touch.
type wish struct {
	ToolCall
	op    *tools.Operation // nil where there is none of that name
	err   error            // why there is none
	reach reach
}

// after reports whether w has to wait for the call before it.
func (w wish) after(before wish) bool { return w.reach.meets(before.reach) }

// reach is what a call touches, as far as it can be known beforehand. The zero
// value touches nothing.
type reach struct {
	alone bool   // it may touch anything, or bear on what others may do
	lane  string // calls of one lane, such as a session, follow on each other
	on    []caps.Request
}

func (r reach) meets(other reach) bool {
	if r.alone || other.alone || r.lane != "" && r.lane == other.lane {
		return true
	}
	for _, a := range r.on {
		for _, b := range other.on {
			if !(uses(a) && uses(b)) && overlap(a.Resource(), b.Resource()) {
				return true
			}
		}
	}
	return false
}

// maxNesting is how deep operations that start others are seen through; what
// lies deeper may touch anything.
const maxNesting = 4

// reach finds what a call touches: nothing where the gate will refuse the
// input, as nothing then runs. One that starts another operation touches what
// that one does.
func (t *turn) reach(ctx context.Context, op *tools.Operation, input json.RawMessage, depth int) (r reach) {
	defer func() {
		if recover() != nil {
			r = reach{alone: true}
		}
	}()
	if op.Exclusive() || depth == maxNesting {
		return reach{alone: true}
	}
	needs, err := op.Requirements(input)
	if err != nil {
		return reach{}
	}
	r.lane = op.Lane(input)
	owner := t.agent.Authority.Owner()
	for _, need := range needs {
		if need.HasResource() {
			r.on = append(r.on, need.In(owner.String()))
		}
	}
	if reference, inner, ok := op.Starts(input); ok {
		started, err := t.gate.Registry().Resolve(ctx, owner, reference)
		if err != nil {
			return r // it will be refused
		}
		below := t.reach(ctx, started, inner, depth+1)
		r.alone, r.on = below.alone, append(r.on, below.on...)
		if r.lane == "" {
			r.lane = below.lane
		}
	}
	return r
}

// uses reports whether the requirement leaves the resource as it is: any number
// of such calls may run at once.
func uses(need caps.Request) bool {
	switch can := string(need.Ability()); can {
	case "invoke", "agent/request", "agent/message":
		return true
	default:
		last := path.Base(can)
		return last == "read" || last == "get" || last == "list"
	}
}

func overlap(a, b caps.Resource) bool { return a.Covers(b) || b.Covers(a) }
