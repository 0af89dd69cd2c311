// Package folder does with folders on disk what the operating systems do differently, or not at once:
// [Sync] has what was made in one survive, [IsEmpty] says whether there is anything.
package folder

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
)

// Sync makes the names of a folder's files survive a loss of power.
func Sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if runtime.GOOS == "windows" {
		err = nil // folders cannot be synced there
	}
	return errors.Join(err, d.Close())
}

// IsEmpty reports whether a folder is missing, or has nothing in it.
func IsEmpty(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return len(entries) == 0 && err == nil, err
}
