//go:build !unix

package server

import "io/fs"

// isMine reports whether a file is this user's, which cannot be told here.
func isMine(fs.FileInfo) bool { return false }

// isRefused reports whether nobody listens at a socket, which cannot be told here.
func isRefused(error) bool { return false }
