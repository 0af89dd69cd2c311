package socket

import "golang.org/x/sys/unix"

func credentials(fd int) (user uint32, pid int, err error) {
	is, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	pid, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	return is.Uid, pid, err
}
