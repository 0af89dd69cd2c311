package wrap

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/runtime/endpoint"
	"usher/tools/form"
	"usher/tools/spend"
)

// Settings that others name.
const (
	settingRecord   = "record"
	settingReplay   = "replay"
	settingFallback = "fallback"
	settingBudget   = "budget"
)

// Settings are those of any model, as a form (see [endpoint.Read]); what is nil or
// empty is not asked for.
type Settings struct {
	Window    int             `json:"window" example:"128000" jsonschema:"Tokens of a request and its answer. Near it, the agent's own model sums up the older turns."`
	Price     *price          `json:"price" form:"price" example:"{'input': 0.25, 'output': 2}" jsonschema:"What a million tokens cost, in the currency of all prices and budgets: {input: 0.25, output: 2}."`
	Retry     *RetryOptions   `json:"retry" form:"retry" on:"true" want:"true, or an object" example:"{'tries': 4}" jsonschema:"Calls that failed for now are made again, at a time that the server may name. true takes the defaults."`
	Fallback  names           `json:"fallback" jsonschema:"A model, or a list, to ask when this one fails."`
	RateLimit *LimitOptions   `json:"rate_limit" form:"rate_limit" required:"*" example:"{'per_minute': 60}" jsonschema:"Calls wait their turn."`
	Timeouts  *TimeoutOptions `json:"timeouts" form:"timeouts" required:"*" example:"{'total': '5m'}" jsonschema:"How long an answer may take."`
	Budget    *spend.Limits   `json:"budget" form:"budget" required:"*" example:"{'tokens': 1000000}" jsonschema:"What this model may spend as long as the process runs. What is left out has no limit. Those of agents are their budgets."`
	Cache     *CacheOptions   `json:"cache" form:"cache" on:"true" want:"true, or an object" example:"{'ttl': '1h'}" jsonschema:"The same request gets the same answer, for nothing, as long as the process runs. true takes the defaults."`
	Record    string          `json:"record" jsonschema:"A file, relative to the configuration, to which is added what is asked and answered, without keys."`
	Replay    string          `json:"replay" jsonschema:"A file that was recorded, to answer from. Nothing is asked of the provider then."`
}

// price is a price as it is read: the cache's parts are input's where they are nil.
type price struct {
	_          struct{}     `required:"input,output"`
	Input      *spend.Money `json:"input" kind:"number" min:"0" example:"0.25" jsonschema:"A million tokens that are sent."`
	Output     *spend.Money `json:"output" kind:"number" min:"0" example:"2" jsonschema:"A million tokens of answers."`
	CacheRead  *spend.Money `json:"cache_read" kind:"number" min:"0" jsonschema:"A million tokens that the provider has in its cache. Default: input."`
	CacheWrite *spend.Money `json:"cache_write" kind:"number" min:"0" jsonschema:"A million tokens that the provider puts into its cache. Default: input."`
}

// Refine adds the rules of [Split].
func (*Settings) Refine(s *jsonschema.Schema) {
	one := 1
	name := &jsonschema.Schema{Type: "string", MinLength: &one}
	list := &jsonschema.Schema{Type: "array", MinItems: &one, UniqueItems: true, Items: name}
	s.Properties[settingFallback].Type, s.Properties[settingFallback].AnyOf = "", []*jsonschema.Schema{name, list}
	s.Properties["rate_limit"].DependentRequired = map[string][]string{"burst": {"per_minute"}}
	s.Not = &jsonschema.Schema{Required: []string{settingRecord, settingReplay}}
	inMoney := &jsonschema.Schema{Type: "object", Required: []string{"money"}}
	s.AllOf = append(s.AllOf, &jsonschema.Schema{
		If:   &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{settingBudget: inMoney}, Required: []string{settingBudget}},
		Then: &jsonschema.Schema{Required: []string{"price"}},
	})
}

// Keys returns the names of the settings that any model takes.
func Keys() []string { return form.Keys(reflect.TypeFor[Settings]()) }

// Split reads the settings that any model takes, and returns the others, which are
// the provider's, in a map of their own.
func Split(settings map[string]any) (p *Settings, rest map[string]any, err error) {
	p, rest = new(Settings), maps.Clone(settings)
	own := make(map[string]any)
	for _, name := range Keys() {
		if v, ok := settings[name]; ok {
			own[name] = v
			delete(rest, name)
		}
	}
	err = endpoint.Read("", own, p)
	if p.RateLimit != nil && p.RateLimit.Burst != 0 && p.RateLimit.PerMinute == 0 {
		err = errors.Join(err, endpoint.Bad("rate_limit", "needs per_minute beside burst"))
	}
	if p.Budget != nil && p.Budget.Money != 0 && settings["price"] == nil {
		err = errors.Join(err, endpoint.Bad(settingBudget, "in money needs to know what the model costs: add price beside budget"))
	}
	if p.Record != "" && p.Replay != "" {
		err = errors.Join(err, endpoint.Bad(settingRecord, "and replay exclude each other: remove one"))
	}
	return p, rest, err
}

// prices are what a million tokens cost; nil is not known.
func (p *Settings) prices() *spend.Price {
	if p.Price == nil {
		return nil
	}
	or := func(of *spend.Money) spend.Money { return *cmp.Or(of, p.Price.Input) }
	return &spend.Price{Input: *p.Price.Input, Output: *p.Price.Output, CacheRead: or(p.Price.CacheRead), CacheWrite: or(p.Price.CacheWrite)}
}

// names are a model's name or a list of names.
type names []string

// UnmarshalJSON reads either.
func (to *names) UnmarshalJSON(raw []byte) error {
	list := []any{nil}
	if json.Unmarshal(raw, &list) != nil {
		_ = json.Unmarshal(raw, &list[0]) // it was JSON before
	}
	var out []string
	for _, item := range list {
		name, _ := item.(string)
		switch {
		case name == "":
			return errors.New("write a model's name or a list of names")
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

// Locate returns a model's settings with the files that they name relative to
// dir: record and replay, and file:PATH of a key or a header. It is a copy
// where anything changes.
func Locate(settings map[string]any, dir string) map[string]any {
	if dir == "" {
		return settings
	}
	out := maps.Clone(settings)
	for _, setting := range []string{settingRecord, settingReplay} {
		if name, ok := out[setting].(string); ok && name != "" && !filepath.IsAbs(name) {
			out[setting] = filepath.Join(dir, name)
		}
	}
	if ref, ok := out[endpoint.KeySetting]; ok {
		out[endpoint.KeySetting] = endpoint.Locate(ref, dir)
	}
	if headers, ok := out[endpoint.HeadersSetting].(map[string]any); ok {
		headers = maps.Clone(headers)
		for name, v := range headers {
			headers[name] = endpoint.Locate(v, dir)
		}
		out[endpoint.HeadersSetting] = headers
	}
	return out
}

// appendFile is opened for each write: a model has no end at which it
// could be closed, and a program that asks nothing must leave no file.
type appendFile string

func (name appendFile) Write(p []byte) (int, error) {
	f, err := os.OpenFile(string(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := f.Write(p)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return n, err
}
