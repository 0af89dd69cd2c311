package agui

import (
	"errors"
	"net/http"

	"usher/tools"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/face"
)

// Prefix is where the face lies.
const Prefix = "/agui"

// Face is the handler. It is safe for concurrent use.
type Face struct {
	door *face.Door
	mux  *http.ServeMux
}

// New returns the face of the door's venue.
func New(door *face.Door) *Face {
	f := &Face{door: door, mux: http.NewServeMux()}
	for _, rt := range []struct {
		pattern string
		serve   func(http.ResponseWriter, *http.Request) error
	}{
		{"POST " + Prefix + "/{agent}", f.run},
		{"POST " + Prefix + "/{agent}/connect", f.connect},
		{"GET " + Prefix + "/{agent}/capabilities", f.capabilities},
		{Prefix + "/{agent}", only(http.MethodPost)},
		{Prefix + "/{agent}/connect", only(http.MethodPost)},
		{Prefix + "/{agent}/capabilities", only(http.MethodGet)},
		{"/", func(http.ResponseWriter, *http.Request) error { return errNoRoute }},
	} {
		f.mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Add("Vary", "Authorization, Cookie")
			switch err := rt.serve(w, r); {
			case errors.Is(err, errMethod):
				face.As(http.StatusMethodNotAllowed, err).WriteTo(w)
			case err != nil:
				face.Of(err).WriteTo(w, face.Challenge(r))
			}
		})
	}
	return f
}

// ServeHTTP answers a request.
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

var (
	errNoRoute = fault.New(fault.NoRoute, "there is nothing here: "+Prefix+"/{agent} runs an agent, "+Prefix+"/{agent}/connect follows a thread, and "+Prefix+"/{agent}/capabilities says what the agent can do")
	errMethod  = fault.New(fault.InvalidInput, "the method is none of this route's: Allow has the one that is")
)

// only answers requests of other methods than a route's.
func only(method string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Allow", method)
		return errMethod
	}
}

// read reads a request, and who makes it.
func (f *Face) read(w http.ResponseWriter, r *http.Request) (*venue.Principal, *input, error) {
	p, err := f.door.Person(r)
	if err != nil {
		return nil, nil, err
	}
	raw, err := face.Body(w, r)
	if err != nil {
		return nil, nil, err
	}
	if err := tools.CheckObject(raw); err != nil {
		return nil, nil, invalid("the body is no JSON object: %v", err)
	}
	in, err := readInput(raw)
	return p, in, err
}
