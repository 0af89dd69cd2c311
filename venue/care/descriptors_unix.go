//go:build unix

package care

import "golang.org/x/sys/unix"

// descriptors is how many files a process may have open at once.
func descriptors() (limit uint64, known bool, err error) {
	var r unix.Rlimit
	err = unix.Getrlimit(unix.RLIMIT_NOFILE, &r)
	return uint64(r.Cur), true, err //nolint:unconvert // on FreeBSD it is an int64
}
