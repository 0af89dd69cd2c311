package journal

import (
	"errors"
	"io/fs"
)

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
