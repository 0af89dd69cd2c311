package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"usher/runtime"
)

// calls tells the tool calls of one answer apart. By the format, the index
// does: but there are servers that number every call 0, or none; that repeat
// id and name with each piece, or make up a new id for each; and that send a
// call again when it is complete. Calls are numbered anew, in the order in
// which they began.
type calls []openCall

type openCall struct {
	index     int // the server's; -1 is none
	id, name  string
	whole     joiner
	arguments []byte
	again     bool // its name came once more after it was complete
}

// add takes a piece of a call and returns what is new in it; nil is nothing.
func (c *calls) add(d *call) *runtime.CallDelta {
	at, name := c.find(d), d.Function.Name
	if at >= 0 && (*c)[at].begins(d) {
		if name == "" && (*c)[at].again {
			name = (*c)[at].name
		}
		at = -1
	}
	if at < 0 {
		at = len(*c)
		*c = append(*c, openCall{index: indexOf(d)})
	}
	o := &(*c)[at]
	o.again = o.again || name != "" && d.ID == "" && o.complete()
	out := &runtime.CallDelta{Index: at, Arguments: o.whole.add(piece(d.Function.Arguments))}
	if o.id == "" {
		o.id, out.ID = d.ID, d.ID
	}
	if o.name == "" {
		o.name, out.Name = name, name
	}
	if out.Arguments != "" && out.Arguments == string(o.arguments) && o.complete() {
		out.Arguments = "" // sent again: after a JSON object nothing can follow
	}
	o.arguments = append(o.arguments, out.Arguments...)
	if out.ID == "" && out.Name == "" && out.Arguments == "" {
		return nil
	}
	return out
}

// find returns the call that d is a piece of unless it begins another, or -1.
func (c *calls) find(d *call) int {
	index := indexOf(d)
	if d.ID != "" {
		same := func(o openCall) bool { return o.id == d.ID && (index < 0 || o.index == index) }
		if at := slices.IndexFunc(*c, same); at >= 0 {
			return at
		}
	}
	at := len(*c) - 1
	if index >= 0 {
		for at >= 0 && (*c)[at].index != index {
			at--
		}
	}
	return at
}

// begins says whether d, which may be a piece of o, begins another call.
func (o *openCall) begins(d *call) bool {
	if d.ID != "" && d.ID == o.id {
		return false
	}
	name, args := d.Function.Name, strings.TrimSpace(string(d.Function.Arguments))
	switch {
	case name != "" && o.name != "" && name != o.name:
		return true
	case d.ID != "" && o.id != "" && d.ID != o.id && name != "":
		return true
	}
	// After a JSON object nothing can follow in the same call. A name alone may
	// be another call or the same one's: that shows when arguments follow.
	return args != "" && (name != "" || d.ID != "" || o.again) && o.complete()
}

// complete says whether the arguments are one JSON object.
func (o *openCall) complete() bool {
	return len(o.arguments) > 1 && o.arguments[len(o.arguments)-1] == '}' && json.Valid(o.arguments)
}

// half returns the name of a call whose arguments are not complete.
func (c calls) half() (string, bool) {
	for i := range c {
		if !json.Valid(c[i].arguments) {
			return c[i].name, true
		}
	}
	return "", false
}

func indexOf(d *call) int {
	if d.Index == nil || *d.Index < 0 {
		return -1
	}
	return *d.Index
}
