package openai

import (
	"context"
	"errors"

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
	if o.APIType != APIAzure {
		err = errors.Join(err, endpoint.NeedsKey(host, o.BaseURL, o.Key, o.SecretHeaders, "OPENAI_API_KEY"))
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// host is OpenAI's own.
const host = "api.openai.com"

// Settings returns the names of the settings that [Provider] takes.
func Settings() []string { return endpoint.Names(settings(new(Options), nil)) }

func settings(o *Options, secrets endpoint.Secrets) map[string]endpoint.Setting {
	return map[string]endpoint.Setting{
		"model":               endpoint.Text(&o.Model),
		"base_url":            endpoint.Text(&o.BaseURL),
		"allow_http":          endpoint.Truth(&o.AllowHTTP),
		"key":                 endpoint.Key(&o.Key, secrets),
		"api_type":            endpoint.Text(&o.APIType),
		"api_version":         endpoint.Text(&o.APIVersion),
		"organization":        endpoint.Text(&o.Organization),
		"headers":             endpoint.Headers(&o.Headers, &o.SecretHeaders, secrets, "{X-Title: Usher}"),
		"temperature":         endpoint.Optional(&o.Temperature, endpoint.Number),
		"top_p":               endpoint.Optional(&o.TopP, endpoint.Number),
		"max_tokens":          endpoint.Positive(&o.MaxTokens),
		"legacy_max_tokens":   endpoint.Truth(&o.LegacyMaxTokens),
		"seed":                endpoint.Optional(&o.Seed, endpoint.Integer),
		"reasoning_effort":    endpoint.Text(&o.ReasoningEffort),
		"parallel_tool_calls": endpoint.Optional(&o.ParallelToolCalls, endpoint.Truth),
		"send_reasoning":      endpoint.Truth(&o.SendReasoning),
		"output":              endpoint.Text(&o.Output),
		"stream":              endpoint.Negated(&o.NoStream),
		"stream_usage":        endpoint.Negated(&o.NoStreamUsage),
		"timeout":             endpoint.Duration(&o.Timeout),
	}
}
