package approvals

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"usher/tools/fault"
	"usher/venue/store"
)

// countIDs are the agents that a request counts for, and the host of one from elsewhere. They stand
// in its mark.
func (rec *record) countIDs() []string {
	ids := slices.Sorted(slices.Values(append(slices.Clone(rec.Via), rec.Agent, rec.Host)))
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
}

func (rec *record) mark() []byte { return []byte(strings.Join(rec.countIDs(), " ")) }

func tooMany(what string, n int) error {
	return fault.New(fault.Refused, fmt.Sprintf("%d %s wait for a person, as many as may, so nobody is asked about this one: have some answered, or raise limits.approvals", n, what))
}

// admits says which limit one more request of a person would be beyond, where another is closed at
// once, or "": the error is [fault.Refused] then. Whoever files one puts the row of countKey in the
// place of the revision, so that of two that come at once each is counted.
func (r *Room) admits(ctx context.Context, rec *record, closed string) (rev uint64, err error) {
	if _, rev, err = r.Store.Get(ctx, countKey(rec.Owner)); err != nil {
		return 0, fmt.Errorf("count requests: %w", err)
	}
	full, err := r.full(ctx, rec, closed)
	if err != nil {
		return 0, fmt.Errorf("count requests: %w", err)
	}
	return rev, full
}

// roomy files a request, and once more where there is no room: those that nobody needs any more
// make some. Who is told of these is told under no lock.
func (r *Room) roomy(ctx context.Context, owner string, file func() error) error {
	err := file()
	if fault.Of(err) != fault.Refused {
		return err
	}
	if err := r.closeOver(ctx, openKey(owner, "")); err != nil {
		return err
	}
	return file()
}

// full says which limit a request would be beyond, with those that are pending.
func (r *Room) full(ctx context.Context, rec *record, closed string) (full, err error) {
	all, by := 0, make(map[string]int)
	for row, err := range store.Rows(ctx, r.Store, openKey(rec.Owner, ""), "") {
		if err != nil {
			return nil, err
		}
		if row.Key == openKey(rec.Owner, closed) {
			continue
		}
		all++
		for id := range strings.FieldsSeq(string(row.Value)) {
			by[id]++
		}
	}
	for _, id := range rec.countIDs() {
		if n := by[id]; n >= (r.Most+3)/4 {
			return tooMany("calls of agent "+id, n), nil
		}
	}
	if all >= r.Most {
		return tooMany("calls", all), nil
	}
	return nil, nil
}

// close takes the mark from a request that is pending no more. It reports whether it
// had one.
func (r *Room) close(ctx context.Context, rec *record) (bool, error) {
	open := openKey(rec.Owner, rec.ID)
	_, rev, err := r.Store.Get(ctx, open)
	if err != nil || rev == 0 {
		return false, err
	}
	moved, err := r.Store.Apply(ctx, map[string]uint64{open: rev}, nil, []string{open, dueKey(rec.Expires, rec.ID)})
	return err == nil && moved == "", err
}
