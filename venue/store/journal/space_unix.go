//go:build unix

package journal

import "golang.org/x/sys/unix"

// freeSpace is what is free for this user where a folder is, in bytes.
func freeSpace(dir string) (uint64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return uint64(fs.Bavail) * uint64(fs.Bsize), nil //nolint:unconvert // the types differ among systems
}
