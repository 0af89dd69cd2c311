package wrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"usher/runtime/endpoint"
	"usher/tools/spend"
)

// Settings of a model in a configuration that stand alone, beside retry,
// rate_limit, timeouts, budget, price, cache and window.
const (
	settingRecord   = "record"   // a file to add the answers to
	settingReplay   = "replay"   // a file to answer from
	settingFallback = "fallback" // a model's name, or a list
	settingBudget   = "budget"
)

// composition is what the settings of a model say, parsed; nil and empty
// parts are not asked for.
type composition struct {
	retry          *RetryOptions
	fallback       []string
	limit          *LimitOptions
	timeouts       *TimeoutOptions
	budget         *spend.Limits
	price          *price
	cache          *CacheOptions
	record, replay string
	window         int
}

// price is a price as it is read: the cache's parts are input's where they are nil.
type price struct{ input, output, cacheRead, cacheWrite *spend.Money }

func (p *composition) settings() map[string]endpoint.Setting {
	return map[string]endpoint.Setting{
		"window":        endpoint.Positive(&p.window),
		settingRecord:   endpoint.Text(&p.record),
		settingReplay:   endpoint.Text(&p.replay),
		settingFallback: names(&p.fallback),
		"retry": endpoint.Within("retry", &p.retry, func(o *RetryOptions) map[string]endpoint.Setting {
			return map[string]endpoint.Setting{
				"tries": endpoint.Positive(&o.Tries), "first": endpoint.Duration(&o.First), "max": endpoint.Duration(&o.Max),
				"max_retry_after": endpoint.Duration(&o.MaxRetryAfter),
			}
		}, true),
		"rate_limit": endpoint.Within("rate_limit", &p.limit, func(o *LimitOptions) map[string]endpoint.Setting {
			return map[string]endpoint.Setting{
				"per_minute": endpoint.Positive(&o.PerMinute), "burst": endpoint.Positive(&o.Burst), "concurrent": endpoint.Positive(&o.Concurrent),
			}
		}, false),
		"timeouts": endpoint.Within("timeouts", &p.timeouts, func(o *TimeoutOptions) map[string]endpoint.Setting {
			return map[string]endpoint.Setting{
				"first_chunk": endpoint.Duration(&o.FirstChunk), "between": endpoint.Duration(&o.Between), "total": endpoint.Duration(&o.Total),
			}
		}, false),
		settingBudget: endpoint.Within(settingBudget, &p.budget, func(o *spend.Limits) map[string]endpoint.Setting {
			return map[string]endpoint.Setting{
				"calls": endpoint.Positive(&o.Calls), "tokens": endpoint.Positive(&o.Tokens), "money": money(&o.Money, 1),
			}
		}, false),
		"price": endpoint.Within("price", &p.price, func(o *price) map[string]endpoint.Setting {
			return map[string]endpoint.Setting{
				"input": endpoint.Optional(&o.input, amount), "output": endpoint.Optional(&o.output, amount),
				"cache_read": endpoint.Optional(&o.cacheRead, amount), "cache_write": endpoint.Optional(&o.cacheWrite, amount),
			}
		}, false),
		"cache": endpoint.Within("cache", &p.cache, func(o *CacheOptions) map[string]endpoint.Setting {
			return map[string]endpoint.Setting{"max_entries": endpoint.Positive(&o.MaxEntries), "ttl": endpoint.Duration(&o.TTL)}
		}, true),
	}
}

func parse(settings map[string]any) (*composition, error) {
	p := new(composition)
	known := p.settings()
	own := make(map[string]any)
	for name := range known {
		if v, ok := settings[name]; ok {
			own[name] = v
		}
	}
	err := endpoint.Read("", own, known)
	if p.limit != nil && p.limit.Burst != 0 && p.limit.PerMinute == 0 {
		err = errors.Join(err, endpoint.Bad("rate_limit", "needs per_minute beside burst"))
	}
	if p.price != nil && (p.price.input == nil || p.price.output == nil) {
		err = errors.Join(err, endpoint.Bad("price", "needs input and output, for a million tokens"))
	}
	if p.budget != nil && p.budget.Money != 0 && settings["price"] == nil {
		err = errors.Join(err, endpoint.Bad(settingBudget, "in money needs to know what the model costs: add price beside budget"))
	}
	if p.record != "" && p.replay != "" {
		err = errors.Join(err, endpoint.Bad(settingRecord, "and replay exclude each other: remove one"))
	}
	return p, err
}

// prices are what a million tokens cost; nil is not known.
func (p *composition) prices() *spend.Price {
	if p.price == nil {
		return nil
	}
	out := &spend.Price{Input: *p.price.input, Output: *p.price.output, CacheRead: *p.price.input, CacheWrite: *p.price.input}
	if p.price.cacheRead != nil {
		out.CacheRead = *p.price.cacheRead
	}
	if p.price.cacheWrite != nil {
		out.CacheWrite = *p.price.cacheWrite
	}
	return out
}

// names takes a model's name or a list of names.
func names(to *[]string) endpoint.Setting {
	return func(value any) error {
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		var out []string
		for _, item := range list {
			name, _ := item.(string)
			switch {
			case name == "":
				return endpoint.Wrong(item, "a model's name or a list of names")
			case slices.Contains(out, name):
				return fmt.Errorf("%s is named twice: remove one", name)
			}
			out = append(out, name)
		}
		if len(out) == 0 {
			return errors.New("the list is empty: name a model or remove it")
		}
		*to = out
		return nil
	}
}

func amount(to *spend.Money) endpoint.Setting { return money(to, 0) }

// money takes an amount of at least so many millionths, as a number or as text.
func money(to *spend.Money, least spend.Money) endpoint.Setting {
	return func(value any) error {
		var text string
		switch v := value.(type) {
		case json.Number:
			text = v.String()
		case string:
			text = v
		}
		n, err := spend.ParseMoney(text)
		if err != nil {
			return endpoint.Wrong(value, "an amount such as 2.50, with at most six decimals")
		}
		if n < least {
			return errors.New("expected an amount above 0; leave it out for no limit")
		}
		*to = n
		return nil
	}
}

// Replays reports whether a model with these settings answers from a cassette,
// so that nothing is ever asked of its provider.
func Replays(settings map[string]any) bool {
	_, ok := settings[settingReplay]
	return ok
}
