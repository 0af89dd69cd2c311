package rest

import (
	"net/http"

	"usher/tools"
	"usher/venue"
)

func (f *Face) operations(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	list := []tools.Sheet{}
	ops, err := p.Operations(r.Context())
	if err != nil {
		return err
	}
	for _, op := range ops {
		list = append(list, op.Sheet())
	}
	return answer(w, http.StatusOK, map[string]any{"operations": list})
}

func (f *Face) operation(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	op, err := p.Operation(r.Context(), r.PathValue("reference"))
	if err != nil {
		return err
	}
	sheet := op.Sheet()
	sheet.Input, sheet.Output = op.InputSchema(), op.OutputSchema()
	return answer(w, http.StatusOK, sheet)
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
