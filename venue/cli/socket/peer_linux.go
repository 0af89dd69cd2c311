package socket

import "golang.org/x/sys/unix"

func credentials(fd int) (user uint32, pid int, err error) {
	is, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return is.Uid, int(is.Pid), nil
}
