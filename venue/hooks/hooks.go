// Package hooks is the face of a venue for signed requests that start something (Standard
// Webhooks), at /hooks/<id>: the configuration says what each starts. [New] returns its
// handler. Who cannot sign is told nothing, not even which webhooks there are.
package hooks

import (
	"encoding/json"
	"io"
	"net/http"

	"usher/tools/fault"
	"usher/venue"
	"usher/venue/face"
	"usher/venue/webhooks"
)

// Path is where the face lies.
const Path = "/hooks/{id}"

// accepted is the answer to a request that started a run, or has before.
type accepted struct {
	Run      string `json:"run"`
	Location string `json:"location"` // where it is shown; its output names the run of an agent's task
}

var (
	errLarge = fault.New(fault.TooLarge, "the body is too large: a webhook takes at most 1 MiB")
	errPost  = fault.New(fault.InvalidInput, "a webhook takes POST")
)

// New returns the face of a venue. jobs is the path below which runs are shown to whoever may
// look at them.
func New(v *venue.Venue, jobs string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			face.As(http.StatusMethodNotAllowed, errPost).WriteTo(w)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, webhooks.MaxBody))
		if err != nil {
			face.Of(errLarge).WriteTo(w)
			return
		}
		run, err := v.Receive(r.Context(), r.PathValue("id"), r.Header, body)
		if err != nil {
			face.Of(err).WriteTo(w)
			return
		}
		at := jobs + run
		raw, _ := json.Marshal(accepted{run, at}) // of texts
		h := w.Header()
		h.Set("Location", at)
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(raw) // who is gone is told nothing
	})
}
