//go:build linux || darwin

package cli

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// stand has the process stand where it is while another one uses its terminal: it is
// not stopped by Ctrl-Z, after which two would read the same keys. Where it runs in
// the background, it gives no terminal to read.
func (s *streams) stand(streams []*os.File) (shut func(), err error) {
	signal.Ignore(unix.SIGTSTP)
	tty := terminal(streams[0])
	if tty == nil {
		return func() {}, nil
	}
	front, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	if err == nil && front != unix.Getpgrp() { // of a terminal of this process
		none, err := os.Open(os.DevNull)
		if err != nil {
			return nil, err
		}
		streams[0] = none
		return func() { none.Close() }, nil
	}
	return func() {}, nil
}

// leaveTerminal gives up the terminal that the process was started on, so that it can
// use that of a command like any other. Ctrl-C and the end of the terminal reach it as
// before, by its group.
func leaveTerminal() {
	signal.Ignore(unix.SIGTTIN, unix.SIGTTOU)
	session, err := unix.Getsid(0)
	if err != nil || session == unix.Getpid() { // its end would be the terminal's
		return
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return // there is none
	}
	defer tty.Close()
	_ = unix.IoctlSetInt(int(tty.Fd()), unix.TIOCNOTTY, 0) // else the signals are ignored
}
