//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// quiet keeps what is typed on the terminal out of what is drawn, until restore.
// It waits for the next prompt instead, key by key; Ctrl-C is still a signal, and
// takes none of it away. A terminal that cannot be quiet stays as it is.
func quiet(tty *os.File) (restore func()) {
	fd := int(tty.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return func() {}
	}
	hushed := *before
	hushed.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON
	hushed.Lflag |= unix.ISIG | unix.NOFLSH
	hushed.Iflag &^= unix.ICRNL // Enter comes as the editor knows it
	if unix.IoctlSetTermios(fd, setTermios, &hushed) != nil {
		return func() {}
	}
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, before) } // nobody is left to be told
}
