package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"usher/caps"
	"usher/caps/value"
	"usher/tools/form"
)

// doors finds what callers from elsewhere are offered and that is not there.
func (l *linter) doors() {
	c := l.config
	for i := range c.Webhooks.In {
		h := &c.Webhooks.In[i]
		l.names(h.Agent, "webhooks", "the webhook "+h.ID+" starts tasks", "in", strconv.Itoa(i), "agent")
		l.runs(h.Op, "webhooks", "the webhook "+h.ID, "in", strconv.Itoa(i), "op")
	}
	for i := range c.Webhooks.Out {
		for n, id := range c.Webhooks.Out[i].Agents {
			l.names(id, "webhooks", "the webhook "+c.Webhooks.Out[i].ID+" tells of runs", "out", strconv.Itoa(i), "agents", strconv.Itoa(n))
		}
	}
	for i, id := range c.A2A.Agents {
		l.names(id, "a2a", "the public card tells", "agents", strconv.Itoa(i))
	}
	for i := range c.A2A.Grants {
		l.names(c.A2A.Grants[i].Agent, "a2a", "the grant "+c.A2A.Grants[i].ID+" is one", "grants", strconv.Itoa(i), "agent")
	}
	for i := range c.A2A.Skills {
		l.runs(c.A2A.Skills[i].Op, "a2a", "the skill "+c.A2A.Skills[i].ID, "skills", strconv.Itoa(i), "op")
	}
	for i := range c.AgentAuth.Capabilities {
		if of := &c.AgentAuth.Capabilities[i]; of.Location == "" {
			l.runs(of.Operation, "agentauth", "the capability "+of.Name, "capabilities", strconv.Itoa(i), "operation")
		}
		l.limits(i)
	}
}

// limits finds constraints that no grant of a capability could have.
func (l *linter) limits(i int) {
	of := &l.config.AgentAuth.Capabilities[i]
	if len(of.Constraints) == 0 {
		return
	}
	fields, err := value.Object(of.Constraints, value.MaxDepth)
	if err == nil {
		when := make(map[string]any, len(fields))
		for name, limit := range fields {
			when["/"+name] = limit
		}
		_, err = caps.ParseLimits(value.Append(nil, when))
	}
	if err != nil {
		l.report(LevelError, "agentauth", "the capability "+of.Name+" has constraints that are none: "+err.Error(), "", "capabilities", strconv.Itoa(i), "constraints")
	}
}

// names finds an agent that the configuration does not have. The data folder may.
func (l *linter) names(id, section, what string, path ...string) {
	if id == "" || l.agents[id] != nil {
		return
	}
	l.report(LevelWarning, section, fmt.Sprintf("%s of %q, which is no agent of the configuration", what, id), l.advice(id), path...)
}

// advice is what to do about an agent that the configuration does not have.
func (l *linter) advice(id string) string {
	return cmp.Or(form.Suggest(id, slices.Sorted(maps.Keys(l.agents))), "add it to agents")
}

// runs finds an operation that nobody has. The data folder may have programs.
func (l *linter) runs(op, section, what string, path ...string) {
	if op == "" {
		return
	}
	_, err := l.lookUp(op)
	switch at, stored := strings.CutPrefix(op, "o/"); {
	case err != nil && stored && at != "":
		l.report(LevelWarning, section, fmt.Sprintf("%s runs %q, which the configuration does not have", what, op), err.Error(), path...)
	case err != nil:
		l.report(LevelError, section, fmt.Sprintf("%s runs %q, which is no operation", what, op), err.Error(), path...)
	case strings.HasSuffix(op, ":*"):
		l.report(LevelError, section, fmt.Sprintf("%s runs %q, which is several operations", what, op), "name one operation", path...)
	}
}
