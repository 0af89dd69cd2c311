package agents

import (
	"encoding/json"
	"fmt"
	"strings"

	"usher/tools"
	"usher/tools/agents"
	"usher/ucan"
)

// Held says what holds of a life of an agent that a record of the past tells of, by the
// record of now, nil where there is none: one that has ended since has ended, and one that was
// suspended is. It returns the record as it must be then, nil where it stays as it was, and
// the life where that has ended. row is the key of both in the book's space.
func Held(row string, then, now []byte) (must []byte, ended tools.Life, err error) {
	var was, is struct{ Life, Status string }
	if err = json.Unmarshal(then, &was); err == nil && now != nil {
		err = json.Unmarshal(now, &is)
	}
	owner, id, _ := strings.Cut(strings.TrimPrefix(row, "rec/"), "/")
	var did ucan.DID
	if err == nil {
		did, err = ucan.ParseDID(owner)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read agent %s: %w", row, err)
	}
	status := is.Status
	if is.Life != was.Life {
		status = agents.Terminated
	}
	if was.Status == agents.Terminated || status != agents.Terminated && status != agents.Suspended {
		return nil, "", nil
	}
	if status == agents.Terminated {
		ended = tools.NewLife(did, id, was.Life)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(then, &all); err != nil {
		return nil, "", err
	}
	all["status"] = json.RawMessage(`"` + status + `"`)
	must, err = json.Marshal(all)
	return must, ended, err
}
