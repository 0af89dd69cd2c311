package config

import (
	"cmp"
	"slices"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
)

// requests finds agents that may ask others in vain: what an agent does for another is
// bounded by that one's capabilities too, also what it has before it. That it can do less
// is the rule, and worth no word; that it can do nothing, or lacks its context, is.
func (a *agentLint) requests() {
	mine := a.capsOf(a.ID)
	if mine.IsUnrestricted() || !a.asks(mine) {
		return
	}
	for i := range a.config.Agents {
		asked := &a.config.Agents[i]
		if asked.ID == a.ID || asked.Authority == agents.AuthorityOwn || asked.Identity != a.Identity || !mine.Check(caps.Need("agent/request", "g/"+asked.ID)).Possible() {
			continue
		}
		own := a.capsOf(asked.ID)
		for _, lost := range []func(*agents.Spec, caps.Set, caps.Set) (what, needed string){a.contextGap, a.toolsGap} {
			what, needed := lost(asked, own, own.Intersect(mine))
			if what == "" {
				continue
			}
			advice := "write authority: own at " + asked.ID + " where it should use its own for whoever asks"
			if needed != "" {
				advice = "give " + needed + " to " + a.ID + " too, or " + advice
			}
			a.warn(asked.ID+", which it may ask, "+what+" (bounded by "+a.ID+")", advice, "caps")
		}
	}
}

// asks reports whether an agent has a tool by which it asks others, and may use it.
func (a *agentLint) asks(set caps.Set) bool {
	return slices.ContainsFunc(a.tools, func(t tool) bool {
		return slices.ContainsFunc(t.ops, func(op *tools.Operation) bool {
			return (op.Name() == "agent:request" || op.Name() == "agent:chat") && op.CouldAllow(set)
		})
	})
}

// contextGap finds what an agent has before it in its own turns, and not in those for an
// asker, with what the asker lacks for it.
func (a *agentLint) contextGap(asked *agents.Spec, own, both caps.Set) (what, needed string) {
	for _, entry := range asked.Context {
		if entry.Text != "" {
			continue
		}
		needs, err := a.needs(entry)
		if err != nil {
			continue // told where it stands
		}
		for _, need := range needs {
			if need.Err() != nil || !own.Check(need).Possible() || both.Check(need).Possible() {
				continue
			}
			what = "then lacks its context " + entry.Path + entry.Op
			if entry.Required {
				what = "then fails, since it requires its context " + entry.Path + entry.Op
			}
			return what, capability(need.Target(), need.Ability())
		}
	}
	return "", ""
}

// toolsGap finds an agent that may use none of its tools for an asker, with a capability
// by which it may use one for itself.
func (a *agentLint) toolsGap(asked *agents.Spec, own, both caps.Set) (what, needed string) {
	for _, ref := range asked.Tools {
		t, err := a.lookUp(ref)
		if err != nil {
			continue // told where it stands
		}
		if t.plan != "" {
			if both.Check(t.scope).Possible() {
				return "", ""
			}
			if own.Check(t.scope).Possible() && what == "" {
				what, needed = "can then use none of its tools", capability(t.plan, "invoke")
			}
		}
		for _, op := range t.ops {
			if op.CouldAllow(both) {
				return "", ""
			}
			if what != "" || !op.CouldAllow(own) {
				continue
			}
			what = "can then use none of its tools"
			for c := range own.All() {
				if needed == "" && !c.Denies() && op.CouldAllow(caps.Of(c)) {
					needed = capability(c.Resource().String(), c.Can())
				}
			}
		}
	}
	return what, needed
}

// capability is one as it is written.
func capability(with string, can caps.Ability) string {
	return "{with: " + cmp.Or(with, `""`) + ", can: " + string(can) + "}"
}
