package endpoint

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/tools/form"
)

// Options says which model is asked, where and how, whatever is spoken there: in a
// program, and in a configuration, as a form (see [Read]). Model is required; the
// zero value of everything else is valid. Pointers that are nil are not sent.
type Options struct {
	Model     string `json:"model" jsonschema:"As the server names it. Of Azure, the deployment."`
	BaseURL   string `json:"base_url" jsonschema:"Where the server is. Default: the vendor's own."`
	AllowHTTP bool   `json:"allow_http" jsonschema:"Allow http to other machines than this one. Default: false."`
	Key       Secret `json:"key" pattern:"^(env|file|secret):" jsonschema:"Where the key stands, never the key itself: env:NAME, file:PATH or secret:NAME."`

	Headers Headers `json:"headers" jsonschema:"More headers of each request. Values that are keys are env:NAME, file:PATH or secret:NAME."`

	// Secrets reads at each request what Key and Headers refer to (see [SecretsOf]);
	// nil takes them for the keys themselves.
	Secrets func(ctx context.Context, setting, ref string) (string, error) `json:"-"`

	MaxTokens   int      `json:"max_tokens" jsonschema:"Longest answer, reasoning included. Default: the provider's."`
	Temperature *float64 `json:"temperature" jsonschema:"How much answers vary."`
	TopP        *float64 `json:"top_p" jsonschema:"Share of the likeliest tokens to choose from."`

	NoStream Off           `json:"stream" jsonschema:"false asks for the answer in one piece. Default: true."`
	Timeout  time.Duration `json:"timeout" example:"5m" jsonschema:"Of one request with its answer. Default: 5m."`

	// Transport carries the requests; nil is one of the model's own, which for an
	// http address connects to this machine alone unless AllowHTTP is set.
	Transport http.RoundTripper `json:"-"`
	Now       func() time.Time  `json:"-"` // nil is time.Now; for dates in Retry-After
}

const defaultTimeout = 5 * time.Minute

// Refine adds the rules of [Form.Check], [Form.Base] and [Form.NeedsKey] to the
// schema of a provider's options.
func (f *Form) Refine(s *jsonschema.Schema) {
	none, one := 0.0, 1.0
	s.Properties["base_url"].Pattern = "^[Hh][Tt][Tt][Pp][Ss]?://"
	s.Properties["temperature"].Minimum, s.Properties["temperature"].Maximum = &none, &f.Hottest
	s.Properties["top_p"].Minimum, s.Properties["top_p"].Maximum = &none, &one
	anywhere := &jsonschema.Schema{AnyOf: form.OneOf("replay", "base_url", HeadersSetting)}
	s.AllOf = append(
		s.AllOf,
		&jsonschema.Schema{If: &jsonschema.Schema{Required: []string{"replay"}}, Else: &jsonschema.Schema{Required: []string{"model"}}},
		&jsonschema.Schema{If: anywhere, Else: &jsonschema.Schema{Required: []string{KeySetting}}},
	)
}

// Check refuses what the server would refuse at the first request.
func (f *Form) Check(o *Options) error {
	switch t, p := o.Temperature, o.TopP; {
	case strings.TrimSpace(o.Model) == "":
		return Bad("model", "is missing: name the model as the server does, for example %s", f.Model)
	case t != nil && !(*t >= 0 && *t <= f.Hottest):
		return Bad("temperature", "is %v: use 0 to %v", *t, f.Hottest)
	case p != nil && !(*p >= 0 && *p <= 1):
		return Bad("top_p", "is %v: use 0 to 1", *p)
	case o.MaxTokens < 0:
		return Bad("max_tokens", "is %d: use a number above 0", o.MaxTokens)
	case o.Timeout < 0:
		return Bad("timeout", "is %s: use one above 0, for example 5m", o.Timeout)
	}
	if err := CheckValue(KeySetting, string(o.Key)); err != nil {
		return err
	}
	return o.Headers.check(f.Taken)
}
