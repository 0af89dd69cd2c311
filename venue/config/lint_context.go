package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"usher/caps"
	"usher/tools/agents"
)

// contextOf finds context that the gate would refuse to read.
func (l *linter) contextOf(a *agents.Spec) {
	for i, entry := range a.Context {
		source, what := "path", entry.Path
		if entry.Op != "" {
			source, what = "op", entry.Op
		}
		if entry.Text == "" {
			l.unreadable(a, entry, what, l.config.at("agent", a.ID, "context", strconv.Itoa(i), source))
		}
	}
}

func (l *linter) unreadable(a *agents.Spec, entry agents.ContextEntry, what string, at place) {
	level, effect := LevelWarning, "so it is never there"
	if entry.Required {
		level, effect = LevelError, "and the agent requires it, so each of its turns fails"
	}
	name := "agent " + a.ID
	for _, need := range l.contextNeeds(entry) {
		if err := need.Err(); err != nil {
			l.report(LevelError, at, name, "its context cannot be read: "+err.Error(), "")
			return
		}
		if never := caps.Unrestricted().Check(need); !never.Allowed() {
			l.report(level, at, name, "its context "+what+" cannot be read by anyone, "+effect+": "+never.Denial("").Why, "")
			return
		}
		if !l.held(a.ID).Check(need).Allowed() {
			with := need.Target()
			if need.Resource().IsRoot() {
				with = `""`
			}
			l.report(level, at, name, "its own capabilities do not let it read its context "+what+", "+effect,
				"add the capability {with: "+with+", can: "+string(need.Ability())+"}")
			return
		}
	}
}

// contextNeeds is what an entry of a context requires.
func (l *linter) contextNeeds(entry agents.ContextEntry) (all []caps.Request) {
	reference, input := cmp.Or(entry.Op, "covia:read"), entry.Input
	if entry.Op == "" {
		input, _ = json.Marshal(map[string]string{"path": entry.Path}) // a map of strings always encodes
	}
	t, err := l.resolve(reference)
	switch {
	case err != nil:
		return []caps.Request{caps.Invalid(fmt.Errorf("there is no operation %q: %w", reference, err))}
	case t.plan != "":
		return []caps.Request{t.scope}
	}
	for _, op := range t.ops {
		needs, err := op.Requirements(json.RawMessage(cmp.Or(string(input), "{}")))
		if err != nil {
			return []caps.Request{caps.Invalid(cmp.Or(errors.Unwrap(err), err))}
		}
		all = append(all, needs...)
	}
	return all
}
