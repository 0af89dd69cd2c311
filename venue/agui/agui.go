package agui

import (
	"errors"
	"io"
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
			r.Body = http.MaxBytesReader(w, r.Body, tools.MaxInput+4096)
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
func (f *Face) read(r *http.Request) (*venue.Principal, *input, error) {
	p, err := f.door.Person(r)
	if err != nil {
		return nil, nil, err
	}
	raw, err := io.ReadAll(r.Body)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, nil, fault.New(fault.TooLarge, "the body is too large")
	}
	if err != nil {
		return nil, nil, invalid("the body does not come whole: %v", err)
	}
	if err := tools.CheckObject(raw); err != nil {
		return nil, nil, invalid("the body is no JSON object: %v", err)
	}
	in, err := readInput(raw)
	return p, in, err
}
