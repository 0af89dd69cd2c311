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
	err = errors.Join(err, endpoint.NeedsKey(host, o.BaseURL, o.Key, o.SecretHeaders, "ANTHROPIC_API_KEY"))
	if err != nil {
		return nil, err
	}
	return m, nil
}

// host is the vendor's own.
const host = "api.anthropic.com"

// Settings returns the names of the settings that [Provider] takes.
func Settings() []string { return endpoint.Names(settings(new(Options), nil)) }

func settings(o *Options, secrets endpoint.Secrets) map[string]endpoint.Setting {
	return map[string]endpoint.Setting{
		"model":        endpoint.Text(&o.Model),
		"base_url":     endpoint.Text(&o.BaseURL),
		"allow_http":   endpoint.Truth(&o.AllowHTTP),
		"key":          endpoint.Key(&o.Key, secrets),
		"headers":      endpoint.Headers(&o.Headers, &o.SecretHeaders, secrets, "{anthropic-beta: context-1m-2025-08-07}"),
		"max_tokens":   endpoint.Positive(&o.MaxTokens),
		"temperature":  endpoint.Optional(&o.Temperature, endpoint.Number),
		"top_p":        endpoint.Optional(&o.TopP, endpoint.Number),
		"thinking":     budget(&o.ThinkingBudget),
		"prompt_cache": endpoint.Negated(&o.NoPromptCache),
		"stream":       endpoint.Negated(&o.NoStream),
		"timeout":      endpoint.Duration(&o.Timeout),
	}
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
