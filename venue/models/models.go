// Package models is the room of a venue where its models are made: each by its
// provider, with the wrappers that its settings ask for, and with the secrets of
// the configuration's user. [Open] makes all models of a configuration, [One]
// makes one without a venue, and [Check] finds what is wrong with their settings.
package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"usher/runtime"
	"usher/runtime/anthropic"
	"usher/runtime/offline"
	"usher/runtime/openai"
	"usher/runtime/wrap"
	"usher/venue/config"
)

// Providers returns the model providers that every venue has, by name.
func Providers() runtime.Providers {
	return runtime.Providers{
		offline.Name: offline.Provider, openai.Name: openai.Provider, anthropic.Name: anthropic.Provider,
	}
}

// Options says which models there are.
type Options struct {
	Config    *config.Config           // nil has no models
	Brought   map[string]runtime.Model // by the program, already made; they win over the configuration's
	Providers runtime.Providers        // beside those of [Providers]
	Logger    *slog.Logger

	// Secret reads a secret that settings name, as it is now.
	Secret func(ctx context.Context, name string) (string, error)
}

// Models are the models of a venue by name.
type Models struct {
	options Options
	byName  atomic.Pointer[map[string]runtime.Model]

	mu   sync.Mutex      // guards made
	made []runtime.Model // those that Close ends: a program's are the program's
}

// Open makes the models of the configuration, and adds those of the program. A
// model whose key is not there yet is told to the log, and keeps nobody else from
// their work.
func Open(ctx context.Context, o Options) (*Models, error) {
	m := &Models{options: o}
	byName, made, err := o.open(ctx)
	m.made = made
	m.byName.Store(&byName)
	return m, err
}

// Replace takes the models of another configuration in the place of those that there
// are, for all that is asked from now on. With an error nothing has changed.
func (m *Models) Replace(ctx context.Context, c *config.Config) error {
	o := m.options
	o.Config = c
	byName, made, err := o.open(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.made = append(m.made, made...) // a turn may still ask those of before: Close ends them all
	if err == nil {
		m.byName.Store(&byName)
	}
	return err
}

func (o *Options) open(ctx context.Context) (byName map[string]runtime.Model, all []runtime.Model, err error) {
	byName = make(map[string]runtime.Model)
	for name, brought := range o.Brought {
		byName[name] = wrap.Meter(brought, name, nil) // so that the budgets of a call's context hold for it
	}
	if o.Config == nil {
		return byName, nil, nil
	}
	b := newBuilder(o.Config.Models, byName, o.Providers, o.Secret)
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(o.Config.Models)) {
		if _, brought := o.Brought[name]; brought {
			continue
		}
		made := b.model(ctx, name)
		byName[name], all = made.model, append(all, made.model)
		if made.fault != nil {
			wrong = append(wrong, o.Config.InModel(name, made.fault))
		} else if made.missing != nil {
			o.Logger.WarnContext(ctx, "model cannot answer yet", "model", name, "error", strings.TrimPrefix(made.missing.Error(), "model "+name+": "))
		}
	}
	return byName, all, errors.Join(wrong...)
}

// Model returns the model of the name.
func (m *Models) Model(name string) (runtime.Model, error) {
	byName := *m.byName.Load()
	if model, ok := byName[name]; ok {
		return model, nil
	}
	known := slices.Sorted(maps.Keys(byName))
	if len(known) == 0 {
		return nil, errors.New("this venue has no models: configure one under models, or give one in Options.Models")
	}
	return nil, fmt.Errorf("there is no model %q; there are %s", name, strings.Join(known, ", "))
}

// Close ends what the models hold open, such as idle connections.
func (m *Models) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	for _, model := range m.made {
		if c, ok := runtime.As[io.Closer](model); ok {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}

// One makes one model of a configuration as a venue would, for a program that
// has no venue on it: with its wrappers, and with the models that it falls back
// on. The others are not made. providers are those beside the built-in ones.
func One(ctx context.Context, entries map[string]config.Model, name string, providers runtime.Providers) (runtime.Model, error) {
	if _, known := entries[name]; !known {
		return nil, fmt.Errorf("there is no model %q", name)
	}
	made := newBuilder(entries, nil, providers, nil).model(ctx, name)
	return made.model, errors.Join(made.fault, made.missing)
}

// Check returns what finds the faults of a model's settings, by the model's
// name, for [config.Config.Lint]: what no venue would open with, and the keys
// and cassettes that are not there yet. The models are made, and none is asked.
// Secrets of the venue count as there, and lint knows the providers itself.
func Check(ctx context.Context, entries map[string]config.Model, more runtime.Providers) func(name string) error {
	b := newBuilder(entries, nil, more, func(context.Context, string) (string, error) { return "there", nil })
	return func(name string) error {
		if _, known := b.providers[entries[name].Provider]; !known {
			return nil
		}
		made := b.model(ctx, name)
		return errors.Join(made.fault, made.missing)
	}
}
