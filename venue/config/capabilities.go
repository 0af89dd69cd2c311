package config

import (
	"strconv"

	"usher/caps"
)

var capabilityKeys = []string{"with", "can"}

// caps reads an agent's capabilities. Absent and null are told apart from a
// list; a fault in one entry leaves nothing that could be used, since the
// configuration as a whole is refused.
func (r *reader) caps(o object, id string) caps.Declared {
	var none caps.Declared
	n := o.get("caps")
	if n == nil {
		return none
	}
	r.place(n.at, "agent", id, "caps")
	if n.kind != list && n.kind != null {
		r.add(n.at, "caps is %s: write a list, for example caps: [{with: w/, can: crud/read}], or [] for nothing", n.kind)
		return none
	}
	before := len(r.list)
	for i, item := range n.items {
		r.capability(item)
		r.place(item.at, "agent", id, "cap", strconv.Itoa(i))
	}
	if len(r.list) > before {
		return none
	}
	var declared caps.Declared
	if err := declared.UnmarshalYAML(n.decode); err != nil {
		r.add(n.at, "%v", err)
		return none
	}
	return declared
}

// capability checks one entry, so that a fault is shown where it stands.
func (r *reader) capability(n *node) {
	c, ok := r.object(n, "a capability", capabilityKeys, "{with: w/, can: crud/read}")
	if !ok {
		return
	}
	with, can := c.get("with"), c.get("can")
	switch {
	case with == nil:
		r.add(n.at, `a capability lacks "with": write the resource, for example {with: w/, can: crud/read}`)
	case with.kind != text: // "" is text: the whole namespace
		c.wrong("with", with, `a resource, or "" for everything`, "w/")
	default:
		if _, err := caps.ParseResource(with.text); err != nil {
			r.add(with.at, "%v", err)
		}
	}
	switch {
	case can == nil:
		r.add(n.at, `a capability lacks "can": write the ability, for example {with: w/, can: crud/read}`)
	case can.kind != text:
		c.wrong("can", can, `an ability, or "*" for every one`, "crud/read")
	default:
		if _, err := caps.ParseAbility(can.text); err != nil {
			r.add(can.at, "%v", err)
		}
	}
}

// decode hands n to a decoder of its own, as a YAML library would.
func (n *node) decode(to any) error {
	*to.(*any) = n.any()
	return nil
}
