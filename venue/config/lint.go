package config

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/form"
	"usher/tools/orchestrate"
)

// Lint finds what is well written and cannot work or is hardly meant. reg holds
// the operations of the venue that is to run the configuration; providers are
// the names of its model providers, and check says what is wrong with the
// settings of a model, by its name: nil leaves either unchecked. The findings
// come in the order of their places.
func (c *Config) Lint(reg *tools.Registry, providers []string, check func(model string) error) []Finding {
	l := &linter{
		config: c, registry: reg, agents: map[string]*agents.Spec{}, effective: map[string]caps.Set{}, operations: map[string]bool{},
	}
	folded := map[string]string{}
	for i := range c.Agents {
		l.identify(&c.Agents[i], folded)
	}
	l.programs()
	l.models(providers, check)
	for i := range c.Agents {
		a := &agentLint{linter: l, Spec: &c.Agents[i]}
		for _, rule := range rules {
			rule(a)
		}
	}
	l.schedules()
	l.servers()
	l.server()
	l.doors()
	slices.SortStableFunc(l.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return l.found
}

type linter struct {
	config     *Config
	registry   *tools.Registry
	agents     map[string]*agents.Spec
	effective  map[string]caps.Set
	operations map[string]bool // paths of the configuration's orchestrations and pins
	found      []Finding
}

// report adds a finding about a part of the subject.
func (l *linter) report(level, subject, message, advice string, path ...string) {
	l.found = append(l.found, *l.config.at(subject, path...).finding(level, subject, message, advice))
}

// agentLint is an agent that is looked into.
type agentLint struct {
	*linter
	*agents.Spec
	tools []tool // what its tools mean, as far as they mean something
}

// rules are asked of each agent in this order: resolve fills in its tools.
var rules = []func(*agentLint){
	(*agentLint).parent, (*agentLint).model, (*agentLint).budgets, (*agentLint).output, (*agentLint).resolve, (*agentLint).bound, (*agentLint).coverage,
	(*agentLint).abilities, (*agentLint).abroad, (*agentLint).redundancy, (*agentLint).denials, (*agentLint).context, (*agentLint).loans, (*agentLint).requests,
}

func (a *agentLint) subject() string { return "agent " + a.ID }

func (a *agentLint) fault(message, advice string, path ...string) {
	a.report(LevelError, a.subject(), message, advice, path...)
}

func (a *agentLint) warn(message, advice string, path ...string) {
	a.report(LevelWarning, a.subject(), message, advice, path...)
}

// identify finds agents that cannot be told apart.
func (l *linter) identify(spec *agents.Spec, folded map[string]string) {
	a := &agentLint{linter: l, Spec: spec}
	if l.agents[a.ID] != nil {
		a.fault("this id is taken by an agent before it", "give each agent an id of its own")
		return
	}
	l.agents[a.ID] = spec
	if other, ok := folded[strings.ToLower(a.ID)]; ok {
		a.warn("its id differs from "+other+" in upper and lower case only, which models mix up", "give it another id")
	}
	folded[strings.ToLower(a.ID)] = a.ID
}

// Faulty finds the orchestrations that do not compile: what would not be stored.
func (c *Config) Faulty() []Finding {
	l := &linter{config: c, operations: map[string]bool{}}
	l.compile()
	return l.found
}

// programs finds orchestrations that do not compile, and steps that lead nowhere.
// All are known before any is looked into, since they may call each other.
func (l *linter) programs() {
	for _, o := range l.compile() {
		l.orchestration(o)
	}
}

// compile returns the orchestrations that compile, and finds the others.
func (l *linter) compile() (sound []Orchestration) {
	for _, d := range l.config.Data {
		if strings.HasPrefix(d.Path, "o/") {
			v, err := value.Decode(d.Value, value.MaxDepth)
			if err == nil {
				_, l.operations[d.Path] = value.At(v, "operation", "adapter")
				err = orchestrate.Check(context.Background(), v, nil)
			}
			if err != nil {
				l.report(LevelError, d.Path, err.Error(), "")
			}
		}
	}
	for _, o := range l.config.Orchestrations {
		l.operations[o.Path()] = true // a faulty one is still one that a tool may mean
		if _, err := orchestrate.Compile(context.Background(), o.Path(), o.Document, nil); err != nil {
			l.report(LevelError, o.Path(), err.Error(), "")
			continue
		}
		sound = append(sound, o)
	}
	return sound
}

func (l *linter) orchestration(o Orchestration) {
	doc, _ := value.Decode(o.Document, value.MaxDepth) // it has been compiled
	steps, _ := value.At(doc, "operation", "steps")
	list, _ := steps.([]any)
	for i, step := range list {
		op, _ := value.At(step, "op")
		called, _ := op.(string)
		t, err := l.lookUp(called)
		advice := "name one operation"
		if err != nil {
			advice = err.Error()
		} else if len(t.ops) <= 1 && !strings.HasSuffix(called, ":*") {
			continue
		}
		n := strconv.Itoa(i)
		l.report(LevelError, o.Path(), "step "+n+" calls "+strconv.Quote(called)+", which is no operation", advice, "steps", n)
	}
}

// NearAbility says what an ability that no operation of reg needs was probably meant
// to be. It is empty where one does need it, or none is close: other venues have
// other abilities.
func NearAbility(reg *tools.Registry, can caps.Ability) string {
	var known []string
	for _, op := range reg.All() {
		for _, alternatives := range op.Scopes() {
			for _, sc := range alternatives {
				if can.Covers(sc.Can) || sc.Can.Covers(can) {
					return ""
				}
				family, _, _ := strings.Cut(string(sc.Can), "/")
				known = append(known, string(sc.Can), family)
			}
		}
	}
	meant := form.Suggest(string(can), known)
	if meant == "" {
		return ""
	}
	return "no operation here needs " + string(can) + ": " + meant
}
