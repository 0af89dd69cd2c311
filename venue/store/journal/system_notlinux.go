//go:build !linux

package journal

import "os"

// syncData has what was written to a file survive a loss of power.
func syncData(f *os.File) error { return f.Sync() }

// allocate makes a file as long as size.
func allocate(f *os.File, size int64) error { return f.Truncate(size) }
