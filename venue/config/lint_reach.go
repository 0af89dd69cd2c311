package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/form"
)

// reach is everything that an agent's capabilities can be of use in: its own
// tools, its context, the steps of orchestrations that it may start, and what
// agents do for it within its capabilities.
type reach struct {
	tools      []tool
	reads      []caps.Request
	everything bool // it can start any operation, or hand capabilities on
	seen       []string
}

func (l *linter) reach(a *agents.Spec, listed []tool) *reach {
	r := &reach{}
	r.context(l, a)
	for _, t := range listed {
		r.add(l, t)
	}
	return r
}

func (r *reach) context(l *linter, a *agents.Spec) {
	for _, entry := range a.Context {
		switch {
		case entry.Path != "":
			r.reads = append(r.reads, l.readNeeds(entry.Path)...)
		case entry.Op != "":
			if t, err := l.resolve(entry.Op); err == nil {
				r.add(l, t)
			}
		}
	}
}

// add takes in a tool and what it leads to.
func (r *reach) add(l *linter, t tool) {
	r.tools = append(r.tools, t)
	if t.plan != "" && !slices.Contains(r.seen, t.plan) {
		r.seen = append(r.seen, t.plan)
		for _, step := range l.operations[t.plan].steps {
			if inner, err := l.resolve(step.Op); err == nil {
				r.add(l, inner)
			}
		}
	}
	for _, op := range t.ops {
		switch op.Reach() {
		case tools.ReachAny:
			r.everything = true
		case tools.ReachAgents:
			r.others(l)
		}
	}
}

// others takes in what the agents do that may be asked and work within the
// caller's capabilities.
func (r *reach) others(l *linter) {
	if slices.Contains(r.seen, "agents") {
		return
	}
	r.seen = append(r.seen, "agents")
	for i := range l.config.Agents {
		other := &l.config.Agents[i]
		if other.Authority == agents.AuthorityOwn {
			continue
		}
		r.context(l, other)
		for _, ref := range other.Tools {
			if t, err := l.resolve(ref); err == nil {
				r.add(l, t)
			}
		}
	}
}

// readNeeds is what reading a path requires, by the operation that reads
// contexts.
func (l *linter) readNeeds(path string) []caps.Request {
	var needs []caps.Request
	if t, err := l.resolve("covia:read"); err == nil {
		input, _ := json.Marshal(map[string]string{"path": path}) // a map of strings always encodes
		if needs, err = t.ops[0].Requirements(input); err != nil {
			return []caps.Request{caps.Invalid(cmp.Or(errors.Unwrap(err), err))}
		}
		return needs
	}
	return []caps.Request{caps.Need("crud/read", path)}
}

// contextNeeds is what an entry of a context requires.
func (l *linter) contextNeeds(entry agents.ContextEntry) []caps.Request {
	if entry.Op == "" {
		return l.readNeeds(entry.Path)
	}
	t, err := l.resolve(entry.Op)
	if err != nil {
		return []caps.Request{caps.Invalid(fmt.Errorf("there is no operation %q: %w", entry.Op, err))}
	}
	if t.plan != "" {
		return []caps.Request{t.scope}
	}
	var all []caps.Request
	for _, op := range t.ops {
		needs, err := op.Requirements(json.RawMessage(cmp.Or(string(entry.Input), "{}")))
		if err != nil {
			return []caps.Request{caps.Invalid(cmp.Or(errors.Unwrap(err), err))}
		}
		all = append(all, needs...)
	}
	return all
}

// contextOf finds context that the agent may not read, and context that
// nothing fills.
func (l *linter) contextOf(a *agents.Spec) {
	set := l.held(a.ID)
	for i, entry := range a.Context {
		if entry.Text != "" {
			continue
		}
		source := "path"
		if entry.Op != "" {
			source = "op"
		}
		at := l.config.at("agent", a.ID, "context", strconv.Itoa(i), source)
		if l.unreadable(a, entry, set, at) || entry.Path == "" || l.filled(entry.Path) {
			continue
		}
		l.report(LevelNote, at, "agent "+a.ID, "nothing is at "+entry.Path+" at the start, and no agent may write it",
			"add it to data, or write it yourself before the agent needs it")
	}
}

// unreadable reports context that the gate would refuse to read.
func (l *linter) unreadable(a *agents.Spec, entry agents.ContextEntry, set caps.Set, at place) bool {
	level, effect := LevelWarning, "so it is never there"
	if entry.Required {
		level, effect = LevelError, "and the agent requires it, so each of its turns fails"
	}
	name := "agent " + a.ID
	what, needs := entry.Path, l.contextNeeds(entry)
	if entry.Op != "" {
		what = entry.Op
	}
	for _, need := range needs {
		if err := need.Err(); err != nil {
			l.report(LevelError, at, name, "its context cannot be read: "+err.Error(), "")
			return true
		}
		if never := caps.Unrestricted().Check(need); !never.Allowed() {
			l.report(level, at, name, "its context "+what+" cannot be read by anyone, "+effect+": "+never.Denial("").Why, "")
			return true
		}
		if !set.Check(need).Allowed() {
			with := need.Target()
			if need.Resource().IsRoot() {
				with = `""`
			}
			l.report(level, at, name, "its own capabilities do not let it read its context "+what+", "+effect,
				"add the capability {with: "+with+", can: "+string(need.Ability())+"}")
			return true
		}
	}
	return false
}

// filled reports whether the configuration writes something at, above or below
// path, whether some agent may, or whether the venue itself does.
func (l *linter) filled(path string) bool {
	at, err := caps.ParseResource(path)
	if err != nil {
		return false
	}
	if segs := at.Segments(); at.DID() != "" || len(segs) > 0 && segs[0] != "w" && segs[0] != "o" {
		return true
	}
	related := func(other string) bool {
		r, err := caps.ParseResource(other)
		return err == nil && (r.Covers(at) || at.Covers(r))
	}
	if slices.ContainsFunc(l.config.Data, func(d Datum) bool { return related(d.Path) }) ||
		slices.ContainsFunc(l.config.Orchestrations, func(o Orchestration) bool { return related(o.Path()) }) {
		return true
	}
	write := caps.ScopeUnder("crud/write", at.String(), 0, 0)
	return slices.ContainsFunc(l.config.Agents, func(a agents.Spec) bool { return l.held(a.ID).CouldAllow(write) })
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
