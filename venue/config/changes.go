package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"usher/tools/agents"
	"usher/tools/mcp"
	"usher/tools/scheduler"
)

// Change is an entry that two configurations do not have alike.
type Change struct {
	What string `json:"what"`           // "agent Carol", "model default", "limits"
	How  string `json:"how"`            // "added", "changed" or "removed"
	Late bool   `json:"late,omitempty"` // it takes effect when the venue is opened the next time
}

// Changes returns how b differs from a, by kind and in the order of b, and then what
// a alone has.
func Changes(a, b *Config) (list []Change) {
	for _, part := range []struct {
		what string
		a, b any
		late bool
	}{
		{"name", a.Name, b.Name, true},
		{"user", a.User, b.User, true},
		{"store", a.StoreDir(), b.StoreDir(), true},
		{"limits", a.Limits, b.Limits, true},
		{"ledger", a.Ledger, b.Ledger, true},
		{"retention", a.Retention, b.Retention, true},
		{"auth", a.Auth, b.Auth, true},
		{"server", a.Server, b.Server, true},
		{"approvals", a.Approvals, b.Approvals, false},
		{"webhooks", a.Webhooks, b.Webhooks, false},
		{"agentauth", a.AgentAuth, b.AgentAuth, false},
		{"a2a", a.A2A, b.A2A, false},
	} {
		if !reflect.DeepEqual(part.a, part.b) {
			list = append(list, Change{part.what, "changed", part.late})
		}
	}
	list = changes(list, "model", a.models(), b.models(), func(m model) string { return m.Name })
	list = changes(list, "MCP server", a.MCP, b.MCP, func(s mcp.Server) string { return s.ID })
	list = changes(list, "data", a.Data, b.Data, func(d Datum) string { return d.Path })
	list = changes(list, "orchestration", a.Orchestrations, b.Orchestrations, func(o Orchestration) string { return o.ID })
	list = changes(list, "agent", a.Agents, b.Agents, func(spec agents.Spec) string { return spec.ID })
	return changes(list, "schedule", a.Schedules, b.Schedules, func(s scheduler.Schedule) string { return s.Name })
}

// model is a model with its name.
type model struct {
	Name, Provider string
	Settings       map[string]any
}

// models are the models by their names.
func (c *Config) models() (list []model) {
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		list = append(list, model{name, c.Models[name].Provider, c.Models[name].Settings})
	}
	return list
}

// changes adds how the entries of a kind differ, as JSON.
func changes[T any](list []Change, kind string, a, b []T, name func(T) string) []Change {
	written := func(entries []T, id string) []byte {
		i := slices.IndexFunc(entries, func(e T) bool { return name(e) == id })
		if i < 0 {
			return nil
		}
		raw, _ := json.Marshal(entries[i]) // it was read from text
		return raw
	}
	for _, e := range b {
		if was, is := written(a, name(e)), written(b, name(e)); was == nil {
			list = append(list, Change{What: kind + " " + name(e), How: "added"})
		} else if !bytes.Equal(was, is) {
			list = append(list, Change{What: kind + " " + name(e), How: "changed"})
		}
	}
	for _, e := range a {
		if written(b, name(e)) == nil {
			list = append(list, Change{What: kind + " " + name(e), How: "removed"})
		}
	}
	return list
}
