package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/grid"
	"usher/venue"
	"usher/venue/face"
	"usher/venue/runs"
)

// call is the body of /invoke and /decide.
type call struct {
	Operation string           `json:"operation"`
	Input     json.RawMessage  `json:"input"`
	UCANs     face.Few[string] `json:"ucans"`
	Wait      json.RawMessage  `json:"wait"`
}

// maxWait is how long a caller may wait for a job.
const maxWait = 120 * time.Second

// read reads the body of a call, and returns who makes it with the proofs in that.
func (f *Face) read(p *venue.Principal, w http.ResponseWriter, r *http.Request) (*venue.Principal, *call, error) {
	raw, err := body(w, r)
	if err != nil {
		return nil, nil, err
	}
	var c call
	if err := face.Strictly(raw, &c); err != nil {
		return nil, nil, invalid("the body is no call: %v", err)
	}
	if p, err = p.WithProofs(c.UCANs...); err != nil {
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

// callAnswer is the answer to a call that was waited for.
type callAnswer struct {
	Status string          `json:"status"`
	Output json.RawMessage `json:"output"`
}

// invoke runs a call. One that is waited for as long as it takes ends with the request;
// any other is a job, which goes on.
func (f *Face) invoke(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	p, c, err := f.read(p, w, r)
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
		return answer(w, http.StatusOK, callAnswer{"COMPLETE", out})
	}
	var denial *caps.Denial
	if ruling, err := p.Decide(r.Context(), c.Operation, c.Input); err == nil {
		denial = ruling.Denial()
	}
	if denial != nil {
		wait = max(wait, deniedWait) // the job ends at once
	}
	out, err := p.Invoke(r.Context(), "grid:invoke", map[string]any{"operation": c.Operation, "input": c.Input})
	if err != nil {
		return err
	}
	var begun jobAnswer
	if err := json.Unmarshal(out, &begun); err != nil {
		return err
	}
	over := wait > 0 && comesToEnd(r.Context(), p, begun.ID, wait)
	now, err := p.Invoke(r.Context(), "grid:jobStatus", map[string]string{"id": begun.ID})
	_, unseen := errors.AsType[*caps.Denial](err) // who may start a job need not be able to look at it
	switch {
	case unseen && denial != nil:
		return denial
	case err != nil && !unseen:
		return err
	case err == nil:
		out = now
	}
	begun.Location = Prefix + "/jobs/" + begun.ID
	w.Header().Set("Location", begun.Location)
	if over && denial == nil {
		return answer(w, http.StatusOK, out)
	}
	if err := json.Unmarshal(out, &begun); err != nil {
		return err
	}
	if begun.Status.Status == runs.Rejected {
		begun.Denial = denial
	}
	return answer(w, http.StatusCreated, begun)
}

// deniedWait is how long the end of a job that is denied is waited for.
const deniedWait = 5 * time.Second

// jobAnswer is a job that goes on, or was denied.
type jobAnswer struct {
	grid.Status
	Location string       `json:"location"`
	Denial   *caps.Denial `json:"denial,omitempty"` // of a job that is REJECTED: what was denied, and what for
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

func (f *Face) decide(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	p, c, err := f.read(p, w, r)
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
