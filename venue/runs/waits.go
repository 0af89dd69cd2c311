package runs

import (
	"cmp"
	"errors"
	"strings"

	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
)

// rests says for what a run waits that ends with failure, or that it goes on when the
// venue is opened again. The caller holds mu.
func (r *Run) rests(failure error) (waits []string, parked bool) {
	if rest, ok := errors.AsType[*runtime.RestError](failure); ok {
		waits = r.waitsOf(rest.Waits)
		return waits, len(waits) == 0
	}
	if wait, ok := errors.AsType[*tools.WaitError](failure); ok {
		return []string{waitsOn(r.owner, wait)}, false
	}
	return nil, false
}

// restsError is why a run has not ended: for whoever waits for the run, and for whoever
// looks at what that waits for.
type restsError struct {
	run *tools.WaitError
	why error
}

func (e *restsError) Error() string   { return e.why.Error() }
func (e *restsError) Unwrap() []error { return []error{e.run, e.why} }

// Code is [fault.Waiting].
func (e *restsError) Code() fault.Code { return fault.Waiting }

// waitsOn names what a run of owner's waits for: see [Record.Waits].
func waitsOn(owner ucan.DID, wait *tools.WaitError) string {
	if wait.Agent != "" {
		return OfAgent(wait.Agent)
	}
	return waitsFor(owner, wait.Approval, wait.Run, wait.Owner)
}

// OfAgent is how [Record.Waits] names an agent of the run's owner, which is suspended.
func OfAgent(id string) string { return "g/" + id }

// waitsOf lists what calls wait for. A run of another principal is "<owner>/<id>".
func (r *Run) waitsOf(list []runtime.Wait) (ids []string) {
	for _, w := range list {
		if id := waitsFor(r.owner, w.Approval, w.Run, w.Owner); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

func waitsFor(mine ucan.DID, approval, run, owner string) string {
	if run != "" && owner != "" && owner != mine.String() {
		run = owner + "/" + run
	}
	return cmp.Or(approval, run)
}

// whose is the run that an id in what a run of owner's waits for means.
func whose(owner ucan.DID, waits string) (ucan.DID, string) {
	if other, id, ok := strings.Cut(waits, "/"); ok {
		if did, err := ucan.ParseDID(other); err == nil {
			return did, id
		}
	}
	return owner, waits
}
