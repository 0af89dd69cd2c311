package anthropic

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/runtime/wrap"
)

// defaultWindow is the window that every model of the vendor's own API has:
// tokens. Some have a larger one, which the API does not say.
const defaultWindow = 200_000

// defaultMaxTokens is the longest answer where none is set, on top of the
// thinking budget.
const defaultMaxTokens = 16384

// Adaptive, as a thinking budget, lets the model decide how much to think.
const Adaptive = -1

// minThinking is the least budget that the API takes: tokens.
const minThinking = 1024

// apiVersion is the version of the API, by its documentation.
const apiVersion = "2023-06-01"

var form = endpoint.Form{
	Name:     Name,
	Speaks:   "the Messages API",
	Default:  "https://api.anthropic.com",
	Example:  "https://host",
	Endpoint: "/messages",
	Query:    "headers",
	Variable: "ANTHROPIC_API_KEY",
	Model:    "claude-sonnet-5",
	Hottest:  1,
	Taken: map[string]string{
		"X-Api-Key":         "has a setting of its own: use key",
		"Anthropic-Version": "is set by the request itself: remove it",
	},
}

// Options says which model is asked, where and how. Model is required; the
// zero value of everything else is valid. MaxTokens has the thinking in it: 0 is
// 16384, on top of the thinking budget.
type Options struct {
	endpoint.Options

	ThinkingBudget thoughtBudget `json:"thinking" jsonschema:"Tokens that it may think, at least 1024 and below max_tokens; adaptive leaves it to the model. Default: the API's."`
	NoPromptCache  endpoint.Off  `json:"prompt_cache" jsonschema:"false asks for no caching of the tools and the stable part of the system message. Default: true."`
}

// New returns the model that o describes. It does not reach for the server.
func New(o Options) (*Model, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	to, err := form.Base(o.BaseURL, o.AllowHTTP) // with or without /v1
	if err != nil {
		return nil, err
	}
	if o.MaxTokens == 0 {
		o.MaxTokens = defaultMaxTokens + int(max(0, o.ThinkingBudget))
	}
	about := runtime.About{Provider: "anthropic", Reasons: o.ThinkingBudget != 0}
	if form.Default == "https://"+endpoint.Host(to) {
		about.Window = defaultWindow
	}
	to.Path, to.RawPath = strings.TrimSuffix(strings.TrimRight(to.Path, "/"), "/v1")+"/v1/messages", ""
	server := form.Serve(&o.Options, to, http.Header{"Anthropic-Version": {apiVersion}}, func(h http.Header, key string) { h.Set("X-Api-Key", key) }, about)
	return &Model{Server: server, opts: o}, nil
}

// check refuses what the API would refuse at the first request.
func (o *Options) check() error {
	switch err := form.Check(&o.Options); {
	case err != nil:
		return err
	case o.ThinkingBudget < minThinking && o.ThinkingBudget != 0 && o.ThinkingBudget != Adaptive:
		return endpoint.Bad("thinking", "is %d: use at least %d tokens, or adaptive", o.ThinkingBudget, minThinking)
	case o.ThinkingBudget > 0 && o.MaxTokens > 0 && int(o.ThinkingBudget) >= o.MaxTokens:
		return endpoint.Bad("thinking", "is %d and leaves nothing of max_tokens, %d, for the answer: raise max_tokens", o.ThinkingBudget, o.MaxTokens)
	case o.ThinkingBudget != 0 && o.Temperature != nil:
		return endpoint.Bad("thinking", "and temperature exclude each other: remove one")
	}
	return nil
}

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

// thoughtBudget is how many tokens a model may think, or [Adaptive].
type thoughtBudget int

// UnmarshalJSON reads a number above 0, or the word adaptive.
func (b *thoughtBudget) UnmarshalJSON(raw []byte) error {
	if string(raw) == `"adaptive"` {
		*b = Adaptive
		return nil
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 1 {
		return errors.New("write a number of tokens, or adaptive")
	}
	*b = thoughtBudget(n)
	return nil
}
