package anthropic

import (
	"net/http"
	"strings"
	"time"

	"usher/runtime/endpoint"
)

// Defaults of [Options].
const (
	DefaultMaxTokens = 16384
	DefaultTimeout   = 5 * time.Minute
)

// DefaultWindow is the window that every model of the vendor's own API has:
// tokens. Some have a larger one, which the API does not say.
const DefaultWindow = 200_000

// Adaptive, as a thinking budget, lets the model decide how much to think.
const Adaptive = -1

// minThinking is the least budget that the API takes: tokens.
const minThinking = 1024

// Options says which model is asked, where and how. Model is required; the
// zero value of everything else is valid. Pointers that are nil are not sent.
type Options struct {
	Model     string          // as the API names it, for example "claude-sonnet-5"
	BaseURL   string          // with or without /v1; "" is https://api.anthropic.com
	AllowHTTP bool            // permit http to other machines than this one
	Key       endpoint.Secret // "" sends none, for gateways that need none

	Headers       map[string]string          // more headers
	SecretHeaders map[string]endpoint.Secret // more headers, with values that no error may show

	MaxTokens      int      // of the answer, thinking included; 0 is DefaultMaxTokens, on top of the thinking budget
	Temperature    *float64 // 0 to 1
	TopP           *float64 // 0 to 1
	ThinkingBudget int      // tokens, at least 1024 and below MaxTokens, or Adaptive; 0 leaves it to the API's default

	NoPromptCache bool          // do not let the API cache the tools and the stable part of the system message
	NoStream      bool          // ask for the answer in one piece
	Timeout       time.Duration // of one request, its answer included; 0 is DefaultTimeout

	// Transport carries the requests; nil is one of the model's own, which for an
	// http address connects to this machine alone unless AllowHTTP is set.
	Transport http.RoundTripper
	Now       func() time.Time // nil is time.Now; for dates in Retry-After
}

// fill puts in the defaults.
func (o *Options) fill() {
	if o.MaxTokens == 0 {
		o.MaxTokens = DefaultMaxTokens + max(0, o.ThinkingBudget)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// check refuses what the API would refuse at the first request.
func (o *Options) check() error {
	switch {
	case strings.TrimSpace(o.Model) == "":
		return endpoint.Bad("model", "is missing: name the model as the API does, for example claude-sonnet-5")
	case o.MaxTokens < 0:
		return endpoint.Bad("max_tokens", "is %d: use a number above 0", o.MaxTokens)
	case o.Timeout < 0:
		return endpoint.Bad("timeout", "is %s: use one above 0, for example 5m", o.Timeout)
	case o.ThinkingBudget < minThinking && o.ThinkingBudget != 0 && o.ThinkingBudget != Adaptive:
		return endpoint.Bad("thinking", "is %d: use at least %d tokens, or adaptive", o.ThinkingBudget, minThinking)
	case o.ThinkingBudget > 0 && o.MaxTokens > 0 && o.ThinkingBudget >= o.MaxTokens:
		return endpoint.Bad("thinking", "is %d and leaves nothing of max_tokens, %d, for the answer: raise max_tokens", o.ThinkingBudget, o.MaxTokens)
	case o.ThinkingBudget != 0 && o.Temperature != nil:
		return endpoint.Bad("thinking", "and temperature exclude each other: remove one")
	}
	if t := o.Temperature; t != nil && !(*t >= 0 && *t <= 1) {
		return endpoint.Bad("temperature", "is %v: use 0 to 1", *t)
	}
	if p := o.TopP; p != nil && !(*p >= 0 && *p <= 1) {
		return endpoint.Bad("top_p", "is %v: use 0 to 1", *p)
	}
	if err := endpoint.CheckValue("key", string(o.Key)); err != nil {
		return err
	}
	return endpoint.CheckHeaders(o.Headers, o.SecretHeaders, map[string]string{
		"X-Api-Key":         "has a setting of its own: use key",
		"Anthropic-Version": "is set by the request itself: remove it",
	})
}
