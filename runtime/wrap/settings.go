package wrap

import (
	"os"
	"slices"
	"strings"
)

// composition is what the settings of a model say, parsed; nil and empty
// parts are not asked for.
type composition struct {
	retry          *RetryOptions
	fallback       []string
	limit          *LimitOptions
	timeouts       *TimeoutOptions
	budget         *BudgetLimits
	cache          *CacheOptions
	record, replay string
	secrets        []string
}

func parse(settings map[string]any) (*composition, error) {
	s := newSection("", settings)
	p := &composition{
		fallback: s.names(settingFallback),
		record:   s.text(settingRecord),
		replay:   s.text(settingReplay),
		secrets:  secrets(settings),
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
			s.fail("rate_limit: burst needs per_minute")
		}
	}
	if sub, ok := s.section(settingTimeouts, false); ok {
		p.timeouts = &TimeoutOptions{FirstChunk: sub.duration("first_chunk"), Between: sub.duration("between"), Total: sub.duration("total")}
		s.done(sub)
	}
	if sub, ok := s.section(settingBudget, false); ok {
		p.budget = &BudgetLimits{Calls: sub.count64("calls"), Tokens: sub.count64("tokens"), Money: sub.money("money"), Prices: sub.prices("prices")}
		s.done(sub)
	}
	if sub, ok := s.section(settingCache, true); ok {
		p.cache = &CacheOptions{MaxEntries: sub.count("max_entries"), TTL: sub.duration("ttl"), MaxAnswer: sub.count("max_answer")}
		s.done(sub)
	}
	if p.record != "" && p.replay != "" {
		s.fail("record and replay exclude each other: remove one")
	}
	return p, s.err
}

// secrets collects what stands among a provider's settings that no cassette
// may hold: its key, as text or as env:NAME or file:PATH, and header values.
func secrets(settings map[string]any) []string {
	var out []string
	add := func(v any) {
		text, ok := v.(string)
		if !ok {
			return
		}
		if name, ok := strings.CutPrefix(text, "env:"); ok {
			text = os.Getenv(name)
		} else if path, ok := strings.CutPrefix(text, "file:"); ok {
			raw, err := os.ReadFile(path)
			if err != nil {
				return // the provider says so
			}
			text = string(raw)
		}
		out = append(out, text)
		if _, credentials, ok := strings.Cut(text, " "); ok { // "Bearer …"
			out = append(out, credentials)
		}
	}
	add(settings["key"])
	if headers, ok := settings["headers"].(map[string]any); ok {
		for _, v := range headers {
			add(v)
		}
	}
	// A value such as "1" would take every 1 out of a cassette and is no secret.
	return slices.DeleteFunc(out, func(s string) bool { return len(s) < 6 })
}
