package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue/store"
)

// counts says how many requests of a person are pending: those that have a mark.
type counts struct {
	All int            `json:"all"`
	By  map[string]int `json:"by,omitempty"` // by agent: those that it makes, or has made for it
}

// counted are the agents that a request counts for, and the host of one from elsewhere.
func (rec *record) counted() []string {
	ids := slices.Sorted(slices.Values(append(slices.Clone(rec.Via), rec.Agent, rec.Host)))
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
}

func (c *counts) add(rec *record, n int) {
	c.All = max(c.All+n, 0)
	for _, id := range rec.counted() {
		if c.By[id] += n; c.By[id] <= 0 {
			delete(c.By, id)
		}
	}
}

// check says which limit the counts are beyond, with the request.
func (c *counts) check(rec *record, most int) error {
	for _, id := range rec.counted() {
		if n := c.By[id]; n > (most+3)/4 {
			return tooMany("calls of agent "+id, n-1)
		}
	}
	if c.All > most {
		return tooMany("calls", c.All-1)
	}
	return nil
}

func tooMany(what string, n int) error {
	return fault.New(fault.Refused, fmt.Sprintf("%d %s wait for a person, as many as may, so nobody is asked about this one: have some answered, or raise limits.approvals", n, what))
}

// maxTries bounds how often a batch is written again because another process has
// counted meanwhile.
const maxTries = 100

// count writes a batch by which n more requests like rec are pending, or fewer: it adds the
// counts to expect and put.
func (r *Room) count(ctx context.Context, rec *record, n int, expect map[string]uint64, put map[string][]byte, del []string) (moved string, err error) {
	r.counting.Lock()
	defer r.counting.Unlock()
	key := countKey(rec.Owner)
	for try := range maxTries {
		c, rev, err := r.counts(ctx, key)
		if err != nil {
			return "", err
		}
		c.add(rec, n)
		if full := c.check(rec, r.Most); n > 0 && full != nil {
			if try > 0 {
				return "", full
			}
			if err := r.recount(ctx, rec.Owner, rev); err != nil {
				return "", err
			}
			continue
		}
		if put[key], err = json.Marshal(c); err != nil {
			return "", err
		}
		expect[key] = rev
		if moved, err = r.Store.Apply(ctx, expect, put, del); err != nil || moved != key {
			return moved, err
		}
	}
	return key, nil
}

func (r *Room) counts(ctx context.Context, key string) (c counts, rev uint64, err error) {
	raw, rev, err := r.Store.Get(ctx, key)
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		return c, rev, fmt.Errorf("count requests: %w", err)
	}
	if c.By == nil {
		c.By = make(map[string]int)
	}
	return c, rev, nil
}

// recount counts the pending requests of a person anew, without those that nobody
// needs any more: they make room.
func (r *Room) recount(ctx context.Context, owner string, rev uint64) error {
	c, del := counts{By: make(map[string]int)}, []string(nil)
	below := openKey(owner, "")
	for key, err := range store.Keys(ctx, r.Store, below, "") {
		if err != nil {
			return err
		}
		rec, _, err := r.find(ctx, owner, key[len(below):])
		switch {
		case fault.Of(err) == fault.NotFound:
			del = append(del, key)
		case err != nil:
			return err
		case rec.Status == approvals.Ended:
			del = append(del, key, dueKey(rec.Expires, rec.ID))
		default:
			c.add(&rec, 1)
		}
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	key := countKey(owner)
	_, err = r.Store.Apply(ctx, map[string]uint64{key: rev}, map[string][]byte{key: raw}, del) // where it has changed, it is full
	return err
}

// close takes the mark from a request that is pending no more. It reports whether it
// had one.
func (r *Room) close(ctx context.Context, rec *record) (bool, error) {
	open := openKey(rec.Owner, rec.ID)
	_, rev, err := r.Store.Get(ctx, open)
	if err != nil || rev == 0 {
		return false, err
	}
	moved, err := r.count(ctx, rec, -1, map[string]uint64{open: rev}, map[string][]byte{}, []string{open, dueKey(rec.Expires, rec.ID)})
	return err == nil && moved == "", err
}
