package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/runtime"
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

// Off is a setting that is written as its opposite: stream: false is NoStream.
type Off bool

// UnmarshalJSON reads true or false.
func (o *Off) UnmarshalJSON(raw []byte) error {
	on := string(raw) == "true"
	if !on && string(raw) != "false" {
		return errors.New("write true or false")
	}
	*o = Off(!on)
	return nil
}

// Read puts the values of a configuration into the form that to points to. One
// that no field knows is an error that names the nearest, of those that any
// model takes (every) too. All that is wrong is told at once, each as a
// [runtime.SettingError]; no error shows a text, which may be a secret in the
// wrong place.
func Read(owner string, values map[string]any, to any, every ...string) error {
	keys := form.Keys(reflect.TypeOf(to).Elem())
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(keys, name) {
			wrong = append(wrong, &runtime.SettingError{Setting: name, Err: unknown(owner, name, keys, every)})
			continue
		}
		err := form.Decode(form.Of(map[string]any{name: values[name]}), to, form.Settings)
		faults, _ := errors.AsType[form.Faults](err)
		for _, fault := range faults {
			at := cmp.Or(strings.Trim(fault.Path+"."+fault.Key, "."), name)
			wrong = append(wrong, &runtime.SettingError{Setting: at, Err: fault})
		}
	}
	return errors.Join(wrong...)
}

// unknown says what there is instead of a setting that is not: key for api_key.
func unknown(owner, name string, keys, every []string) error {
	near, last := form.Nearest(name, slices.Concat(keys, every)), name[strings.LastIndexAny(name, "_-")+1:]
	if near == "" && slices.Contains(keys, last) {
		near = last
	}
	if near != "" {
		return fmt.Errorf("%s has no setting %q: did you mean %s?", owner, name, near)
	}
	text := fmt.Sprintf("%s has no setting %q: its settings are %s", owner, name, strings.Join(keys, ", "))
	if len(every) > 0 {
		text += "; any model also takes " + strings.Join(every, ", ")
	}
	return errors.New(text)
}

// Bad is an error that begins with the name of the setting that it is about.
func Bad(setting, format string, args ...any) error {
	return &runtime.SettingError{Setting: setting, Err: fmt.Errorf(setting+" "+format, args...)}
}
