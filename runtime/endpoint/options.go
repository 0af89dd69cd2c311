package endpoint

import (
	"net/http"
	"strings"
	"time"
)

// Options says which model is asked, where and how, whatever is spoken there.
// Model is required; the zero value of everything else is valid. Pointers that
// are nil are not sent.
type Options struct {
	Model     string // as the server names it
	BaseURL   string // "" is the vendor's own
	AllowHTTP bool   // permit http to other machines than this one
	Key       Secret // "" for servers that need none

	Headers       map[string]string // more headers
	SecretHeaders map[string]Secret // more headers, with values that no error may show

	MaxTokens   int      // of the answer, reasoning included; 0 is the provider's default
	Temperature *float64 // from 0
	TopP        *float64 // 0 to 1

	NoStream bool          // ask for the answer in one piece
	Timeout  time.Duration // of one request, its answer included; 0 is 5 minutes

	// Transport carries the requests; nil is one of the model's own, which for an
	// http address connects to this machine alone unless AllowHTTP is set.
	Transport http.RoundTripper
	Now       func() time.Time // nil is time.Now; for dates in Retry-After
}

const defaultTimeout = 5 * time.Minute

// Settings are those of a configuration that say the same. Header is an example
// of one.
func (o *Options) Settings(secrets Secrets, header string) map[string]Setting {
	return map[string]Setting{
		"model":        Text(&o.Model),
		"base_url":     Text(&o.BaseURL),
		"allow_http":   Truth(&o.AllowHTTP),
		KeySetting:     keySetting(&o.Key, secrets),
		HeadersSetting: headers(&o.Headers, &o.SecretHeaders, secrets, header),
		"max_tokens":   Positive(&o.MaxTokens),
		"temperature":  Optional(&o.Temperature, number),
		"top_p":        Optional(&o.TopP, number),
		"stream":       Negated(&o.NoStream),
		"timeout":      Duration(&o.Timeout),
	}
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
	return f.checkHeaders(o)
}
