package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"usher/runtime"
)

// calls tells the tool calls of one answer apart. By the format, the index
// does: but there are servers that number every call 0, or none; that repeat
// id and name with each piece, or make up a new id for each; that send a name
// in pieces; and that send a call again when it is complete. Calls are numbered
// anew, in the order in which they began.
type calls []openCall

// maxName bounds a name that comes in pieces, in bytes: no tool has so long a one,
// and to put it together takes the square of its length.
const maxName = 1 << 10

type openCall struct {
	index    int // the server's; -1 is none
	id, name string
	said     bool // that it begins, with all of its name
	again    bool // its name came once more after it was complete
	object
}

// add takes a piece of a call and returns what is new. A name may go on until
// arguments follow it or the next call begins, and is new only then.
func (c *calls) add(d *call) (out []runtime.CallDelta) {
	at, id, name := c.find(d), string(d.ID), d.Function.Name
	if at >= 0 && (*c)[at].begins(d) {
		if name == "" && (*c)[at].again {
			name = (*c)[at].name
		}
		at = -1
	}
	if at < 0 {
		out = c.beginnings()
		at = len(*c)
		*c = append(*c, openCall{index: indexOf(d)})
	}
	o := &(*c)[at]
	o.again = o.again || name != "" && id == "" && o.complete()
	next := runtime.CallDelta{Index: at, Arguments: string(d.Function.Arguments)}
	if o.id == "" {
		o.id, next.ID = id, id
	}
	switch {
	case o.name == "":
		o.name, next.Name = name, name
	case !o.said && strings.HasPrefix(name, o.name): // repeated, or all of it so far
		o.name = name
	case !o.said && len(o.name) <= maxName:
		o.name += name
	}
	if next.Arguments != "" && next.Arguments == string(o.text) && o.complete() {
		next.Arguments = "" // sent again: after a JSON object nothing can follow
	}
	o.text = append(o.text, next.Arguments...)
	switch {
	case !o.said && next.Arguments == "":
		return out
	case !o.said:
		o.said, next.ID, next.Name = true, o.id, o.name
	case next.ID == "" && next.Name == "" && next.Arguments == "":
		return out
	}
	return append(out, next)
}

// beginnings returns the beginnings of the calls that have no arguments yet, and will
// get no other name.
func (c *calls) beginnings() (out []runtime.CallDelta) {
	for i := range *c {
		if o := &(*c)[i]; !o.said {
			o.said = true
			out = append(out, runtime.CallDelta{Index: i, ID: o.id, Name: o.name})
		}
	}
	return out
}

// find returns the call that d is a piece of unless it begins another, or -1.
func (c *calls) find(d *call) int {
	index := indexOf(d)
	if d.ID != "" {
		same := func(o openCall) bool { return o.id == string(d.ID) && (index < 0 || o.index == index) }
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
	id, name := string(d.ID), d.Function.Name
	switch {
	case id != "" && id == o.id:
		return false
	case name != "" && o.name != "" && name != o.name:
		// Without ids, it may be the next call of a server that numbers all of them 0.
		return o.said || o.id == "" || id != ""
	case id != "" && o.id != "" && name != "":
		return true
	}
	// After a JSON object nothing can follow in the same call. A name alone may
	// be another call or the same one's: that shows when arguments follow.
	return (name != "" || id != "" || o.again) && o.complete() && strings.TrimSpace(string(d.Function.Arguments)) != ""
}

// half returns the name of a call whose arguments are not complete.
func (c calls) half() (string, bool) {
	for i := range c {
		if !json.Valid(c[i].text) {
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

// object is text that is to become a JSON object. Whether it is one is asked at
// every piece, and to parse all of it each time would take the square of its
// length: so each byte is looked at once, and parsed once.
type object struct {
	text []byte

	seen, depth     int
	quoted, escaped bool
	closed, valid   bool
}

// complete says whether the text is one JSON object.
func (o *object) complete() bool {
	for ; o.seen < len(o.text); o.seen++ {
		c := o.text[o.seen]
		if o.closed {
			o.valid = o.valid && (c == ' ' || c == '\n' || c == '\r' || c == '\t')
			continue
		}
		switch {
		case o.escaped:
			o.escaped = false
		case o.quoted:
			o.escaped, o.quoted = c == '\\', c != '"'
		case c == '"':
			o.quoted = true
		case c == '{', c == '[':
			o.depth++
		case c == '}', c == ']':
			if o.depth--; o.depth <= 0 {
				o.closed, o.valid = true, c == '}' && json.Valid(o.text[:o.seen+1])
			}
		}
	}
	return o.valid
}
