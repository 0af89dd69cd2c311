package rest

import (
	"encoding/json"
	"net/http"

	"usher/venue"
	"usher/venue/face"
)

// once answers a request that carries a key: see [face.Once].
func (f *Face) once(rt *route, p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	raw, err := body(w, r)
	if err != nil {
		return err
	}
	o := &face.Once{
		Body:       raw,
		Repeatable: func() bool { return f.repeatable(r, rt, p, raw) },
		Answer: func(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
			return rt.answer(f, p, w, r)
		},
		Refuse: func(w http.ResponseWriter, err error) { face.Of(err).WriteTo(w) },
	}
	return o.Serve(p, w, r)
}

// repeatable reports whether a request that was begun can be answered again.
func (f *Face) repeatable(r *http.Request, rt *route, p *venue.Principal, raw json.RawMessage) bool {
	if op := f.ops[rt.op]; op != nil {
		return op.Repeatable()
	}
	var c call
	if rt.path != "/invoke" || json.Unmarshal(raw, &c) != nil {
		return rt.path == "/decide" // which does nothing
	}
	if _, forever, err := c.waits(r); err != nil || !forever { // a job, which is begun once
		return f.ops["grid:invoke"].Repeatable()
	}
	op, err := p.Operation(r.Context(), c.Operation)
	return err == nil && op.Repeatable()
}
