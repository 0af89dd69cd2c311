package agents

import (
	"encoding/json"
	"fmt"
	"strings"

	"usher/tools"
	"usher/tools/agents"
	"usher/ucan"
)

// Ends says whether a life of an agent that a record of the past tells of has ended
// since: by the record of now, nil where there is none. It returns the record as it
// must be then, and the life; nil where the life goes on. row is the key of both in
// the book's space.
func Ends(row string, then, now []byte) (ended []byte, life tools.Life, err error) {
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
	life = tools.NewLife(did, id, was.Life)
	if is.Life == was.Life && is.Status != agents.Terminated || was.Status == agents.Terminated {
		return nil, life, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(then, &all); err != nil {
		return nil, life, err
	}
	all["status"] = json.RawMessage(`"` + agents.Terminated + `"`)
	ended, err = json.Marshal(all)
	return ended, life, err
}
