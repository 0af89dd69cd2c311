package runtime

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"usher/tools/form"
)

// Provider makes a model from the settings of a configuration. Settings that
// it does not know are an error.
type Provider func(ctx context.Context, cfg ModelConfig) (Model, error)

// ModelConfig is one entry under "models" in a configuration.
type ModelConfig struct {
	Name     string         // the model's name in the configuration
	Provider string         // the provider's registered name
	Settings map[string]any // everything else that stands there

	// Secret reads a secret of the venue's by its name, for settings that say
	// secret:NAME; nil where there are none. A model asks at each request, so that
	// one that was set, replaced or deleted counts at the next.
	Secret func(ctx context.Context, name string) (string, error)
}

// SettingError says what is wrong with a setting of a model. It reads as Err,
// and tells whoever has the configuration's text where to look.
type SettingError struct {
	Setting string // its name, and those within it after dots, for example "retry.tries"
	Err     error
}

func (e *SettingError) Error() string { return e.Err.Error() }
func (e *SettingError) Unwrap() error { return e.Err }

// Providers are model providers by name, as configurations name them.
type Providers map[string]Provider

// Model makes the model that cfg describes.
func (p Providers) Model(ctx context.Context, cfg ModelConfig) (Model, error) {
	provider, ok := p[cfg.Provider]
	if !ok {
		known := slices.Sorted(maps.Keys(p))
		advice := cmp.Or(form.Suggest(cfg.Provider, known), "there are "+strings.Join(known, ", "))
		return nil, &SettingError{Setting: "provider", Err: fmt.Errorf("model %s: there is no provider %q: %s", cfg.Name, cfg.Provider, advice)}
	}
	m, err := provider(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", cfg.Name, err)
	}
	return m, nil
}

// NoSettings is what a provider without settings returns for cfg: an error
// that names the first setting, if there is any.
func NoSettings(cfg ModelConfig) error {
	for _, key := range slices.Sorted(maps.Keys(cfg.Settings)) {
		return &SettingError{Setting: key, Err: fmt.Errorf("provider %s takes no setting %q: remove it", cfg.Provider, key)}
	}
	return nil
}
