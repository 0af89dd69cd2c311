package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"usher/tools/agents"
	"usher/tools/mcp"
	"usher/tools/scheduler"
)

// Change is an entry that two configurations do not have alike.
type Change struct {
	What string `json:"what"`           // "agent Carol", "model default", "limits"
	How  string `json:"how"`            // one of the ways below
	Late bool   `json:"late,omitempty"` // it takes effect when the venue is opened the next time
}

// How an entry differs.
const (
	Added   = "added"
	Changed = "changed"
	Removed = "removed"
)

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
			list = append(list, Change{part.what, Changed, part.late})
		}
	}
	list = append(list, changes("", a.settings(), b.settings())...)
	list = append(list, changes("MCP server ", each(a.MCP, ofServer), each(b.MCP, ofServer))...)
	list = append(list, changes("data ", each(a.Data, Datum.subject), each(b.Data, Datum.subject))...)
	list = append(list, changes("orchestration ", each(a.Orchestrations, Orchestration.subject), each(b.Orchestrations, Orchestration.subject))...)
	list = append(list, changes("agent ", each(a.Agents, ofAgent), each(b.Agents, ofAgent))...)
	return append(list, changes("schedule ", each(a.Schedules, ofSchedule), each(b.Schedules, ofSchedule))...)
}

// text is an entry by its name, as JSON.
type text struct {
	name string
	json []byte
}

func (d Datum) subject() string { return d.Path }

func (o Orchestration) subject() string { return o.ID }

func ofServer(s mcp.Server) string { return s.ID }

func ofSchedule(s scheduler.Schedule) string { return s.Name }

func ofAgent(spec agents.Spec) string { return spec.ID }

func (c *Config) settings() (list []text) {
	for name, m := range c.Models {
		raw, _ := json.Marshal(map[string]any{m.Provider: m.Settings}) // of text and JSON values
		list = append(list, text{"model " + name, raw})
	}
	slices.SortFunc(list, func(a, b text) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return list
}

func each[T any](entries []T, name func(T) string) (list []text) {
	for _, e := range entries {
		raw, _ := json.Marshal(e) // it was read from text
		list = append(list, text{name(e), raw})
	}
	return list
}

func changes(kind string, a, b []text) (list []Change) {
	find := func(in []text, name string) int {
		return slices.IndexFunc(in, func(w text) bool { return w.name == name })
	}
	for _, w := range b {
		if i := find(a, w.name); i < 0 {
			list = append(list, Change{What: kind + w.name, How: Added})
		} else if !bytes.Equal(a[i].json, w.json) {
			list = append(list, Change{What: kind + w.name, How: Changed})
		}
	}
	for _, w := range a {
		if find(b, w.name) < 0 {
			list = append(list, Change{What: kind + w.name, How: Removed})
		}
	}
	return list
}
