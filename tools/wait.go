package tools

import (
	"fmt"

	"usher/tools/fault"
)

// WaitError says that a call has not come to its end and goes on later: when a
// person has answered, when another run has ended, or when an agent works again. Whoever makes the call for a
// run lets the run rest, and makes it again, under the same key, when it goes on.
type WaitError struct {
	Approval string // id of the request that a person answers
	Run      string // id of the run that it waits for
	Agent    string // id of the agent that it waits for, which is suspended
	Owner    string // DID of whose run it is; empty: of the caller's
	Call     string // what waits, in a few words
}

func (e *WaitError) Error() string {
	switch {
	case e.Agent != "":
		return fmt.Sprintf("agent %s is SUSPENDED: the run waits until it is resumed", e.Agent)
	case e.Approval != "":
		return fmt.Sprintf("%s waits for the approval of a person: request %s", e.Call, e.Approval)
	}
	return fmt.Sprintf("%s waits for run %s", e.Call, e.Run)
}

// Code is [fault.Waiting].
func (e *WaitError) Code() fault.Code { return fault.Waiting }
