// Package rest is the face of a venue for programs that speak HTTP and JSON, below
// /api/v1 (reference: COG's REST API). [New] returns its handler. What it can do stands
// in one table, by which it routes and of which it makes its OpenAPI document: most routes
// are one operation each, and the gate decides about it as about every call.
//
// Errors are problem details (RFC 9457), see [face.Problem].
package rest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"usher/tools"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/face"
)

// Prefix is where the face lies.
const Prefix = "/api/v1"

// Face is the handler. It is safe for concurrent use.
type Face struct {
	door   *face.Door
	mux    *http.ServeMux
	fields map[string]fields // of operations, by name

	ops     map[string]*tools.Operation // by name
	openAPI json.RawMessage
	listed  []routeView
}

// New returns the face of the door's venue.
func New(door *face.Door) (*Face, error) {
	f := &Face{door: door, mux: http.NewServeMux(), fields: make(map[string]fields)}
	builtin, err := venue.Catalogue()
	if err != nil {
		return nil, err
	}
	f.ops = make(map[string]*tools.Operation)
	for _, op := range builtin.All() {
		f.ops[op.Name()] = op
		if f.fields[op.Name()], err = fieldsOf(op); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", op.Name(), err)
		}
	}
	for i := range routes {
		rt := &routes[i]
		if rt.op != "" && f.fields[rt.op] == nil {
			return nil, fmt.Errorf("route %s %s: there is no operation %s", rt.method, rt.path, rt.op)
		}
		for _, name := range rt.query {
			if _, known := f.fields[rt.op][name]; rt.op != "" && !known {
				return nil, fmt.Errorf("route %s %s: %s takes no %s", rt.method, rt.path, rt.op, name)
			}
		}
		f.listed = append(f.listed, f.list(rt))
		f.mux.HandleFunc(rt.method+" "+Prefix+rt.path, func(w http.ResponseWriter, r *http.Request) {
			if err := rt.serve(f, w, r); err != nil {
				face.Of(err).WriteTo(w, face.Challenge(r))
			}
		})
	}
	f.openAPI, err = document(f.ops)
	return f, err
}

// ServeHTTP answers a request.
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) { face.Route(f.mux, errNoRoute, w, r) }

var errNoRoute = fault.New(fault.NoRoute, "there is nothing here: "+Prefix+"/openapi.json lists what there is")
