package config

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"usher/caps"
	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/form"
	"usher/tools/schema"
)

// Levels of a [Finding].
const (
	LevelError   = "error"   // it cannot work as written
	LevelWarning = "warning" // it works, and is probably not meant
	LevelNote    = "note"    // it works, and is worth knowing
)

// Finding is something that [Config.Lint] found.
type Finding struct {
	Level   string `json:"level"`
	File    string `json:"file,omitempty"` // empty for a configuration that was not read from text
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Subject string `json:"subject"` // "agent Carol"
	Message string `json:"message"`
	Advice  string `json:"advice,omitempty"`
}

// String is the finding on one line.
func (f Finding) String() string {
	text := place{File: f.File, Line: f.Line, Column: f.Column}.String() + ": " + f.Level + ": " + f.Subject + ": " + f.Message
	if f.Advice != "" {
		text += ": " + f.Advice
	}
	return text
}

// Lint finds what is well written and cannot work or is hardly meant. reg holds
// the operations of the venue that is to run the configuration; providers are
// the names of its model providers, and check says what is wrong with the
// settings of a model, by its name: nil leaves either unchecked. The findings
// come in the order of their places.
func (c *Config) Lint(reg *tools.Registry, providers []string, check func(model string) error) []Finding {
	l := &linter{
		config: c, registry: reg, providers: providers, check: check,
		agents: map[string]*agents.Spec{}, effective: map[string]caps.Set{},
		operations: map[string]bool{},
	}
	l.agentIDs()
	l.orchestrations()
	l.parents()
	l.models()
	for i := range c.Agents {
		l.agent(&c.Agents[i])
	}
	slices.SortStableFunc(l.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return l.found
}

type linter struct {
	config     *Config
	registry   *tools.Registry
	providers  []string
	check      func(model string) error
	agents     map[string]*agents.Spec
	effective  map[string]caps.Set
	operations map[string]bool // paths of the configuration's orchestrations and pins
	found      []Finding
}

// report adds a finding at the first of the places that is known.
func (l *linter) report(level string, at place, subject, message, advice string) {
	l.found = append(l.found, Finding{level, at.File, at.Line, at.Column, subject, message, advice})
}

func (l *linter) agent(a *agents.Spec) {
	l.modelOf(a)
	l.budgetsOf(a)
	l.outputOf(a)
	listed := l.toolsOf(a)
	l.restriction(a)
	l.coverage(a, listed)
	l.abilities(a)
	l.abroad(a, listed)
	l.redundancy(a)
	l.contextOf(a)
	l.lending(a)
}

// agentIDs finds agents that cannot be told apart.
func (l *linter) agentIDs() {
	folded := map[string]string{}
	for i := range l.config.Agents {
		a := &l.config.Agents[i]
		name, at := "agent "+a.ID, l.config.at("agent", a.ID)
		if l.agents[a.ID] != nil {
			l.report(LevelError, at, name, "this id is taken by an agent before it", "give each agent an id of its own")
			continue
		}
		l.agents[a.ID] = a
		if other, ok := folded[strings.ToLower(a.ID)]; ok {
			l.report(LevelWarning, at, name, "its id differs from "+other+" in upper and lower case only, which models mix up", "give it another id")
		}
		folded[strings.ToLower(a.ID)] = a.ID
	}
}

func (l *linter) modelOf(a *agents.Spec) {
	name := cmp.Or(a.Model, "default")
	if _, ok := l.config.Models[name]; ok {
		return
	}
	known := slices.Sorted(maps.Keys(l.config.Models))
	advice := "add it to models, for example " + name + ": {provider: offline}"
	if near := form.Nearest(name, known); near != "" {
		advice = "did you mean " + near + "?"
	} else if len(known) > 0 {
		advice += ", or choose one of " + strings.Join(known, ", ")
	}
	l.report(LevelError, l.config.at("agent", a.ID, "model"), "agent "+a.ID, "there is no model "+strconv.Quote(name), advice)
}

func (l *linter) outputOf(a *agents.Spec) {
	if len(a.Output) == 0 {
		return
	}
	if _, err := schema.Compile(context.Background(), a.Output, nil); err != nil {
		l.report(LevelError, l.config.at("agent", a.ID, "output"), "agent "+a.ID, "its output is no JSON Schema that can be used: "+err.Error(), "")
	}
}

// settingsOf reports what those who make the model say of its settings, and
// returns those that they know for secrets that were written out.
func (l *linter) settingsOf(name string) (literal []string) {
	if l.check == nil {
		return nil
	}
	for _, err := range apart(l.check(name)) {
		level, advice := LevelError, ""
		if _, missing := errors.AsType[*endpoint.MissingError](err); missing {
			level, advice = LevelNote, "it has to be there when the model is asked"
		}
		setting, known := errors.AsType[*runtime.SettingError](err)
		if _, written := errors.AsType[*endpoint.LiteralError](err); written && known {
			literal = append(literal, setting.Setting)
		}
		l.report(level, l.config.settingAt(name, err), "model "+name, withoutModel(name, err), advice)
	}
	return literal
}

// secretName finds settings that are secret by their name.
var secretName = regexp.MustCompile(`(?i)(key|token|secret|password|credential)s?$`)

func (l *linter) models() {
	for _, name := range slices.Sorted(maps.Keys(l.config.Models)) {
		m := l.config.Models[name]
		if l.providers != nil && !slices.Contains(l.providers, m.Provider) {
			advice := "choose one of " + strings.Join(l.providers, ", ")
			if near := form.Nearest(m.Provider, l.providers); near != "" {
				advice = "did you mean " + near + "?"
			}
			l.report(LevelError, l.config.at("model", name, "provider"), "model "+name, "there is no provider "+strconv.Quote(m.Provider), advice)
		}
		literal := l.settingsOf(name)
		for _, setting := range slices.Sorted(maps.Keys(m.Settings)) {
			value, ok := m.Settings[setting].(string)
			if !ok || !secretName.MatchString(setting) || isReference(value) || slices.Contains(literal, setting) {
				continue
			}
			message, advice := "stands in the file for everyone who can read it", "put it into the environment and write "+setting+": env:NAME"
			if variable := endpoint.Variable(value); variable != "" {
				message, advice = "names a variable of the environment as a shell would", "write "+setting+": env:"+variable
			}
			l.report(LevelWarning, l.config.at("model", name, setting), "model "+name, setting+" "+message, advice)
		}
	}
}
