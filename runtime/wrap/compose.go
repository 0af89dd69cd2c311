package wrap

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"usher/runtime"
	"usher/tools"
)

// Settings of a model in a configuration that this package takes, in the
// order in which [Compose] stacks them, the outermost first. What stands
// nearer the provider happens once for each call that leaves; what stands
// further out, once for each answer.
const (
	settingRecord    = "record"     // a file to add the answers to
	settingReplay    = "replay"     // a file to answer from; everything below is left out
	settingCache     = "cache"      // true, or max_entries, ttl, max_answer
	settingFallback  = "fallback"   // a model's name, or a list
	settingRetry     = "retry"      // true, or tries, first, max, max_retry_after
	settingRateLimit = "rate_limit" // per_minute, burst, concurrent
	settingBudget    = "budget"     // calls, tokens, money, prices
	settingTimeouts  = "timeouts"   // first_chunk, between, total
)

var settings = []string{
	settingRecord, settingReplay, settingCache, settingFallback,
	settingRetry, settingRateLimit, settingBudget, settingTimeouts,
}

// Settings returns the names of the settings that [Compose] takes.
func Settings() []string { return slices.Clone(settings) }

// Rest returns the settings that are the provider's: all that [Compose] does
// not take. It is a copy.
func Rest(all map[string]any) map[string]any {
	rest := maps.Clone(all)
	for _, name := range settings {
		delete(rest, name)
	}
	return rest
}

// Compose wraps m, the model that a configuration calls name, as its settings
// say, and returns the settings that are left for the provider. The order is,
// from the outside in:
//
//	record or replay, cache, fallback, retry, rate_limit, budget, timeouts, m
//
// So each try waits its turn in the rate, is charged on its own and has times
// of its own; a kept answer costs nothing; a cassette holds what the agent
// got, whoever it came from. The budget also bounds the models that fallback
// names, which have to be in models already (see [Order]); it lasts as long
// as the returned model. Every composed model charges the budgets of its
// calls' contexts ([WithBudget]), whatever the settings.
//
//	retry: {tries: 4, first: 500ms, max: 30s, max_retry_after: 60s}
//	fallback: small                       # or a list
//	rate_limit: {per_minute: 60, burst: 5, concurrent: 4}
//	timeouts: {first_chunk: 30s, between: 20s, total: 5m}
//	budget: {calls: 100, tokens: 200000, money: 2.50, prices: {default: {input: 2.50, output: 10}}}
//	cache: {max_entries: 1000, ttl: 1h, max_answer: 16777216}
//	record: FILE                          # or replay: FILE
//
// Money and prices are in units of one currency, prices for a million tokens,
// by the models' names in the configuration. Files are relative to the
// working directory; a recording is added to what its file holds. With
// replay, m may be nil. Keys and header values among the settings are secrets
// to the cassette.
func Compose(models map[string]runtime.Model, name string, m runtime.Model, settings map[string]any) (runtime.Model, map[string]any, error) {
	rest := Rest(settings)
	parsed, err := parse(settings)
	if err == nil {
		m, err = parsed.stack(models, name, m)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("model %s: %w", name, err)
	}
	return m, rest, nil
}

func (p *composition) stack(models map[string]runtime.Model, name string, m runtime.Model) (runtime.Model, error) {
	opts := &CassetteOptions{Secrets: p.secrets}
	if p.replay != "" {
		f, err := os.Open(p.replay)
		if err != nil {
			return nil, fmt.Errorf("replay: %w", err)
		}
		defer f.Close()
		player, err := Replay(f, opts)
		if err != nil {
			return nil, fmt.Errorf("replay %s: %w", p.replay, err)
		}
		return player, nil
	}
	var own *Budget
	if p.budget != nil {
		for _, priced := range append([]string{name}, p.fallback...) {
			if _, ok := p.budget.Prices[priced]; p.budget.Money != 0 && !ok {
				return nil, fmt.Errorf("budget: money needs a price for model %s: add it under prices", priced)
			}
		}
		own = NewBudget("model "+name, *p.budget)
	}
	if p.timeouts != nil {
		m = Timeout(m, *p.timeouts)
	}
	m = own.Model(m, name)
	if p.limit != nil {
		m = Limit(m, *p.limit)
	}
	if p.retry != nil {
		m = Retry(m, p.retry)
	}
	if len(p.fallback) > 0 {
		all := []runtime.Model{m}
		for _, other := range p.fallback {
			next, ok := models[other]
			if !ok {
				return nil, fmt.Errorf("fallback: %s", unknown("model", other, slices.Sorted(maps.Keys(models))))
			}
			all = append(all, own.Model(next, other))
		}
		m = Fallback(all...)
	}
	if p.cache != nil {
		m = Cache(m, p.cache)
	}
	if p.record != "" {
		m = Record(m, appendingFile(p.record), opts)
	}
	return m, nil
}

// Order returns the names of the models in an order in which each comes after
// those that its fallback names, so that they can be composed one by one.
// Models that fall back on each other in a circle are an error. Names that
// are not among the models are left to [Compose].
func Order(models map[string]map[string]any) ([]string, error) {
	var out, path []string
	var visit func(name string) error
	visit = func(name string) error {
		settings, known := models[name]
		if !known || slices.Contains(out, name) {
			return nil
		}
		if i := slices.Index(path, name); i >= 0 {
			return fmt.Errorf("model %s: fallback goes in a circle: %s", name, strings.Join(append(path[i:], name), ", "))
		}
		path = append(path, name)
		s := newSection("", settings)
		for _, next := range s.names(settingFallback) {
			if err := visit(next); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		out = append(out, name)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unknown says what there is instead of a name that is not.
func unknown(kind, name string, known []string) string {
	if near := tools.Nearest(name, known); near != "" {
		return fmt.Sprintf("there is no %s %q: did you mean %q?", kind, name, near)
	}
	if len(known) == 0 {
		return fmt.Sprintf("there is no %s %q", kind, name)
	}
	return fmt.Sprintf("there is no %s %q; there are %s", kind, name, strings.Join(known, ", "))
}

// appendingFile is opened for each write: a model has no end at which it
// could be closed, and a program that asks nothing must leave no file.
type appendingFile string

func (name appendingFile) Write(p []byte) (int, error) {
	f, err := os.OpenFile(string(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := f.Write(p)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return n, err
}
