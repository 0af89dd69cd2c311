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
	var is *unix.Xucred
	var asked, askedPID error
	err = raw.Control(func(fd uintptr) {
		is, asked = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		pid, askedPID = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	})
	if err = errors.Join(err, asked, askedPID); err != nil {
		return 0, 0, err
	}
	return is.Uid, pid, nil
}
