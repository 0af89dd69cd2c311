package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/ucan"
)

// CarryOver says what holds of a life of an agent that a record of the past tells of, by the
// record of now, nil where there is none: one that has ended since has ended, one that was
// suspended is, what was taken from it is not given back, and whoever was put above it stays
// there. It returns the record as it must be then, nil where it stays as it was, and the life
// where that has ended. row is the key of both in the book's space.
func CarryOver(row string, then, now []byte) (must []byte, ended tools.Life, err error) {
	var was, is past
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
	if is.Life != was.Life {
		is.Status = agents.Terminated
	}
	changed := map[string]any{}
	switch {
	case was.Status == agents.Terminated:
		return nil, "", nil
	case is.Status == agents.Terminated:
		changed["status"], ended = is.Status, tools.NewLife(did, id, was.Life)
	default:
		if is.Status == agents.Suspended && was.Status != is.Status {
			changed["status"] = is.Status
		}
		principal := cmp.Or(was.DID, owner)
		if before, after := was.capsOf(principal), is.capsOf(principal); !after.Covers(before) {
			changed["caps"] = before.Intersect(after)
		}
		givers := slices.Clone(was.Givers)
		for _, giver := range is.Givers {
			if !slices.Contains(givers, giver) {
				givers = append(givers, giver)
			}
		}
		if len(givers) > len(was.Givers) {
			changed["givers"] = givers
		}
	}
	if len(changed) == 0 {
		return nil, "", nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(then, &all); err != nil {
		return nil, "", err
	}
	for name, v := range changed {
		if all[name], err = json.Marshal(v); err != nil {
			return nil, "", err
		}
	}
	must, err = json.Marshal(all)
	return must, ended, err
}

// past is what counts of a record of another moment.
type past struct {
	Life, Status, DID string
	Caps              json.RawMessage
	Givers            []tools.Life
}

// capsOf is what the agent may do; what cannot be read gives nothing.
func (p *past) capsOf(principal string) caps.Set {
	set, err := caps.ParseSet(p.Caps)
	if err != nil {
		return caps.Of()
	}
	return set.In(principal)
}
