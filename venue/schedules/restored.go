package schedules

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"usher/ucan"
	"usher/venue/store"
)

var errRestored = errors.New("its time passed before the data folder was restored from a backup, so that nobody knows whether it fired: make it again if it is to")

// PassOver passes over all times until the one at which the folder was restored from a
// backup, which knows nothing of what fired since it was made: each schedule says what it
// missed, and one that has no other time fires no more.
func (r *Room) PassOver(ctx context.Context, at time.Time) error {
	for key, err := range store.Keys(ctx, r.Store, prefix+due, "") {
		if err != nil {
			return err
		}
		when, owner, id, err := parseTimeKey(due, key)
		if err != nil || when.After(at) {
			return err
		}
		rec, err := r.read(ctx, owner, id)
		switch {
		case err != nil:
		case rec == nil || rec.Next != when.UnixMilli():
		case rec.Cron == "":
			err = r.end(ctx, rec, errRestored)
		default:
			err = r.settle(ctx, rec, at, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Rows is below which key [CarryOver] looks at rows.
const Rows = prefix + "rec/"

const errCancelled = "after the moment to which the data folder was restored it was cancelled, or it fired for the last time: make it again if it is to fire"

// CarryOver says which schedules fire no more where a folder is taken back to a moment, by their rows
// then and now: those that are there no more. They are kept, and say why.
func CarryOver(then, now map[string][]byte) (put map[string][]byte, del []string, err error) {
	put = make(map[string][]byte)
	for key, was := range then {
		of, _, _ := strings.Cut(strings.TrimPrefix(key, Rows), "/")
		owner, err := ucan.ParseDID(of)
		if err != nil {
			return nil, nil, err
		}
		rec, err := decode(was, owner, 0)
		if err != nil {
			return nil, nil, err
		}
		if raw := now[key]; raw != nil {
			is, err := decode(raw, owner, 0)
			if err != nil {
				return nil, nil, err
			}
			if is.Life == rec.Life {
				continue
			}
		}
		del = append(del, rec.index()...)
		rec.over(errCancelled)
		if put[key], err = json.Marshal(rec); err != nil {
			return nil, nil, err
		}
	}
	return put, del, nil
}
