package journal

import (
	"context"
	"errors"
	"io/fs"
)

// readAll reads the whole journal of a folder that another process may write meanwhile, and checks
// it. It returns the parts of the folder, where the journal ends, and how many records it has.
func readAll(ctx context.Context, dir string) (p parts, end tail, records uint64, err error) {
	err = again(func() (err error) {
		records = 0
		if p, err = look(dir); err != nil {
			return err
		}
		end, err = walk(p.segments, func(*record) error { records++; return ctx.Err() })
		if err != nil {
			return err
		}
		return (&Journal{dir: dir}).reaches(p, end)
	})
	return p, end, records, err
}

// again reads a folder that another process may write meanwhile: its segments move to the archive,
// and what it has just appended may be seen in part. What looks like damage is damage where it is
// found twice at one place.
func again(read func() error) (err error) {
	var last DamageError
	for range maxAgain {
		err = read()
		damage, damaged := errors.AsType[*DamageError](err)
		switch {
		case damaged && (damage.File != last.File || damage.Offset != last.Offset):
			last = *damage
		case damaged || !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return err
}

// maxAgain bounds how often a folder is read again.
const maxAgain = 8
