package venue

import (
	"context"
	"maps"

	"usher/runtime"
	"usher/runtime/anthropic"
	"usher/runtime/offline"
	"usher/runtime/openai"
	"usher/runtime/wrap"
)

// Providers returns the model providers that every venue has, by name.
func Providers() runtime.Providers {
	return runtime.Providers{
		offline.Name: offline.Provider, openai.Name: openai.Provider, anthropic.Name: anthropic.Provider,
	}
}

// fillModels makes the models of the configuration, each with the wrappers that
// its settings ask for, and adds those that the program brings.
func (v *Venue) fillModels(ctx context.Context, o *Options) error {
	providers := Providers()
	maps.Copy(providers, o.Providers)
	maps.Copy(v.models, o.Models)
	if o.Config == nil {
		return nil
	}
	settings := make(map[string]map[string]any)
	for name, m := range o.Config.Models {
		if _, given := o.Models[name]; !given {
			settings[name] = m.Settings
		}
	}
	order, err := wrap.Order(settings) // a fallback before what falls back on it
	if err != nil {
		return err
	}
	for _, name := range order {
		all := settings[name]
		model, err := providers.Model(ctx, runtime.ModelConfig{
			Name: name, Provider: o.Config.Models[name].Provider, Settings: wrap.Rest(all),
		})
		if err != nil {
			return err
		}
		if v.models[name], _, err = wrap.Compose(v.models, name, model, all); err != nil {
			return err
		}
	}
	return nil
}
