package config

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/form"
)

// CapsOf is what an agent of the configuration may do once the venue runs, within what those above it
// may; ok says whether there is one of the id.
func (c *Config) CapsOf(id string) (set caps.Set, ok bool) {
	l := &linter{agents: make(map[string]*agents.Spec, len(c.Agents)), effective: make(map[string]caps.Set, 1)}
	for i := range c.Agents {
		l.agents[c.Agents[i].ID] = &c.Agents[i]
	}
	return l.capsOf(id), l.agents[id] != nil
}

// capsOf is what an agent may do once the venue runs: its own capabilities and
// those of the agents that it has them from, all at once. One that is not there
// gives nothing.
func (l *linter) capsOf(id string) caps.Set {
	if set, ok := l.effective[id]; ok {
		return set
	}
	set := caps.Unrestricted()
	for _, a := range l.lineage(id) {
		if a == nil {
			set = caps.Set{}
			break
		}
		set = set.Intersect(specCaps(a))
	}
	l.effective[id] = set
	return set
}

// lineage is an agent and those above it, each once; nil is one that is not there.
func (l *linter) lineage(id string) (list []*agents.Spec) {
	for {
		a := l.agents[id]
		if slices.Contains(list, a) {
			return list
		}
		if list = append(list, a); a == nil || a.Parent == "" {
			return list
		}
		id = a.Parent
	}
}

// specCaps is what stands at an agent's caps; absent and null restrict nothing.
func specCaps(a *agents.Spec) caps.Set {
	if set, ok := a.Caps.Set(); ok {
		return set
	}
	return caps.Unrestricted()
}

// parent finds a parent that is not there or is the agent's own child, and
// capabilities that are written wider than the parent's.
func (a *agentLint) parent() {
	line := a.lineage(a.ID)
	last := line[len(line)-1]
	set, limit := specCaps(a.Spec), caps.Unrestricted()
	if a.Parent != "" && a.Caps.Present() { // what is left out is the parent's
		limit = a.capsOf(a.Parent)
	}
	switch {
	case a.Parent == "":
	case a.agents[a.Parent] == nil:
		known := slices.DeleteFunc(slices.Sorted(maps.Keys(a.agents)), func(id string) bool { return id == a.ID })
		a.fault("its parent "+strconv.Quote(a.Parent)+" is no agent of the configuration", cmp.Or(form.Suggest(a.Parent, known), "add it to agents"), "parent")
	case last != nil && last.Parent == a.ID:
		a.fault("it is its own parent, directly or through others, which nobody can be", "remove one of the parents", "parent")
	case len(limit.Gaps(set)) == 0:
	case set.IsUnrestricted():
		a.fault("its caps are null, which asks for everything, and its parent "+a.Parent+" holds "+limit.String()+" only",
			"leave caps out to take the parent's, or list what it needs", "caps")
	default:
		missing := limit.Gaps(set)
		a.fault("its parent "+a.Parent+" does not hold "+caps.Of(missing...).String()+" and so cannot have given it",
			"give it to "+a.Parent+" too, or take it away here", "caps", a.number(missing[0]))
	}
}

// number is the number of a capability in the agent's list.
func (a *agentLint) number(c caps.Capability) string {
	return strconv.Itoa(slices.IndexFunc(slices.Collect(specCaps(a.Spec).All()), c.Equal))
}

// bound finds agents that nothing bounds, and those that ask in vain for more than nothing.
func (a *agentLint) bound() {
	set := a.capsOf(a.ID)
	if set.IsEmpty() && a.Ask != nil && *a.Ask {
		a.warn("nobody is asked for what it lacks: whoever may do nothing at all is given nothing", "give it one capability, for example caps: [{with: w/notes, can: crud/read}]", "ask_for_capability")
	}
	if !set.IsUnrestricted() {
		return
	}
	what := "everything that its user may"
	if a.Identity == agents.IdentityOwn {
		what = "everything in a namespace of its own, and elsewhere all that is delegated to it"
	}
	message, path := "it has no caps, so it may do "+what, []string(nil)
	if a.Caps.IsNull() {
		message, path = "its caps are null, so it may do "+what, []string{"caps"}
	}
	a.warn(message, "list what it needs, for example caps: [{with: w/, can: crud/read}], or [] for nothing", path...)
}

