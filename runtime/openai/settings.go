package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"usher/runtime"
	"usher/tools"
)

// Provider makes a model from the settings of a configuration: model, base_url,
// allow_http, key, api_type, api_version, organization, headers, temperature,
// top_p, max_tokens, legacy_max_tokens, seed, reasoning_effort,
// parallel_tool_calls, output, stream, stream_usage and timeout. They mean what
// [Options] says. The key, and headers that are keys, are env:NAME or file:PATH.
func Provider(_ context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
	var o Options
	known := settings(&o)
	for _, name := range slices.Sorted(maps.Keys(cfg.Settings)) {
		set, ok := known[name]
		if !ok {
			names := slices.Sorted(maps.Keys(known))
			if near := nearest(name, names); near != "" {
				return nil, fmt.Errorf("provider %s has no setting %q: did you mean %s?", Name, name, near)
			}
			return nil, fmt.Errorf("provider %s has no setting %q: there are %v", Name, name, names)
		}
		if err := set(cfg.Settings[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return New(o)
}

// nearest is [tools.Nearest], but takes two letters that changed places, the
// commonest slip, as one mistake.
func nearest(name string, known []string) string {
	for i := range len(name) - 1 {
		swapped := name[:i] + name[i+1:i+2] + name[i:i+1] + name[i+2:]
		if slices.Contains(known, swapped) {
			return swapped
		}
	}
	return tools.Nearest(name, known)
}

// setting puts a value of a configuration into an Options.
type setting func(value any) error

func settings(o *Options) map[string]setting {
	return map[string]setting{
		"model":               text(&o.Model),
		"base_url":            text(&o.BaseURL),
		"allow_http":          truth(&o.AllowHTTP),
		"key":                 secret(&o.Key),
		"api_type":            text(&o.APIType),
		"api_version":         text(&o.APIVersion),
		"organization":        text(&o.Organization),
		"headers":             headers(o),
		"temperature":         optional(&o.Temperature, number),
		"top_p":               optional(&o.TopP, number),
		"max_tokens":          positive(&o.MaxTokens),
		"legacy_max_tokens":   truth(&o.LegacyMaxTokens),
		"seed":                optional(&o.Seed, integer),
		"reasoning_effort":    text(&o.ReasoningEffort),
		"parallel_tool_calls": optional(&o.ParallelToolCalls, truth),
		"output":              text(&o.Output),
		"stream":              negated(&o.NoStream),
		"stream_usage":        negated(&o.NoStreamUsage),
		"timeout":             duration(&o.Timeout),
	}
}

// wrong says what is expected. Of a text it says only that it is one: it may be
// a secret in the wrong place.
func wrong(value any, expected string) error {
	kind := fmt.Sprintf("%T", value)
	switch value.(type) {
	case nil:
		kind = "nothing"
	case string:
		kind = "text"
	case bool:
		kind = "true or false"
	case json.Number, int, int64, uint64, float64:
		kind = fmt.Sprint(value)
	case []any:
		kind = "a list"
	case map[string]any:
		kind = "a mapping"
	}
	return fmt.Errorf("expected %s, got %s", expected, kind)
}

func text(to *string) setting {
	return func(value any) error {
		s, ok := value.(string)
		if !ok || s == "" {
			return wrong(value, "text that is not empty (put it into quotes)")
		}
		*to = s
		return nil
	}
}

func truth(to *bool) setting {
	return func(value any) error {
		b, ok := value.(bool)
		if !ok {
			return wrong(value, "true or false")
		}
		*to = b
		return nil
	}
}

func negated(to *bool) setting {
	return func(value any) error {
		var yes bool
		err := truth(&yes)(value)
		*to = !yes
		return err
	}
}

func number(to *float64) setting {
	return func(value any) error {
		f, err := strconv.ParseFloat(digits(value), 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return wrong(value, "a number, for example 0.7")
		}
		*to = f
		return nil
	}
}

func integer(to *int) setting {
	return func(value any) error {
		n, err := strconv.Atoi(digits(value))
		if err != nil {
			return wrong(value, "a whole number")
		}
		*to = n
		return nil
	}
}

func positive(to *int) setting {
	return func(value any) error {
		if err := integer(to)(value); err != nil || *to < 1 {
			return wrong(value, "a whole number above 0")
		}
		return nil
	}
}

// digits spells a number; everything else, text with digits too, is "".
func digits(value any) string {
	switch n := value.(type) {
	case json.Number:
		return n.String()
	case int, int64, uint64, float64:
		return fmt.Sprint(n)
	}
	return ""
}

func duration(to *time.Duration) setting {
	return func(value any) error {
		s, _ := value.(string)
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return wrong(value, "a duration above 0, for example 90s or 5m")
		}
		*to = d
		return nil
	}
}

// optional sets a pointer, so that a zero that was written is told from none.
func optional[T any](to **T, kind func(*T) setting) setting {
	return func(value any) error {
		v := new(T)
		if err := kind(v)(value); err != nil {
			return err
		}
		*to = v
		return nil
	}
}

func secret(to *Secret) setting {
	return func(value any) error {
		s, ok := value.(string)
		if !ok || s == "" {
			return wrong(value, "env:NAME or file:PATH")
		}
		var err error
		*to, err = readSecret(s)
		return err
	}
}
