// Package hooks is the face of a venue for signed requests that start something (Standard
// Webhooks), at /hooks/<id>: the configuration says what each starts. [New] returns its
// handler. Who cannot sign is told nothing, not even which webhooks there are.
package hooks

import (
	"encoding/json"
	"net/http"
	"time"

	"usher/tools/fault"
	"usher/venue"
	"usher/venue/face"
	"usher/venue/webhooks"
)

// Path is where the face lies.
const Path = "/hooks/{id}"

// acceptance is the answer to a request that started a run, or has before.
type acceptance struct {
	webhooks.Receipt
	Location string `json:"location"` // where the run is shown
}

var errPost = fault.New(fault.InvalidInput, "a webhook takes POST")

// bodyTime bounds how long a sender, whom nobody knows before the end, takes for a body.
const bodyTime = 15 * time.Second

// New returns the face of a venue. jobs is the path below which runs are shown to whoever may
// look at them.
func New(v *venue.Venue, jobs string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			face.As(http.StatusMethodNotAllowed, errPost).WriteTo(w)
			return
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // where there is a connection
		receipt, err := v.Receive(r.Context(), r.PathValue("id"), r.Header, r.Body)
		if err != nil {
			w.Header().Set("Connection", "close") // nobody waits for what is left of the body
			face.Of(err).WriteTo(w)
			return
		}
		at := jobs + receipt.Run
		raw, _ := json.Marshal(acceptance{receipt, at}) // of texts
		h := w.Header()
		h.Set("Location", at)
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(raw) // who is gone is told nothing
	})
}