// abilities finds misspelt ones, and those on resources that nothing needs them on.
func (a *agentLint) abilities() {
	for c := range specCaps(a.Spec).All() {
		if said := NearAbility(a.registry, c.Can()); said != "" {
			a.warn(said, "", "caps", a.number(c))
		} else if under := a.elsewhere(c); len(under) > 0 {
			a.warn("no operation here needs "+string(c.Can())+" on "+c.Resource().String(), "it is needed below "+strings.Join(under, ", "), "caps", a.number(c))
		}
	}
}

// elsewhere is below which resources operations need the ability of a capability, where none
// needs it on the capability's own. What is another principal's is not known here.
func (l *linter) elsewhere(c caps.Capability) (under []string) {
	plain := caps.Of(caps.MustCapability(c.With(), string(c.Can())))
	if c.Resource().DID() != "" {
		return nil
	}
	ops := l.registry.All()
	for i := range l.config.MCP {
		t, _, _ := l.importOf("mcp/" + l.config.MCP[i].ID + "/*")
		ops = append(ops, t.ops...)
	}
	for _, op := range ops {
		for _, sc := range slices.Concat(op.Scopes()...) {
			switch {
			case plain.CouldAllow(sc):
				return nil
			case c.Can().Covers(sc.Can) && !sc.Foreign:
				under = append(under, sc.Under+"/")
			}
		}
	}
	slices.Sort(under)
	return slices.Compact(under)
}

// abroad finds agents with a key of their own whose capabilities leave nothing of
// what may be delegated to them.
func (a *agentLint) abroad() {
	set := specCaps(a.Spec)
	foreign := func(c caps.Capability) bool { return c.Resource().DID() != "" }
	if a.Identity != agents.IdentityOwn || set.IsUnrestricted() || set.IsEmpty() || slices.ContainsFunc(slices.Collect(set.All()), foreign) {
		return
	}
	if slices.ContainsFunc(a.tools, func(t tool) bool { return slices.ContainsFunc(t.ops, reachesAbroad) }) {
		a.report(LevelNote, a.subject(), "its caps lie in a namespace of its own, so what its user or others delegate to it stays out of reach",
			"if it is to use that, add the owner's resource, for example {with: did:key:z6Mk…/w/shared/, can: crud/read}, or leave caps out", "caps")
	}
}

// reachesAbroad reports whether an operation can work in the namespace of another.
func reachesAbroad(op *tools.Operation) bool {
	return slices.ContainsFunc(slices.Concat(op.Scopes()...), func(sc caps.Scope) bool { return sc.Foreign })
}

// redundancy finds capabilities that say nothing beside the others.
func (a *agentLint) redundancy() {
	list := slices.Collect(specCaps(a.Spec).All())
	for i, c := range list {
		for j, other := range list {
			// Of two that are equal the later one is too many.
			if i != j && other.Covers(c) && (!c.Equal(other) || i > j) {
				a.warn(c.String()+" adds nothing: "+other.String()+" covers it", "remove one of them", "caps", strconv.Itoa(i))
				break
			}
		}
	}
}

// denials finds capabilities that never count, and denials of what nothing gives.
func (a *agentLint) denials() {
	list := slices.Collect(specCaps(a.Spec).All())
	for i, c := range list {
		switch never := slices.IndexFunc(list, func(d caps.Capability) bool { return d.Bars(c) }); {
		case c.Denies():
			if a.Caps.Present() && !slices.ContainsFunc(list, func(d caps.Capability) bool { return !d.Denies() && c.Meets(d) }) {
				a.warn(c.String()+" denies what none of its capabilities gives", "remove it", "caps", strconv.Itoa(i))
			}
		case never >= 0:
			a.warn(c.String()+" never counts: "+list[never].String()+" is tighter", "remove one of them", "caps", strconv.Itoa(i))
		}
	}
}

// loans finds agents that do for others what those may not do themselves.
func (a *agentLint) loans() {
	if a.Authority != agents.AuthorityOwn {
		return
	}
	own := a.capsOf(a.ID)
	for _, asker := range a.config.Agents {
		may := a.capsOf(asker.ID)
		if asker.ID == a.ID || may.Covers(own) || !may.Check(caps.Need("agent/request", "g/"+a.ID)).IsAllowed() {
			continue
		}
		message := asker.ID + " may ask it, and through it get done what its own capabilities do not allow"
		if missing := may.Gaps(own); !own.IsUnrestricted() && len(missing) > 0 {
			message += ": " + caps.Of(missing...).String()
		}
		a.report(LevelNote, a.subject(), message, "write authority: caller if that is not meant")
	}
}
