//go:build unix

package server

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// isMine reports whether a file is this user's.
func isMine(at fs.FileInfo) bool {
	is, ok := at.Sys().(*syscall.Stat_t)
	return ok && int(is.Uid) == os.Getuid()
}

// isRefused reports whether nobody listens at a socket.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
