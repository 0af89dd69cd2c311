package models

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"usher/runtime"
	"usher/runtime/offline"
	"usher/runtime/wrap"
	"usher/venue/config"
)

// builder makes the models of a configuration, each after those that it falls
// back on.
type builder struct {
	entries   map[string]config.Model
	providers runtime.Providers
	secret    Secret
	done      map[string]*made
	models    map[string]runtime.Model // to fall back on; nil where there is a fault
	path      []string                 // the model that is made, after those that fall back on it
}

// made is a model, and what is wrong with it.
type made struct {
	model   runtime.Model
	fault   error // no venue opens with it
	missing error // a key, or a cassette, that has to be there when the model is asked
}

func newBuilder(entries map[string]config.Model, brought map[string]runtime.Model, more runtime.Providers, secret Secret) *builder {
	b := &builder{entries, Providers(), secret, make(map[string]*made), make(map[string]runtime.Model), nil}
	maps.Copy(b.providers, more)
	for name := range entries {
		b.models[name] = nil // a name that is missing is told from these
	}
	for name, model := range brought {
		b.models[name], b.done[name] = model, &made{model: model}
	}
	return b
}

// model makes the model of the name, once.
func (b *builder) model(ctx context.Context, name string) *made {
	if done := b.done[name]; done != nil {
		return done
	}
	out := new(made)
	b.done[name], b.path = out, append(b.path, name)
	cfg := runtime.ModelConfig{Name: name, Provider: b.entries[name].Provider, Settings: maps.Clone(b.entries[name].Settings), Secret: b.secret}
	for _, other := range wrap.Fallbacks(cfg.Settings) {
		if _, known := b.entries[other]; !known && b.done[other] == nil {
			continue // which the settings' own check tells
		}
		if i := slices.Index(b.path, other); i >= 0 {
			circle := strings.Join(append(slices.Clone(b.path[i:]), other), ", ")
			out.fault = &runtime.SettingError{Setting: "fallback", Err: fmt.Errorf("model %s: fallback goes in a circle: %s", name, circle)}
			delete(cfg.Settings, "fallback")
		} else if b.model(ctx, other).fault != nil {
			delete(cfg.Settings, "fallback") // the fault is the other's
		}
	}
	b.path = b.path[:len(b.path)-1]
	model, err := b.provided(ctx, cfg)
	composed, wrong := wrap.Compose(cfg, model, b.models)
	if out.fault = errors.Join(out.fault, err, wrong); out.fault != nil {
		return out
	}
	out.model, b.models[name] = composed, composed
	if m, ok := runtime.As[interface{ Ready(context.Context) error }](composed); ok {
		out.missing = m.Ready(ctx)
	}
	return out
}

// provided is the model as its provider makes it; one that stands for it where
// that has a fault, so that the other settings are checked, too.
func (b *builder) provided(ctx context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
	if wrap.Replays(cfg.Settings) { // nothing is asked
		return offline.Model{}, nil
	}
	cfg.Settings = wrap.Rest(cfg.Settings)
	model, err := b.providers.Model(ctx, cfg)
	if err != nil {
		return offline.Model{}, err
	}
	return model, nil
}
