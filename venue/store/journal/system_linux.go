package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncData has what was written to a file survive a loss of power.
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// allocate makes a file as long as size, with room on the disk where that can be had beforehand.
func allocate(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINTR) {
		return f.Truncate(size)
	}
	return err
}
