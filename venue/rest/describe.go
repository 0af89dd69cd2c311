package rest

import (
	"encoding/json"
	"net/http"

	"usher/caps"
	"usher/tools"
	"usher/venue"
)

// need is an ability on a resource, or on those below it.
type need struct {
	Ability  caps.Ability `json:"ability"`
	Resource string       `json:"resource"`
	Below    bool         `json:"below,omitempty"`
	Foreign  bool         `json:"foreign,omitempty"` // in another principal's namespace
}

// described is an operation as callers see it.
type described struct {
	Operation   string          `json:"operation"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Needs       [][]need        `json:"needs"` // of each list one has to be met
	ReadOnly    bool            `json:"readOnly,omitempty"`
	Idempotent  bool            `json:"idempotent,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
}

func describe(op *tools.Operation) described {
	d := described{
		Operation: op.Path(), Name: op.Name(), Description: op.Description(),
		Needs: [][]need{}, ReadOnly: op.ReadOnly(), Idempotent: op.Idempotent(),
	}
	for _, alternatives := range op.Scopes() {
		list := make([]need, len(alternatives))
		for i, s := range alternatives {
			list[i] = need{s.Can, s.Under, !s.Exact && !s.AnyResource, s.Foreign}
		}
		d.Needs = append(d.Needs, list)
	}
	return d
}

func (f *Face) operations(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	list := []described{}
	ops, err := p.Operations(r.Context())
	if err != nil {
		return err
	}
	for _, op := range ops {
		list = append(list, describe(op))
	}
	return answer(w, http.StatusOK, map[string]any{"operations": list})
}

func (f *Face) operation(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	op, err := p.Operation(r.Context(), r.PathValue("reference"))
	if err != nil {
		return err
	}
	d := describe(op)
	d.Input, d.Output = op.InputSchema(), op.OutputSchema()
	return answer(w, http.StatusOK, d)
}

func (f *Face) me(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	set, err := p.Capabilities(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, map[string]any{"did": p.DID().String(), "venue": f.door.Venue.DID().String(), "caps": set})
}

func (f *Face) status(_ *venue.Principal, w http.ResponseWriter, _ *http.Request) error {
	return answer(w, http.StatusOK, map[string]any{"status": "OK", "name": f.door.Venue.Name(), "did": f.door.Venue.DID().String()})
}
