//go:build linux || darwin

package socket

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// private is nil where a folder is this user's, and nobody else gets into it.
func private(dir string) error {
	at, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !at.IsDir() || at.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a folder that is this user's alone", dir)
	}
	var owned unix.Stat_t
	if err := unix.Lstat(dir, &owned); err != nil {
		return err
	}
	if owned.Uid != uint32(os.Getuid()) {
		return &strangerError{owned.Uid, uint32(os.Getuid())}
	}
	return nil
}

// peer is the user and the process at the other end, as the kernel knows them.
func peer(c *net.UnixConn) (user uint32, pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var asked error
	err = raw.Control(func(fd uintptr) { user, pid, asked = credentials(int(fd)) })
	return user, pid, errors.Join(err, asked)
}

// rightsSize is the size of the control message that carries the files of one message.
var rightsSize = unix.CmsgSpace(maxFiles * 4)

// rights is the control message that carries files.
func rights(files []*os.File) []byte {
	if len(files) == 0 {
		return nil
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	return unix.UnixRights(fds...)
}

// filesOf are the files that a control message carries.
func filesOf(raw []byte) (files []*os.File, err error) {
	list, err := unix.ParseSocketControlMessage(raw)
	for i := range list {
		fds, wrong := unix.ParseUnixRights(&list[i])
		err = errors.Join(err, wrong)
		for _, fd := range fds {
			name := fmt.Sprintf("file %d", len(files))
			if streams := []string{"/dev/stdin", "/dev/stdout", "/dev/stderr"}; len(files) < len(streams) {
				name = streams[len(files)] // as a process names its own
			}
			files = append(files, os.NewFile(uintptr(fd), name))
		}
	}
	return files, err
}
