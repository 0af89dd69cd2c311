package openai

import (
	"context"
	"errors"
	"maps"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/runtime/wrap"
)

// Provider makes a model from the settings of a configuration: model, base_url,
// allow_http, key, api_type, api_version, organization, headers, temperature,
// top_p, max_tokens, legacy_max_tokens, seed, reasoning_effort,
// parallel_tool_calls, send_reasoning, output, stream, stream_usage and timeout. They mean what
// [Options] says. The key, and headers that are keys, are env:NAME, file:PATH or
// secret:NAME. OpenAI's own address wants one.
func Provider(ctx context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
	var o Options
	if err := endpoint.Read(Name, cfg.Settings, settings(&o, endpoint.SecretsOf(ctx, cfg)), wrap.Settings()...); err != nil {
		return nil, err
	}
	m, err := New(o)
	if o.APIType != apiAzure {
		err = errors.Join(err, form.NeedsKey(&o.Options))
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Settings returns the names of the settings that [Provider] takes.
func Settings() []string { return endpoint.Names(settings(new(Options), nil)) }

func settings(o *Options, secrets endpoint.Secrets) map[string]endpoint.Setting {
	known := o.Settings(secrets, "{X-Title: Usher}")
	maps.Copy(known, map[string]endpoint.Setting{
		"api_type":            endpoint.Text(&o.APIType),
		"api_version":         endpoint.Text(&o.APIVersion),
		"organization":        endpoint.Text(&o.Organization),
		"legacy_max_tokens":   endpoint.Truth(&o.LegacyMaxTokens),
		"seed":                endpoint.Optional(&o.Seed, endpoint.Integer),
		"reasoning_effort":    endpoint.Text(&o.ReasoningEffort),
		"parallel_tool_calls": endpoint.Optional(&o.ParallelToolCalls, endpoint.Truth),
		"send_reasoning":      endpoint.Truth(&o.SendReasoning),
		"output":              endpoint.Text(&o.Output),
		"stream_usage":        endpoint.Negated(&o.NoStreamUsage),
	})
	return known
}
