package config

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"usher/caps/value"
	"usher/runtime/endpoint"
	"usher/tools/form"
	"usher/tools/schema"
)

// secretName finds settings that are secret by their name.
var secretName = value.Form(`(?i)(key|token|secret|password|credential)s?$`)

func (l *linter) models(providers []string, check func(model string) error) {
	for _, name := range slices.Sorted(maps.Keys(l.config.Models)) {
		m, subject := l.config.Models[name], "model "+name
		if providers != nil && !slices.Contains(providers, m.Provider) {
			advice := cmp.Or(form.Suggest(m.Provider, providers), "choose one of "+strings.Join(providers, ", "))
			l.report(LevelError, subject, "there is no provider "+strconv.Quote(m.Provider), advice, "provider")
		}
		var literal []string
		if check != nil {
			literal = l.settings(name, check(name))
		}
		for _, setting := range slices.Sorted(maps.Keys(m.Settings)) {
			value, ok := m.Settings[setting].(string)
			if !ok || !secretName().MatchString(setting) || isReference(value) || slices.Contains(literal, setting) {
				continue
			}
			message, advice := setting+" stands in the file for everyone who can read it", "put it into the environment and write "+setting+": env:NAME"
			if variable := endpoint.Variable(value); variable != "" {
				message, advice = setting+" names a variable of the environment as a shell would", "write "+setting+": env:"+variable
			}
			l.report(LevelWarning, subject, message, advice, setting)
		}
	}
}

// settings reports what those who make the model say of its settings, and
// returns those that they know for secrets that were written out.
func (l *linter) settings(model string, wrong error) (literal []string) {
	for _, err := range Each(wrong) {
		level, advice := LevelError, ""
		if _, missing := errors.AsType[*endpoint.AbsentError](err); missing {
			level, advice = LevelNote, "it has to be there when the model is asked"
		}
		if _, written := errors.AsType[*endpoint.LiteralError](err); written {
			literal = append(literal, strings.Join(setting(err), "."))
		}
		l.report(level, "model "+model, withoutModel(model, err), advice, setting(err)...)
	}
	return literal
}

func (a *agentLint) model() {
	name := cmp.Or(a.Model, "default")
	if _, ok := a.config.Models[name]; ok {
		return
	}
	known := slices.Sorted(maps.Keys(a.config.Models))
	advice := "add it to models, for example " + name + ": {provider: offline}"
	if len(known) > 0 {
		advice += ", or choose one of " + strings.Join(known, ", ")
	}
	a.fault("there is no model "+strconv.Quote(name), cmp.Or(form.Suggest(name, known), advice), "model")
}

func (a *agentLint) output() {
	if len(a.Output) == 0 {
		return
	}
	if _, err := schema.Compile(context.Background(), a.Output, nil); err != nil {
		a.fault("its output is no JSON Schema that can be used: "+err.Error(), "", "output")
	}
}

// budgets finds budgets in money that would refuse every call, since a model has
// no price.
func (a *agentLint) budgets() {
	limit, path := a.moneyLimit()
	if limit == "" {
		return
	}
	if model := a.priceGap(cmp.Or(a.Model, "default"), map[string]bool{}); model != "" {
		a.fault(limit+" limits money, and the model "+strconv.Quote(model)+" has no price, so each call of it is refused",
			"add price: {input: 2.50, output: 10} to the model, for a million tokens, or limit calls or tokens instead", path...)
	}
}

// moneyLimit names a budget in money that binds the agent: its own, or that of
// an agent above it.
func (a *agentLint) moneyLimit() (name string, path []string) {
	if a.Budgets != nil {
		for _, name := range [...]string{"run", "session", "agent"} {
			if a.Budgets.Find(name).Money != 0 {
				return "its " + name + " budget", []string{"budgets", name}
			}
		}
	}
	for _, above := range a.lineage(a.ID)[1:] {
		if above != nil && above.Budgets != nil && above.Budgets.Agent.Money != 0 {
			return "the budget of its parent " + above.ID, []string{"parent"}
		}
	}
	return "", nil
}

// priceGap finds a model without a price: the one of the name, or one that it
// falls back on. One that replays a cassette costs nothing.
func (l *linter) priceGap(name string, seen map[string]bool) string {
	m, ok := l.config.Models[name]
	if !ok || seen[name] || m.Settings["replay"] != nil {
		return "" // what is not there is reported where it is named
	}
	seen[name] = true
	if m.Settings["price"] == nil {
		return name
	}
	others, ok := m.Settings["fallback"].([]any)
	if !ok {
		others = []any{m.Settings["fallback"]}
	}
	for _, other := range others {
		if other, ok := other.(string); ok {
			if found := l.priceGap(other, seen); found != "" {
				return found
			}
		}
	}
	return ""
}
