package wrap

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"usher/runtime"
	"usher/tools/spend"
)

// composition is what the settings of a model say, parsed; nil and empty
// parts are not asked for.
type composition struct {
	retry          *RetryOptions
	fallback       []string
	limit          *LimitOptions
	timeouts       *TimeoutOptions
	budget         *spend.Limits
	price          *spend.Price
	cache          *CacheOptions
	record, replay string
	window         int
}

func parse(settings map[string]any) (*composition, error) {
	s := newSection("", settings)
	p := &composition{
		fallback: s.names(settingFallback),
		record:   s.text(settingRecord),
		replay:   s.text(settingReplay),
		price:    s.price(settingPrice),
		window:   s.count(settingWindow),
	}
	if sub, ok := s.section(settingRetry, true); ok {
		p.retry = &RetryOptions{
			Tries: sub.count("tries"), First: sub.duration("first"), Max: sub.duration("max"),
			MaxRetryAfter: sub.duration("max_retry_after"),
		}
		s.done(sub)
	}
	if sub, ok := s.section(settingRateLimit, false); ok {
		p.limit = &LimitOptions{PerMinute: sub.count("per_minute"), Burst: sub.count("burst"), Concurrent: sub.count("concurrent")}
		s.done(sub)
		if p.limit.Burst != 0 && p.limit.PerMinute == 0 {
			s.fail(settingRateLimit, ": burst needs per_minute")
		}
	}
	if sub, ok := s.section(settingTimeouts, false); ok {
		p.timeouts = &TimeoutOptions{FirstChunk: sub.duration("first_chunk"), Between: sub.duration("between"), Total: sub.duration("total")}
		s.done(sub)
	}
	if sub, ok := s.section(settingBudget, false); ok {
		p.budget = &spend.Limits{Calls: sub.count64("calls"), Tokens: sub.count64("tokens"), Money: sub.money("money")}
		s.done(sub)
	}
	if sub, ok := s.section(settingCache, true); ok {
		p.cache = &CacheOptions{MaxEntries: sub.count("max_entries"), TTL: sub.duration("ttl"), MaxAnswer: sub.count("max_answer")}
		s.done(sub)
	}
	if _, priced := settings[settingPrice]; p.budget != nil && p.budget.Money != 0 && !priced {
		s.fail(settingBudget, ": money needs to know what the model costs: add price beside budget")
	}
	if p.record != "" && p.replay != "" {
		s.fail(settingRecord, " and replay exclude each other: remove one")
	}
	return p, errors.Join(s.errs...)
}

// Settings of most providers that hold a secret, and how they name where it is.
const (
	settingKey     = "key"
	settingHeaders = "headers"

	inEnvironment = "env:"
	inFile        = "file:"
	inVenue       = "secret:"
)

// secrets collects what stands among a provider's settings that no cassette
// may hold: its key and header values, as text or where env:NAME, file:PATH or
// secret:NAME says. What cannot be read is left to the provider to complain of.
func secrets(ctx context.Context, cfg runtime.ModelConfig) []string {
	var out []string
	add := func(v any) {
		text, _ := v.(string)
		if name, ok := strings.CutPrefix(text, inEnvironment); ok {
			text = os.Getenv(name)
		} else if name, ok := strings.CutPrefix(text, inFile); ok {
			raw, _ := os.ReadFile(name)
			text = string(raw)
		} else if name, ok := strings.CutPrefix(text, inVenue); ok && cfg.Secret != nil {
			text, _ = cfg.Secret(ctx, name)
		}
		out = append(out, text)
		if _, credentials, ok := strings.Cut(text, " "); ok { // "Bearer …"
			out = append(out, credentials)
		}
	}
	add(cfg.Settings[settingKey])
	if headers, ok := cfg.Settings[settingHeaders].(map[string]any); ok {
		for _, v := range headers {
			add(v)
		}
	}
	// A value such as "1" would take every 1 out of a cassette and is no secret.
	return slices.DeleteFunc(out, func(s string) bool { return len(s) < 6 })
}

// Replays reports whether a model with these settings answers from a cassette,
// so that nothing is ever asked of its provider.
func Replays(settings map[string]any) bool {
	_, ok := settings[settingReplay]
	return ok
}
