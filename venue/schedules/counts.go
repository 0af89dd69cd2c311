package schedules

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/runs"
)

// counts says how many schedules a principal has.
type counts struct {
	All  int            `json:"all"`
	By   map[string]int `json:"by,omitempty"`   // by agent: those that it makes, or has made for it
	Done int            `json:"done,omitempty"` // that have fired for the last time, and are kept
}

func countKey(owner ucan.DID) string { return prefix + "count/" + owner.String() }

// count reads the counts of the owner, for a batch that is conditional on them.
func (r *Room) count(ctx context.Context, owner ucan.DID, with *runs.With) (c counts, err error) {
	raw, rev, err := r.Store.Get(ctx, countKey(owner))
	if err == nil && rev != 0 {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		return c, fmt.Errorf("count schedules: %w", err)
	}
	with.Expect[countKey(owner)] = rev
	if c.By == nil {
		c.By = make(map[string]int)
	}
	return c, nil
}

// put adds the counts to a batch.
func (c *counts) put(owner ucan.DID, with *runs.With) {
	with.Put[countKey(owner)], _ = json.Marshal(c) // of numbers
}

// countIDs are the agents that a schedule counts for.
func (rec *record) countIDs() []string {
	var ids []string
	for _, id := range append(slices.Clone(rec.Via), rec.Agent) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// add counts n more of the schedule, and says which limit that is beyond.
func (c *counts) add(rec *record, n, most int) error {
	c.All += n
	for _, id := range rec.countIDs() {
		if c.By[id] += n; c.By[id] <= 0 {
			delete(c.By, id)
		}
		if n > 0 && c.By[id] > (most+3)/4 {
			return fault.New(fault.Refused, fmt.Sprintf("agent %s has %d schedules, as many as an agent may: cancel some, or raise limits.schedules", id, c.By[id]-n))
		}
	}
	if n > 0 && c.All > most {
		return fault.New(fault.Refused, fmt.Sprintf("there are %d schedules, as many as may be: cancel some, or raise limits.schedules", c.All-n))
	}
	return nil
}
