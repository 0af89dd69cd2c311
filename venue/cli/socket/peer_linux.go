package socket

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peer is the user and the process at the other end, as the kernel knows them.
func peer(c *net.UnixConn) (user uint32, pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var is *unix.Ucred
	var asked error
	err = raw.Control(func(fd uintptr) { is, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, asked); err != nil {
		return 0, 0, err
	}
	return is.Uid, int(is.Pid), nil
}
