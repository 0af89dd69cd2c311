package config

import (
	"slices"
	"strconv"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/form"
)

// held is what an agent may do once the venue runs: its own capabilities and
// those of the agents that it has them from, all at once. One that is not there
// gives nothing.
func (l *linter) held(id string) caps.Set {
	if set, ok := l.effective[id]; ok {
		return set
	}
	set := caps.Unrestricted()
	for _, a := range l.lineage(id) {
		if a == nil {
			set = caps.Set{}
			break
		}
		set = set.Intersect(written(a))
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

// written is what stands at an agent's caps; absent and null restrict nothing.
func written(a *agents.Spec) caps.Set {
	if set, ok := a.Caps.Set(); ok {
		return set
	}
	return caps.Unrestricted()
}

// parents finds parents that are not there, circles of them, and children that
// are written wider than their parent.
func (l *linter) parents() {
	for i := range l.config.Agents {
		a := &l.config.Agents[i]
		parent := a.Parent
		name, at := "agent "+a.ID, l.config.at("agent", a.ID, "parent")
		switch {
		case parent == "":
		case l.agents[parent] == nil:
			l.report(LevelError, at, name, "its parent "+strconv.Quote(parent)+" is no agent of the configuration", l.nearestAgent(parent))
		case l.circle(a.ID):
			l.report(LevelError, at, name, "it is its own parent, directly or through others, which nobody can be", "remove one of the parents")
		case !a.Caps.Present():
			// What is left out is the parent's.
		default:
			l.wider(a, parent)
		}
	}
}

func (l *linter) circle(id string) bool {
	list := l.lineage(id)
	last := list[len(list)-1]
	return last != nil && last.Parent == id
}

func (l *linter) wider(a *agents.Spec, parent string) {
	set, limit := written(a), l.held(parent)
	if limit.Covers(set) {
		return
	}
	name, at := "agent "+a.ID, l.config.at("agent", a.ID, "caps")
	if set.IsUnrestricted() {
		l.report(LevelError, at, name, "its caps are null, which asks for everything, and its parent "+parent+" holds "+limit.String()+" only",
			"leave caps out to take the parent's, or list what it needs")
		return
	}
	missing := limit.Missing(set)
	l.report(LevelError, l.capPlace(a, missing[0]), name, "its parent "+parent+" does not hold "+caps.Of(missing...).String()+" and so cannot have given it",
		"give it to "+parent+" too, or take it away here")
}

// capPlace is where a capability of an agent stands.
func (l *linter) capPlace(a *agents.Spec, c caps.Capability) place {
	set, _ := a.Caps.Set()
	i := slices.IndexFunc(slices.Collect(set.All()), c.Equal)
	return l.config.at("agent", a.ID, "caps", strconv.Itoa(i))
}

// restriction finds agents that nothing bounds.
func (l *linter) restriction(a *agents.Spec) {
	if !l.held(a.ID).IsUnrestricted() {
		return
	}
	what := "everything that its user may"
	if a.Identity == agents.IdentityOwn {
		what = "everything in a namespace of its own, and elsewhere all that is delegated to it"
	}
	message, at := "it has no caps, so it may do "+what, l.config.at("agent", a.ID)
	if a.Caps.IsNull() {
		message, at = "its caps are null, so it may do "+what, l.config.at("agent", a.ID, "caps")
	}
	l.report(LevelWarning, at, "agent "+a.ID, message, "list what it needs, for example caps: [{with: w/, can: crud/read}], or [] for nothing")
}

// abroad finds agents with a key of their own whose capabilities leave nothing of
// what may be delegated to them.
func (l *linter) abroad(a *agents.Spec, listed []tool) {
	set := written(a)
	foreign := func(c caps.Capability) bool { return c.Resource().DID() != "" }
	if a.Identity != agents.IdentityOwn || set.IsUnrestricted() || set.IsEmpty() || slices.ContainsFunc(slices.Collect(set.All()), foreign) {
		return
	}
	for _, t := range listed {
		if slices.ContainsFunc(t.ops, reachesAbroad) {
			l.report(LevelNote, l.config.at("agent", a.ID, "caps"), "agent "+a.ID,
				"its caps lie in a namespace of its own, so what its user or others delegate to it stays out of reach",
				"if it is to use that, add the owner's resource, for example {with: did:key:z6Mk…/w/shared/, can: crud/read}, or leave caps out")
			return
		}
	}
}

// reachesAbroad reports whether an operation can work in the namespace of another.
func reachesAbroad(op *tools.Operation) bool {
	return slices.ContainsFunc(op.Scopes(), func(alternatives []caps.Scope) bool {
		return slices.ContainsFunc(alternatives, func(sc caps.Scope) bool { return sc.Foreign })
	})
}

// redundancy finds capabilities that say nothing beside the others.
func (l *linter) redundancy(a *agents.Spec) {
	set, _ := a.Caps.Set()
	list := slices.Collect(set.All())
	for i, c := range list {
		for j, other := range list {
			// Of two that are equal the later one is too many.
			if i == j || !other.Covers(c) || c.Equal(other) && i < j {
				continue
			}
			l.report(LevelWarning, l.config.at("agent", a.ID, "caps", strconv.Itoa(i)), "agent "+a.ID,
				c.String()+" adds nothing: "+other.String()+" covers it", "remove one of them")
			break
		}
	}
}

// lending finds agents that do for others what those may not do themselves.
func (l *linter) lending(a *agents.Spec) {
	if a.Authority != agents.AuthorityOwn {
		return
	}
	own := l.held(a.ID)
	for i := range l.config.Agents {
		asker := &l.config.Agents[i]
		may := l.held(asker.ID)
		if asker.ID == a.ID || may.Covers(own) || !may.Check(caps.Need("agent/request", "g/"+a.ID)).Allowed() {
			continue
		}
		message := asker.ID + " may ask it, and through it get done what its own capabilities do not allow"
		if !own.IsUnrestricted() {
			message += ": " + caps.Of(may.Missing(own)...).String()
		}
		l.report(LevelNote, l.config.at("agent", a.ID), "agent "+a.ID, message, "write authority: caller if that is not meant")
	}
}

func (l *linter) nearestAgent(id string) string {
	known := make([]string, 0, len(l.agents))
	for i := range l.config.Agents {
		known = append(known, l.config.Agents[i].ID)
	}
	if near := form.Nearest(id, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "add it to agents"
}
