//go:build !linux && !darwin

package socket

import (
	"net"
	"os"
)

// rightsSize of 0 says that no files can be sent here, and the rest is never asked.
const rightsSize = 0

func private(string) error { return ErrUnsupported }

func peer(*net.UnixConn) (user uint32, pid int, err error) { return 0, 0, ErrUnsupported }

func rights([]*os.File) []byte { return nil }

func filesOf([]byte) ([]*os.File, error) { return nil, ErrUnsupported }
