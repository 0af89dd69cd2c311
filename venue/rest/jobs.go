package rest

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"

	"usher/runtime"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/face"
	"usher/venue/runs"
)

// events follows a job. Each event has its number in the log as its id, by which a
// client that comes back goes on. One that is no more than shown has none. The last is
// job-ended; who comes back after it is told by 204 that nothing follows.
func (f *Face) events(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	rec, err := p.Run(r.Context(), id)
	if err != nil {
		return err
	}
	var after uint64
	last := r.Header.Get("Last-Event-ID")
	switch {
	case last == ended && rec.Over():
		w.WriteHeader(http.StatusNoContent)
		return nil
	case last != "" && last != ended:
		if after, err = strconv.ParseUint(last, 10, 64); err != nil {
			return invalid("Last-Event-ID is no id of an event: leave it out, or give that of one")
		}
	}
	done, err := f.door.Streams.Begin(p.Place(), p.Guest())
	if err != nil {
		return err
	}
	defer done()
	s := face.NewStream(w)
	still := func(ctx context.Context) error { return p.Still(ctx, "grid:jobStatus", map[string]string{"id": id}) }
	err = face.Follow(r.Context(), s, still, func(ctx context.Context) iter.Seq2[runtime.Entry, error] { return p.Events(ctx, id, after) }, func(e runtime.Entry, err error) error {
		if err != nil {
			_ = s.Send("", "error", face.Of(err)) // or the client is gone
			return err
		}
		number := ""
		if e.Seq > 0 {
			number = strconv.FormatUint(e.Seq, 10)
		}
		return s.Send(number, "job-update", e)
	})
	if err != nil {
		return nil // the client is gone, or was told
	}
	if rec, err = p.Run(r.Context(), id); err == nil && rec.Over() {
		_ = s.Send(ended, "job-ended", map[string]any{"id": id, "status": rec.Status, "error": rec.Error})
	}
	return nil
}

// ended is the id of the last event of a job.
const ended = "end"

// jobMessage is the body of a message to a job.
type jobMessage struct {
	Message json.RawMessage `json:"message"`
}

var errUnheard = fault.New(fault.InTheWay, "the job is no agent's, so that nobody would hear a message")

// tell leaves a message for the agent whose turn or task a job is, in the session of that.
func (f *Face) tell(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	raw, err := body(w, r)
	if err != nil {
		return err
	}
	var in jobMessage
	if err := face.Strictly(raw, &in); err != nil || len(in.Message) == 0 {
		return invalid(`the body is no message: give {"message": "..."}`)
	}
	rec, err := p.Run(r.Context(), r.PathValue("id"))
	switch {
	case err != nil:
		return err
	case rec.Over():
		return &runs.OverError{ID: rec.ID, Status: rec.Status}
	case rec.Agent == "" || rec.Session == "":
		return errUnheard
	}
	out, err := p.Invoke(r.Context(), "agent:message", map[string]any{"agentId": rec.Agent, "sessionId": rec.Session, "message": in.Message})
	if err != nil {
		return err
	}
	return answer(w, http.StatusAccepted, out)
}
