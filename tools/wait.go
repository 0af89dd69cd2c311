package tools

import (
	"fmt"

	"usher/tools/fault"
)

// WaitError says that a call has not come to its end and goes on later: when a
// person has answered, or when another run has ended. Whoever makes the call for a
// run lets the run rest, and makes it again, under the same key, when it goes on.
type WaitError struct {
	Approval string // id of the request that a person answers; empty: it waits for a run
	Run      string // id of that run
	Owner    string // DID of whose run it is; empty: of the caller's
	Call     string // what waits, in a few words
}

func (e *WaitError) Error() string {
	if e.Approval != "" {
		return fmt.Sprintf("%s waits for the approval of a person: request %s", e.Call, e.Approval)
	}
	return fmt.Sprintf("%s waits for run %s", e.Call, e.Run)
}

// Code is [fault.Waiting].
func (e *WaitError) Code() fault.Code { return fault.Waiting }
