package openai

import (
	"context"
	"errors"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/runtime/wrap"
)

// Provider makes a model from the settings of a configuration, which are the keys
// of [Options]. The key, and headers that are keys, are env:NAME, file:PATH or
// secret:NAME. OpenAI's own address wants one.
func Provider(_ context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
	var o Options
	if err := endpoint.Read("provider "+Name, cfg.Settings, &o, wrap.Keys()...); err != nil {
		return nil, err
	}
	o.Secrets = endpoint.SecretsOf(cfg)
	m, err := New(o)
	if o.APIType != apiAzure {
		err = errors.Join(err, form.NeedsKey(&o.Options))
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}
