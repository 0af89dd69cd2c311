package runtime

import (
	"context"
	"encoding/json"
	"path"
	"strings"

	"usher/caps"
	"usher/tools"
)

// batches splits the calls of one answer into groups, in order: the calls of a
// group run side by side, the groups one after the other. A call begins a new
// group when it could see what a call of the group does, or undo it: who asks
// for a write and a read of the same path in one answer means them in that
// order.
func (t *turn) batches(ctx context.Context, calls []ToolCall) ([][]wish, error) {
	all := make([]wish, len(calls))
	for i, call := range calls {
		all[i] = t.wish(call)
	}
	if len(all) == 1 {
		return [][]wish{all}, nil
	}
	var (
		out   [][]wish
		group reach // of the calls from start on
		start int
	)
	for i := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var mine reach
		if all[i].op != nil {
			t.foresee(ctx, &mine, tools.Invocation{Operation: all[i].op.Reference(), Input: json.RawMessage(all[i].Arguments)}, 0)
		}
		if i > start && group.meets(&mine) {
			out, start, group = append(out, all[start:i]), i, reach{}
		}
		group.add(&mine)
	}
	return append(out, all[start:]), nil
}

// wish is a tool call with the operation that it means.
type wish struct {
	ToolCall
	at  tools.At
	op  *tools.Operation // nil where there is none of that name
	err error            // why there is none
}

func (t *turn) wish(call ToolCall) (w wish) {
	w.ToolCall, w.at = call, t.session.at(call.ID)
	w.op, w.err = t.tool(call.Name)
	return w
}

// reach is what calls touch, as far as it can be known beforehand. The zero
// value touches nothing.
type reach struct {
	alone bool           // it may touch anything, or bear on what others may do
	on    map[string]use // resources, and lanes, such as a session, in which calls follow on each other
}

// use is what is done with a resource, and with those below it.
type use uint8

const (
	looks   use = 1 << iota // leaves it as it is: any number of such calls may run at once
	changes                 // anything else
	below   = 2             // bits by which what is done below a resource is shifted
)

func (u use) meets(other use) bool { return u != 0 && other != 0 && (u|other)&changes != 0 }

// meets reports whether what other touches has to wait for r.
func (r *reach) meets(other *reach) bool {
	if r.alone || other.alone {
		return true
	}
	for resource, u := range other.on {
		here := r.on[resource]
		if u &= looks | changes; u.meets(here | here>>below) {
			return true
		}
		for at := range ancestors(resource) {
			if u.meets(r.on[at] & (looks | changes)) {
				return true
			}
		}
	}
	return false
}

func (r *reach) add(other *reach) {
	r.alone = r.alone || other.alone
	for resource, u := range other.on {
		r.touch(resource, u&(looks|changes))
	}
}

func (r *reach) touch(resource string, u use) {
	if r.on == nil {
		r.on = make(map[string]use)
	}
	r.on[resource] |= u
	for at := range ancestors(resource) {
		r.on[at] |= u << below
	}
}

// ancestors yields what lies above a resource, the root last.
func ancestors(resource string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for at := resource; at != ""; {
			at = at[:max(strings.LastIndexByte(at, '/'), 0)]
			if !yield(at) {
				return
			}
		}
	}
}

// maxNesting is how deep operations that start others are seen through; what
// lies deeper may touch anything.
const maxNesting = 4

// foresee adds what a call would touch: nothing where the gate refuses it now, as
// nothing then runs. One that starts others touches what those do.
func (t *turn) foresee(ctx context.Context, r *reach, inv tools.Invocation, depth int) {
	defer func() {
		if recover() != nil { // the operation's own code
			r.alone = true
		}
	}()
	ruling, err := t.gate.Decide(ctx, t.agent.Authority, inv)
	op := ruling.Operation()
	switch {
	case err != nil || op == nil || ruling.Verdict() == tools.Denied:
		return
	case op.Exclusive() || depth == maxNesting:
		r.alone = true
		return
	}
	if lane := op.Lane(ruling.Input()); lane != "" {
		r.touch("lane "+lane, changes)
	}
	for need := range ruling.Needs() {
		if need.HasResource() {
			r.touch(need.Resource().String(), useOf(need))
		}
	}
	starts, known := ruling.Starts()
	if !known {
		r.alone = true
		return
	}
	for _, inner := range starts {
		t.foresee(ctx, r, inner, depth+1)
	}
}

// useOf says what a requirement does with its resource.
func useOf(need caps.Request) use {
	switch can := string(need.Ability()); can {
	case "invoke", "agent/request", "agent/message":
		return looks
	default:
		if last := path.Base(can); last == "read" || last == "get" || last == "list" {
			return looks
		}
		return changes
	}
}
