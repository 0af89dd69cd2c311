package anthropic

import (
	"context"
	"errors"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/runtime/wrap"
)

// Provider makes a model from the settings of a configuration, which are the keys
// of [Options]. The key, and headers that are keys, are env:NAME, file:PATH or
// secret:NAME. The vendor's own address wants one.
func Provider(_ context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
	var o Options
	if err := endpoint.Read("provider "+Name, cfg.Settings, &o, wrap.Keys()...); err != nil {
		return nil, err
	}
	o.Secrets = endpoint.SecretsOf(cfg)
	m, err := New(o)
	err = errors.Join(err, form.NeedsKey(&o.Options))
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Refine adds what else the schema of a configuration has to say.
func (*Options) Refine(s *jsonschema.Schema) {
	form.Refine(s)
	least := float64(minThinking)
	thinking := s.Properties["thinking"]
	thinking.Type, thinking.Types, thinking.Minimum, thinking.Pattern = "", []string{"integer", "string"}, &least, "^adaptive$"
	s.Not = &jsonschema.Schema{Required: []string{"thinking", "temperature"}}
}

// thinkingBudget is how many tokens a model may think, or [Adaptive].
type thinkingBudget int

// UnmarshalJSON reads a number above 0, or the word adaptive.
func (b *thinkingBudget) UnmarshalJSON(raw []byte) error {
	if string(raw) == `"adaptive"` {
		*b = Adaptive
		return nil
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 1 {
		return errors.New("write a number of tokens, or adaptive")
	}
	*b = thinkingBudget(n)
	return nil
}
