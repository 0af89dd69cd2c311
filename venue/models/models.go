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

	"usher/runtime"
	"usher/runtime/anthropic"
	"usher/runtime/offline"
	"usher/runtime/openai"
	"usher/runtime/wrap"
	"usher/tools/secrets"
	"usher/ucan"
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
	Secrets   vault                    // that settings may name
	Owner     ucan.DID                 // of the secrets
	Logger    *slog.Logger
}

// vault has the secrets of users, with their revisions.
type vault interface {
	// At returns a secret and its revision; the error of one that is not there is
	// a [*secrets.NoSecretError].
	At(ctx context.Context, owner ucan.DID, name string) (secrets.Value, uint64, error)
	Revision(ctx context.Context, owner ucan.DID, name string) (uint64, error)
}

// Models are the models of a venue by name.
type Models struct {
	byName map[string]runtime.Model
	made   []runtime.Model // those that Close ends: a program's are the program's
}

// Open makes the models of the configuration, and adds those of the program.
func Open(ctx context.Context, o Options) (*Models, error) {
	m := &Models{byName: make(map[string]runtime.Model)}
	for name, brought := range o.Brought {
		m.byName[name] = wrap.Metered(brought, name, nil) // so that the budgets of a call's context hold for it
	}
	if o.Config == nil {
		return m, nil
	}
	err := add(ctx, m.byName, o.Config, o.Providers, &owned{o.Secrets, o.Owner, o.Logger})
	for name, model := range m.byName {
		if _, brought := o.Brought[name]; !brought {
			m.made = append(m.made, model)
		}
	}
	return m, err
}

// Model returns the model of the name.
func (m *Models) Model(name string) (runtime.Model, error) {
	if model, ok := m.byName[name]; ok {
		return model, nil
	}
	known := slices.Sorted(maps.Keys(m.byName))
	if len(known) == 0 {
		return nil, errors.New("this venue has no models: configure one under models, or give one in Options.Models")
	}
	return nil, fmt.Errorf("there is no model %q; there are %s", name, strings.Join(known, ", "))
}

// Close ends what the models hold open, such as idle connections.
func (m *Models) Close() error {
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
	models := make(map[string]runtime.Model)
	if err := add(ctx, models, &config.Config{Models: entries}, providers, nil, name); err != nil {
		return nil, err
	}
	return models[name], nil
}

// add makes the models of c that there are none of yet. With names given it
// makes those alone, and what they fall back on. secrets may be nil.
func add(ctx context.Context, models map[string]runtime.Model, c *config.Config, more runtime.Providers, secrets *owned, names ...string) error {
	providers := Providers()
	maps.Copy(providers, more)
	settings := make(map[string]map[string]any)
	for name, m := range c.Models {
		if _, given := models[name]; !given {
			settings[name] = m.Settings
		}
	}
	order, err := wrap.Order(settings, names...) // a fallback before what falls back on it
	if err != nil {
		return c.InModel("", err)
	}
	for _, name := range order {
		cfg := runtime.ModelConfig{Name: name, Provider: c.Models[name].Provider, Settings: wrap.Rest(settings[name])}
		var model runtime.Model
		if !wrap.Replays(settings[name]) { // what is never asked needs no key
			if model, err = secrets.model(ctx, providers, cfg); err != nil {
				return c.InModel(name, err)
			}
		}
		cfg.Settings = settings[name]
		if secrets != nil {
			cfg.Secret = secrets.value
		}
		if models[name], err = wrap.Compose(cfg, model, models); err != nil {
			return c.InModel(name, err)
		}
	}
	return nil
}
