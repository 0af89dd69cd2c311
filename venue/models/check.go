package models

import (
	"context"
	"errors"
	"maps"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/runtime/offline"
	"usher/runtime/wrap"
	"usher/venue/config"
)

// Check returns what finds the faults of a model's settings, by the model's
// name, for [config.Config.Lint]: what no venue would open with, and the keys
// and cassettes that are not there yet. The models are made, and none is asked.
// Secrets of the venue count as there.
func Check(ctx context.Context, entries map[string]config.Model, more runtime.Providers) func(name string) error {
	c := &modelCheck{entries, Providers(), make(map[string]map[string]any), make(map[string]runtime.Model), make(map[string]error)}
	maps.Copy(c.providers, more)
	for name, m := range entries {
		c.settings[name], c.made[name] = m.Settings, nil // a name that is missing is told from these
	}
	return func(name string) error { return c.check(ctx, name) }
}

type modelCheck struct {
	entries   map[string]config.Model
	providers runtime.Providers
	settings  map[string]map[string]any
	made      map[string]runtime.Model // nil where there is a fault, or nobody looked yet
	checked   map[string]error
}

func (c *modelCheck) check(ctx context.Context, name string) error {
	if err, done := c.checked[name]; done {
		return err
	}
	settings := maps.Clone(c.settings[name])
	order, circle := wrap.Order(c.settings, name)
	for _, other := range order {
		if other == name {
			continue
		}
		if c.check(ctx, other) != nil && c.made[other] == nil {
			delete(settings, "fallback") // the fault is the other's
		}
	}
	if circle != nil {
		delete(settings, "fallback")
		if at, ok := errors.AsType[*runtime.SettingError](circle); ok && at.Model != name {
			circle = nil // it is told of the models that are in it
		}
	}
	model, err := c.provided(ctx, name, settings)
	composed, wrong := wrap.Compose(runtime.ModelConfig{Name: name, Settings: settings}, model, c.made)
	if wrong == nil {
		c.made[name] = composed
		if later := wrap.Unrecorded(composed); later != nil && wrap.Replays(settings) {
			wrong = &runtime.SettingError{Setting: "replay", Err: endpoint.Missing(later)}
		}
	}
	c.checked[name] = errors.Join(circle, err, wrong)
	return c.checked[name]
}

// provided is the model as its provider makes it; one that stands for it where
// it has a fault, or is never asked.
func (c *modelCheck) provided(ctx context.Context, name string, settings map[string]any) (runtime.Model, error) {
	provider := c.entries[name].Provider
	if _, known := c.providers[provider]; !known || wrap.Replays(settings) {
		return offline.Model{}, nil // lint knows the providers itself
	}
	cfg := runtime.ModelConfig{Name: name, Provider: provider, Settings: wrap.Rest(settings), StandIn: standIn}
	cfg.Secret = func(context.Context, string) (string, error) { return standIn, nil }
	model, err := c.providers.Model(ctx, cfg)
	if err != nil {
		return offline.Model{}, err
	}
	cfg.StandIn = "" // that all else is well leaves the keys
	_, err = c.providers.Model(ctx, cfg)
	return model, err
}
