package config

import (
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"usher/tools/agents"
	"usher/tools/form"
	"usher/tools/mcp"
	"usher/tools/scheduler"
)

// memory is the store of a venue that keeps nothing.
const memory = "memory"

// Config is a configuration that was read. It is not changed afterwards.
type Config struct {
	Name           string           // of the venue, as models are told
	User           string           // in whose namespace agents and data live
	Store          string           // data folder as written, or memory; see [Config.StoreDir]
	Models         map[string]Model // by name
	Data           []Datum          // written when it changes, but not over what others changed
	Agents         []agents.Spec
	Orchestrations []Orchestration
	Schedules      []scheduler.Schedule // as they are asked for
	Limits         Limits
	Ledger         Ledger
	Retention      Retention
	Approvals      Approvals
	Auth           Auth
	MCP            []mcp.Server
	Server         Server
	Webhooks       Webhooks
	AgentAuth      AgentAuth
	A2A            A2A
	Dir            string // of the configuration; empty when it came from bytes

	entries map[string]entry // by what they are of: "agent Carol", "model default", "schedule nightly", "limits.calls", or the path of data and orchestrations
}

// entry is where something of the configuration stands.
type entry struct {
	src  *source
	node *form.Node
	at   form.Pos // of its name
}

// at is where a part of something stands, or else the nearest around it: its
// path are keys, and numbers of entries.
func (c *Config) at(subject string, path ...string) place {
	e := c.entries[subject]
	at := e.at
	for n, i := e.node, 0; i < len(path) && n != nil; i++ {
		if n = n.Part(path[i]); n != nil {
			at = n.At
		}
	}
	return place{e.src, at}
}

// LogValue keeps the settings' values out of logs.
func (m Model) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("provider", m.Provider),
		slog.Any("settings", slices.Sorted(maps.Keys(m.Settings))),
	)
}

// Datum is a value and the path where it belongs.
type Datum struct {
	Path  string // canonical
	Value json.RawMessage
}

// Orchestration is an operation made of steps, kept at o/<ID>.
type Orchestration struct {
	ID       string
	Document json.RawMessage // what is stored at o/<ID>
}

// Path is where the orchestration is kept, and the reference that runs it.
func (o Orchestration) Path() string { return "o/" + o.ID }

// StoreDir is the data folder, or "" when the venue keeps nothing.
func (c *Config) StoreDir() string {
	switch {
	case c.Store == memory:
		return ""
	case filepath.IsAbs(c.Store):
		return c.Store
	}
	return filepath.Join(c.Dir, c.Store)
}

// CheckpointPlaces are the places of [Ledger], with files as paths of their own.
func (c *Config) CheckpointPlaces() []string {
	places := slices.Clone(c.Ledger.Checkpoints)
	for i, place := range places {
		if !strings.Contains(place, "://") {
			places[i] = c.File(place)
		}
	}
	return places
}
