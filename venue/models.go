package venue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

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

// defaultUser owns what a configuration holds that names no user.
const defaultUser = "owner"

// fillModels makes the models of the configuration, and adds those that the
// program brings, which win over them.
func (v *Venue) fillModels(ctx context.Context, o *Options) error {
	for name, m := range o.Models {
		v.models[name] = wrap.Metered(m, name, nil) // so that the budgets of a call's context hold for it
	}
	if o.Config == nil {
		return nil
	}
	owner, err := v.keys.user(ctx, either(o.Config.User, defaultUser))
	if err != nil {
		return err
	}
	err = addModels(ctx, v.models, o.Config, o.Providers, &modelSecrets{v.secrets, owner, v.log})
	for name, m := range v.models {
		if _, given := o.Models[name]; !given {
			v.made = append(v.made, m)
		}
	}
	return err
}

// closeModels ends what the models hold open that the venue has made, such as
// idle connections. Those that a program brought are the program's.
func (v *Venue) closeModels() error {
	var err error
	for _, m := range v.made {
		if c, ok := runtime.As[io.Closer](m); ok {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}

// Model makes one model of a configuration as a venue would, for a program that
// has no venue on it: with its wrappers, and with the models that it falls back
// on. The others are not made. providers are those beside the built-in ones.
func Model(ctx context.Context, entries map[string]config.Model, name string, providers runtime.Providers) (runtime.Model, error) {
	if _, known := entries[name]; !known {
		return nil, fmt.Errorf("there is no model %q", name)
	}
	models := make(map[string]runtime.Model)
	if err := addModels(ctx, models, &config.Config{Models: entries}, providers, nil, name); err != nil {
		return nil, err
	}
	return models[name], nil
}

// addModels makes the models of c that there are none of yet, each with the
// wrappers that its settings ask for. With names given it makes those alone,
// and what they fall back on. secrets may be nil.
func addModels(ctx context.Context, models map[string]runtime.Model, c *config.Config, more runtime.Providers, secrets *modelSecrets, names ...string) error {
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
