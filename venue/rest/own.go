package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"time"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/venue"
	"usher/venue/face"
)

// call is the body of /invoke and /decide.
type call struct {
	Operation string          `json:"operation"`
	Input     json.RawMessage `json:"input"`
	UCANs     []string        `json:"ucans"`
	Wait      json.RawMessage `json:"wait"`
}

// maxWait is how long a caller may wait for a job.
const maxWait = 120 * time.Second

// read reads the body of a call, and who makes it.
func (f *Face) read(r *http.Request) (*venue.Principal, *call, error) {
	raw, err := body(r)
	if err != nil {
		return nil, nil, err
	}
	var c call
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&c); err != nil {
		return nil, nil, invalid("the body is no call: %v", err)
	}
	p, err := f.door.Caller(r, c.UCANs...)
	if err != nil {
		return nil, nil, err
	}
	if c.Operation == "" {
		return nil, nil, invalid(`operation is missing: give what to call, for example "covia:read"`)
	}
	if len(c.Input) == 0 || string(c.Input) == "null" {
		c.Input = json.RawMessage("{}")
	}
	if err := tools.CheckObject(c.Input); err != nil {
		return nil, nil, invalid("input is no JSON object: %v", err)
	}
	return p, &c, nil
}

// waits says how long the caller waits: forever is as long as the call takes.
func (c *call) waits(r *http.Request) (wait time.Duration, forever bool, err error) {
	text := string(c.Wait)
	if text == "" && r.URL.Query().Has("wait") {
		text = r.URL.Query().Get("wait")
	}
	switch text {
	case "", "false", "null":
		return 0, false, nil
	case "true":
		return 0, true, nil
	}
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || !(s >= 0 && s <= maxWait.Seconds()) { // NaN is neither
		return 0, false, invalid("wait is %.40s: give true, false, or a number of seconds up to %.0f", text, maxWait.Seconds())
	}
	return time.Duration(s * float64(time.Second)), false, nil
}

// done is the answer to a call that was waited for.
type done struct {
	Status string          `json:"status"`
	Output json.RawMessage `json:"output"`
}

// invoke runs a call. One that is waited for as long as it takes ends with the request;
// any other is a job, which goes on.
func (f *Face) invoke(w http.ResponseWriter, r *http.Request) error {
	p, c, err := f.read(r)
	if err != nil {
		return err
	}
	wait, forever, err := c.waits(r)
	if err != nil {
		return err
	}
	if forever {
		out, err := p.Invoke(r.Context(), c.Operation, c.Input)
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, done{"COMPLETE", out})
	}
	id, err := p.Start(r.Context(), c.Operation, c.Input)
	if err != nil {
		return err
	}
	over := wait > 0 && comesToEnd(r.Context(), p, id, wait)
	out, err := p.Invoke(r.Context(), "grid:jobStatus", map[string]string{"id": id})
	if err != nil {
		return err
	}
	w.Header().Set("Location", Prefix+"/jobs/"+id)
	if over {
		return answer(w, http.StatusOK, out)
	}
	return answer(w, http.StatusCreated, out)
}

// comesToEnd waits for the end of a job, and reports whether it has come.
func comesToEnd(ctx context.Context, p *venue.Principal, id string, wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for _, err := range p.Events(ctx, id, 0) {
		if err != nil {
			return false
		}
	}
	rec, err := p.Run(ctx, id)
	return err == nil && rec.Over()
}

// ruling is what a call would come to.
type ruling struct {
	Decision     string              `json:"decision"`
	Operation    string              `json:"operation"`
	Requirements []tools.Requirement `json:"requirements,omitempty"`
	Message      string              `json:"message,omitempty"`
	Denial       any                 `json:"denial,omitempty"`
}

func (f *Face) decide(w http.ResponseWriter, r *http.Request) error {
	p, c, err := f.read(r)
	if err != nil {
		return err
	}
	made, err := p.Decide(r.Context(), c.Operation, c.Input)
	if err != nil {
		return err
	}
	out := ruling{Decision: made.Verdict(), Operation: made.Operation().Path(), Requirements: made.Requirements(), Message: made.Reason()}
	if d := made.Denial(); d != nil {
		out.Denial, out.Message = d, d.Error()
	}
	return answer(w, http.StatusOK, out)
}

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

func (f *Face) operations(w http.ResponseWriter, r *http.Request) error {
	p, err := f.door.Caller(r)
	if err != nil {
		return err
	}
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

func (f *Face) operation(w http.ResponseWriter, r *http.Request) error {
	p, err := f.door.Caller(r)
	if err != nil {
		return err
	}
	op, err := p.Operation(r.Context(), r.PathValue("reference"))
	if err != nil {
		return err
	}
	d := describe(op)
	d.Input, d.Output = op.InputSchema(), op.OutputSchema()
	return answer(w, http.StatusOK, d)
}

func (f *Face) me(w http.ResponseWriter, r *http.Request) error {
	p, err := f.door.Caller(r)
	if err != nil {
		return err
	}
	set, err := p.Capabilities(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, map[string]any{"did": p.DID().String(), "venue": f.door.Venue.DID().String(), "caps": set})
}

func (f *Face) status(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, http.StatusOK, map[string]any{"status": "OK", "name": f.door.Venue.Name(), "did": f.door.Venue.DID().String()})
}

// events follows a job. Each event has its number in the log as its id, by which a
// client that comes back goes on. One that is no more than shown has none. The last is
// job-ended; who comes back after it is told by 204 that nothing follows.
func (f *Face) events(w http.ResponseWriter, r *http.Request) error {
	p, err := f.door.Caller(r)
	if err != nil {
		return err
	}
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
		return nil //nolint:nilerr // the client is gone, or was told
	}
	if rec, err = p.Run(r.Context(), id); err == nil && rec.Over() {
		_ = s.Send(ended, "job-ended", map[string]any{"id": id, "status": rec.Status, "error": rec.Error})
	}
	return nil
}

// ended is the id of the last event of a job.
const ended = "end"
