package tools

import (
	"encoding/json"

	"usher/caps"
)

// Sheet is what callers see of an operation.
type Sheet struct {
	Operation   string          `json:"operation"` // catalogue path
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Needs       [][]Demand      `json:"needs"` // of each list one has to be met
	ReadOnly    bool            `json:"readOnly,omitempty"`
	Idempotent  bool            `json:"idempotent,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`  // JSON Schema
	Output      json.RawMessage `json:"output,omitempty"` // JSON Schema
}

// Demand is an ability on a resource, or on those below it.
type Demand struct {
	Ability  caps.Ability `json:"ability"`
	Resource string       `json:"resource"`
	Below    bool         `json:"below,omitempty"`
	Foreign  bool         `json:"foreign,omitempty"` // in another principal's namespace
}

// Sheet describes the operation, without its schemas.
func (o *Operation) Sheet() Sheet {
	s := Sheet{
		Operation: o.Path(), Name: o.Name(), Description: o.Description(),
		Needs: [][]Demand{}, ReadOnly: o.ReadOnly(), Idempotent: o.Idempotent(),
	}
	for _, alternatives := range o.Scopes() {
		list := make([]Demand, len(alternatives))
		for i, a := range alternatives {
			list[i] = Demand{a.Can, a.Under, !a.Exact && !a.AnyResource, a.Foreign}
		}
		s.Needs = append(s.Needs, list)
	}
	return s
}
