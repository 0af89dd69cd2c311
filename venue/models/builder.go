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
	secret    func(ctx context.Context, name string) (string, error)
	done      map[string]*modelEntry
	models    map[string]runtime.Model // to fall back on; nil where there is a fault
	path      []string                 // the model that is made, after those that fall back on it
}

// modelEntry is a model, and what is wrong with it.
type modelEntry struct {
	model   runtime.Model
	fault   error // no venue opens with it
	missing error // a key, or a cassette, that has to be there when the model is asked
}

func newBuilder(entries map[string]config.Model, brought map[string]runtime.Model, more runtime.Providers, secret func(context.Context, string) (string, error)) *builder {
	b := &builder{entries, Providers(), secret, make(map[string]*modelEntry), make(map[string]runtime.Model), nil}
	maps.Copy(b.providers, more)
	for name := range entries {
		b.models[name] = nil // a name that is missing is told from these
	}
	for name, model := range brought {
		b.models[name], b.done[name] = model, &modelEntry{model: model}
	}
	return b
}

// model makes the model of the name, once.
func (b *builder) model(ctx context.Context, name string) *modelEntry {
	if done := b.done[name]; done != nil {
		return done
	}
	out := new(modelEntry)
	b.done[name], b.path = out, append(b.path, name)
	entry := b.entries[name]
	cfg := runtime.ModelConfig{Name: name, Provider: entry.Provider, Settings: entry.Settings, Secret: b.secret}
	own, rest, wrong := wrap.Split(entry.Settings)
	for _, other := range own.Fallback {
		if _, known := b.entries[other]; !known && b.done[other] == nil {
			continue // which composing tells
		}
		if i := slices.Index(b.path, other); i >= 0 {
			circle := strings.Join(append(slices.Clone(b.path[i:]), other), ", ")
			out.fault = &runtime.SettingError{Setting: "fallback", Err: fmt.Errorf("model %s: fallback goes in a circle: %s", name, circle)}
			own.Fallback = nil
		} else if b.model(ctx, other).fault != nil {
			own.Fallback = nil // the fault is the other's
		}
	}
	b.path = b.path[:len(b.path)-1]
	var model runtime.Model = offline.Model{} // in the place of one that is never asked, or has a fault
	if own.Replay == "" {
		provided, err := b.providers.Model(ctx, runtime.ModelConfig{Name: name, Provider: entry.Provider, Settings: rest, Secret: b.secret})
		if out.fault = errors.Join(out.fault, err); err == nil {
			model = provided
		}
	}
	if wrong != nil {
		wrong = fmt.Errorf("model %s: %w", name, wrong)
	} else {
		out.model, wrong = own.Compose(cfg, model, b.models)
	}
	if out.fault = errors.Join(out.fault, wrong); out.fault != nil {
		out.model = nil
		return out
	}
	b.models[name] = out.model
	if m, ok := runtime.As[interface{ Ready(context.Context) error }](out.model); ok {
		out.missing = m.Ready(ctx)
	}
	return out
}
