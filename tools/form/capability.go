package form

import (
	"encoding/json"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/caps"
)

// capability is a capability as it is written.
type capability struct {
	_    struct{} `noun:"a capability" required:"with,can" example:"{'with': 'w/', 'can': 'crud/read'}"`
	With string   `json:"with" want:"a resource, or \"\" for everything" example:"w/" empty:"true" jsonschema:"A resource, and all below it: w/, w/decisions, g/Carol. \"\" is the whole namespace."`
	Can  string   `json:"can" want:"an ability, or \"*\" for every one" example:"crud/read" pattern:"^(\\*|[a-z0-9_-]+(/[a-z0-9_-]+){0,7})$" jsonschema:"An ability, and all below it: crud, crud/read, agent/request, invoke. * is every one."`

	Ask   bool            `json:"ask,omitempty" example:"true" jsonschema:"A person has to allow each call."`
	When  json.RawMessage `json:"when,omitempty" kind:"object" want:"an object of JSON pointers" example:"{'/amount': {'max': 100}}" jsonschema:"Limits on the input of the call, by JSON pointer: a value that it has to equal, or an object of max, min, in and not_in."`
	Until string          `json:"until,omitempty" want:"a time such as 2026-12-31T18:00:00Z" example:"2026-12-31T18:00:00Z" jsonschema:"The last moment in which it counts, RFC 3339."`
	Deny  bool            `json:"deny,omitempty" example:"true" jsonschema:"What it covers is denied, and what contains something of that, whatever else allows it."`
}

// Check says which part of the capability is malformed.
func (c *capability) Check() error {
	if _, err := caps.ParseResource(c.With); err != nil {
		return In("with", err)
	}
	if _, err := caps.ParseAbility(c.Can); err != nil {
		return In("can", err)
	}
	var end time.Time
	if c.Until != "" {
		var err error
		if end, err = caps.ParseUntil(c.Until); err != nil {
			return In("until", err)
		}
	}
	on := caps.MustCapability(c.With, c.Can)
	if _, err := on.On(caps.Terms{When: c.When}); err != nil {
		return In("when", err)
	}
	if _, err := on.On(caps.Terms{Until: end}); err != nil {
		return In("until", err)
	}
	if _, err := on.On(caps.Terms{Ask: c.Ask, Deny: c.Deny}); err != nil {
		return In("deny", err)
	}
	return nil
}

// Refine adds the rules of Check that a schema can say.
func (*capability) Refine(s *jsonschema.Schema) {
	number, one := &jsonschema.Schema{Type: "number"}, 1
	values := &jsonschema.Schema{Type: "array", MinItems: &one}
	operators := &jsonschema.Schema{
		Type: "object", MinProperties: &one,
		Properties:           map[string]*jsonschema.Schema{"max": number, "min": number, "in": values, "not_in": values},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	when := s.Properties["when"]
	when.MinProperties = &one
	when.PropertyNames = &jsonschema.Schema{Pattern: `^(/([^~]|~[01])*)?$`}
	when.AdditionalProperties = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{operators, {Not: &jsonschema.Schema{Type: "object"}}}}
	s.Properties["until"].Pattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})$`
	yes := &jsonschema.Schema{Const: jsonschema.Ptr[any](true)}
	s.Not = &jsonschema.Schema{Required: []string{"ask", "deny"}, Properties: map[string]*jsonschema.Schema{"ask": yes, "deny": yes}}
}
