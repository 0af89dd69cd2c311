package anthropic

import (
	"context"
	"errors"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/runtime/wrap"
)

// Provider makes a model from the settings of a configuration: model, base_url,
// allow_http, key, headers, max_tokens, temperature, top_p, thinking (a number
// of tokens, or adaptive), prompt_cache, stream and timeout. They mean what
// [Options] says. The key, and headers that are keys, are env:NAME, file:PATH or
// secret:NAME. The vendor's own address wants one.
func Provider(ctx context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
	var o Options
	if err := endpoint.Read(Name, cfg.Settings, settings(&o, endpoint.SecretsOf(ctx, cfg)), wrap.Settings()...); err != nil {
		return nil, err
	}
	m, err := New(o)
	err = errors.Join(err, form.NeedsKey(&o.Options))
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Settings returns the names of the settings that [Provider] takes.
func Settings() []string { return endpoint.Names(settings(new(Options), nil)) }

func settings(o *Options, secrets endpoint.Secrets) map[string]endpoint.Setting {
	known := o.Settings(secrets, "{anthropic-beta: context-1m-2025-08-07}")
	known["thinking"] = budget(&o.ThinkingBudget)
	known["prompt_cache"] = endpoint.Negated(&o.NoPromptCache)
	return known
}

func budget(to *int) endpoint.Setting {
	return func(value any) error {
		if value == "adaptive" {
			*to = Adaptive
			return nil
		}
		if err := endpoint.Positive(to)(value); err != nil {
			return endpoint.Wrong(value, "a number of tokens, or adaptive")
		}
		return nil
	}
}
