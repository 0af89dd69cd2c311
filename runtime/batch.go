package runtime

import (
	"encoding/json"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools"
)

// batches splits the calls of one answer into groups, in order: the calls of a
// group run side by side, the groups one after the other. A call begins a new
// group when it could see what a call of the group does, or undo it: who asks
// for a write and a read of the same path in one answer means them in that
// order.
func (t *turn) batches(calls []ToolCall) [][]wish {
	all := make([]wish, len(calls))
	for i, call := range calls {
		all[i].ToolCall = call
		all[i].op, all[i].err = t.tool(call.Name)
	}
	if len(all) == 1 {
		return [][]wish{all}
	}
	for i := range all {
		all[i].ask()
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
	needs []caps.Request
}

// ask finds what the call requires: nothing where the gate will refuse the
// input, or the operation fails at it, as nothing then runs.
func (w *wish) ask() {
	if w.op == nil {
		return
	}
	defer func() {
		if recover() != nil {
			w.needs = nil
		}
	}()
	w.needs, _ = w.op.Requirements(json.RawMessage(w.Arguments))
}

// after reports whether w has to wait for the call before it.
func (w wish) after(before wish) bool {
	if w.op == nil || before.op == nil {
		return false
	}
	if w.op.Exclusive() || before.op.Exclusive() {
		return true
	}
	for _, a := range before.needs {
		for _, b := range w.needs {
			if (changes(a) || changes(b)) && touches(a) && touches(b) && overlap(a.Resource(), b.Resource()) {
				return true
			}
		}
	}
	return false
}

const data = "crud"

// touches reports whether the requirement is one on data.
func touches(need caps.Request) bool {
	can := string(need.Ability())
	return need.HasResource() && (can == data || strings.HasPrefix(can, data+"/"))
}

func changes(need caps.Request) bool { return need.Ability() != data+"/read" }

func overlap(a, b caps.Resource) bool { return a.Covers(b) || b.Covers(a) }
