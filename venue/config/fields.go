package config

import (
	"fmt"
	"slices"
	"strings"

	"usher/tools"
)

// object is a mapping whose keys are known. Its methods report what does not
// fit and return the zero value for it, so that reading goes on.
type object struct {
	problems *problems
	what     string // "an agent"
	node     *node
}

// object takes n for a mapping with some of the known keys.
func (p *problems) object(n *node, what string, known []string, example string) (o object, ok bool) {
	if n.kind != mapping {
		p.add(n.at, "%s is %s here: write a mapping, for example %s", what, n.kind, example)
		return object{}, false
	}
	for _, f := range n.fields {
		if known != nil && !slices.Contains(known, f.key) {
			p.add(f.at, "unknown key %q in %s: %s", f.key, what, instead(f.key, known))
		}
	}
	return object{p, what, n}, true
}

func instead(key string, known []string) string {
	if near := nearest(key, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "the keys are " + strings.Join(known, ", ")
}

// nearest is [tools.Nearest], which counts two letters that changed places as
// two mistakes: too many for short names.
func nearest(name string, known []string) string {
	letters := sorted(name)
	for _, k := range known {
		if sorted(k) == letters {
			return k
		}
	}
	return tools.Nearest(name, known)
}

func sorted(s string) string {
	b := []byte(strings.ToLower(s))
	slices.Sort(b)
	return string(b)
}

// get returns the value at key, or nil.
func (o object) get(key string) *node {
	if f := o.node.field(key); f != nil {
		return f.value
	}
	return nil
}

// wrong reports that the value at key is not what it should be.
func (o object) wrong(key string, n *node, want, example string) {
	if n.kind == null {
		o.problems.add(n.at, "%s is empty: write %s, for example %s: %s, or remove the key", key, want, key, example)
		return
	}
	o.problems.add(n.at, "%s is %s: write %s, for example %s: %s", key, n.kind, want, key, example)
}

// text returns the text at key; absent is "", and written as "" is a fault.
func (o object) text(key, example string) string {
	n := o.get(key)
	if n == nil {
		return ""
	}
	switch {
	case n.kind == number || n.kind == boolean:
		o.problems.add(n.at, "%s is %s: in quotes it is text, %s: %q", key, n.kind, key, n.text)
	case n.kind != text:
		o.wrong(key, n, "text", example)
	case strings.TrimSpace(n.text) == "":
		o.problems.add(n.at, "%s is empty: write text, for example %s: %s, or remove the key", key, key, example)
	default:
		return n.text
	}
	return ""
}

// required is [object.text] for a key that has to be there.
func (o object) required(key, example string) string {
	if o.get(key) == nil {
		o.problems.add(o.node.at, "%s lacks %q: write for example %s: %s", o.what, key, key, example)
		return ""
	}
	return o.text(key, example)
}

func (o object) flag(key string) bool {
	n := o.get(key)
	if n == nil {
		return false
	}
	if n.kind != boolean {
		o.wrong(key, n, "true or false", "true")
		return false
	}
	return n.text == "true"
}

// list returns the entries at key.
func (o object) list(key, example string) []*node {
	n := o.get(key)
	if n == nil {
		return nil
	}
	if n.kind != list {
		o.wrong(key, n, "a list", example)
		return nil
	}
	return n.items
}
