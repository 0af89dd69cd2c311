package config

import (
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"usher/tools/agents"
)

// Memory is the store of a venue that keeps nothing.
const Memory = "memory"

// Config is a configuration that was read. It is not changed afterwards.
type Config struct {
	Name           string           // of the venue, as models are told
	User           string           // in whose namespace agents and data live
	Store          string           // data folder as written, or [Memory]; see [Config.StoreDir]
	Models         map[string]Model // by name
	Data           []Datum          // written when it changes, but not over what others changed
	Agents         []agents.Spec
	Parents        map[string]string // agent id to the id of the agent that its authority comes from
	Orchestrations []Orchestration
	Limits         Limits
	Dir            string // of the configuration; empty when it came from bytes

	places map[string]place
}

// Model is an entry of models: a provider and that provider's settings. Files
// that they name are in the configuration's folder, where they were relative.
// It logs the names of its settings only, since a key may be among them.
type Model struct {
	Provider string
	Settings map[string]any // text, bool, json.Number, []any and map[string]any
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

// Limits bounds turns and calls. A zero field was not written.
type Limits struct {
	ModelCalls  int           // of a turn
	ToolTimeout time.Duration // of a tool call
	ToolsAtOnce int           // tool calls of one answer that run side by side
	ToolResult  int           // bytes of a tool's result to the model
	OutputTries int           // answers until one fits the output schema
	CallDepth   int           // operations that start operations
}

// StoreDir is the data folder, or "" when the venue keeps nothing.
func (c *Config) StoreDir() string {
	switch {
	case c.Store == Memory:
		return ""
	case filepath.IsAbs(c.Store):
		return c.Store
	}
	return filepath.Join(c.Dir, c.Store)
}
