package wrap

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/tools/form"
	"usher/tools/spend"
)

// Compose wraps m, the model that cfg describes, as its settings say. The order is,
// from the outside in:
//
//	window, record or replay, cache, fallback, retry, rate_limit, budget and price, timeouts, m
//
// So each try waits its turn in the rate, is charged on its own and has times
// of its own; a kept answer costs nothing; a cassette holds what the agent
// got, whoever it came from. The budget also bounds the models that fallback
// names, which have to be in models already; it lasts as long
// as the returned model. Every composed model charges the budgets of its
// calls' contexts ([runtime.WithBudgets]), whatever the settings.
//
// Files are relative to the working directory (see [Locate]); a recording is
// added to what its file holds, and a replay whose file is not there yet fails
// when it is asked. Keys and header values among the settings are secrets to it,
// as they are when the answer is given. With replay, m may be nil.
func (p *Settings) Compose(cfg runtime.ModelConfig, m runtime.Model, models map[string]runtime.Model) (runtime.Model, error) {
	m, err := p.stack(cfg.Name, m, models, func(ctx context.Context) []string { return endpoint.Secrets(ctx, cfg) })
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", cfg.Name, err)
	}
	return m, nil
}

func (p *Settings) stack(name string, m runtime.Model, models map[string]runtime.Model, secrets func(context.Context) []string) (runtime.Model, error) {
	if p.Replay != "" {
		player, err := replayFile(p.Replay, secrets)
		if err != nil {
			return nil, &runtime.SettingError{Setting: settingReplay, Err: fmt.Errorf("replay %s: %w", p.Replay, err)}
		}
		return &description{player, m, p.Window}, nil
	}
	if p.Timeouts != nil {
		m = Timeout(m, *p.Timeouts)
	}
	m = Meter(m, name, p.prices())
	if p.RateLimit != nil {
		m = Limit(m, *p.RateLimit)
	}
	if p.Retry != nil {
		m = Retry(m, p.Retry)
	}
	if len(p.Fallback) > 0 {
		others, err := p.fallbacks(models)
		if err != nil {
			return nil, err
		}
		m = Fallback(append([]runtime.Model{m}, others...)...)
	}
	if p.Budget != nil {
		own := spend.NewBudget("model "+name, *p.Budget)
		own.Wait(modelWait)
		m = withBudget(m, own)
	}
	if p.Cache != nil {
		m = Cache(m, p.Cache)
	}
	if p.Record != "" {
		m = Record(m, appendFile(p.Record), secrets)
	}
	if p.Window != 0 {
		m = &description{m, m, p.Window}
	}
	return m, nil
}

// modelWait is for room in the budget that a model is configured with.
const modelWait = time.Minute

// fallbacks returns the models that fallback names.
func (p *Settings) fallbacks(models map[string]runtime.Model) ([]runtime.Model, error) {
	var all []runtime.Model
	for _, name := range p.Fallback {
		m, ok := models[name]
		switch {
		case !ok:
			return nil, &runtime.SettingError{Setting: settingFallback, Err: fmt.Errorf("fallback: %s", unknown(name, slices.Sorted(maps.Keys(models))))}
		case p.Budget != nil && p.Budget.Money != 0 && !replays(m) && !hasPrice(m):
			return nil, &runtime.SettingError{Setting: settingBudget, Err: fmt.Errorf("budget: money needs a price of %s too, which fallback names: add price to that model", name)}
		}
		all = append(all, m)
	}
	return all, nil
}

// hasPrice says that m says what it costs.
func hasPrice(m runtime.Model) bool {
	at, ok := runtime.As[*meter](m)
	return ok && at.priced
}

// replays says that m answers from a cassette.
func replays(m runtime.Model) bool {
	if d, ok := m.(*description); ok {
		m = d.Model
	}
	_, ok := m.(*player)
	return ok
}

// unknown says what there is instead of a model that is not.
func unknown(name string, known []string) string {
	text := fmt.Sprintf("there is no model %q", name)
	if near := form.Nearest(name, known); near != "" {
		return fmt.Sprintf("%s: did you mean %q?", text, near)
	}
	if len(known) == 0 {
		return text
	}
	return text + "; there are " + strings.Join(known, ", ")
}

// description is a model that says of itself what another one does, and its own
// window.
type description struct {
	runtime.Model
	as     runtime.Model // may be nil
	window int           // 0 is the other's
}

var (
	_ runtime.Describer = (*description)(nil)
	_ runtime.Wrapper   = (*description)(nil)
)

// Unwrap returns the model below.
func (d *description) Unwrap() runtime.Model { return d.Model }

// About asks each time: a model may be made only when it is first needed.
func (d *description) About() runtime.About {
	about := runtime.Describe(d.as)
	if d.window != 0 {
		about.Window = d.window
	}
	return about
}
