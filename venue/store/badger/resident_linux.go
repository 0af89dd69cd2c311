package badger

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// letGo gives the pages of the folder's mapped files back to the system, once this process has touched
// so many bytes of such pages. They come back from the disk when they are read again. The advice loses
// nothing whatever it meets: a table that was closed since may be memory of the program by now.
func letGo(dir string, beyond int) error {
	if residentBytes() <= beyond {
		return nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil // there is no such file in some jails
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if !strings.Contains(lines.Text(), dir+"/") {
			continue
		}
		var from, to uintptr
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x", &from, &to); err != nil {
			return err
		}
		_, _, errno := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_PAGEOUT)
		switch {
		case errno == unix.EINVAL: // a system before 5.4, which does it by itself
			return nil
		case errno != 0 && !errors.Is(errno, unix.ENOMEM): // it is mapped no more
			return errno
		}
	}
	return nil
}

// residentBytes is how many bytes of mapped files are in the process's memory; 0 where that cannot be known.
func residentBytes() int {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident, shared int
	if _, err := fmt.Sscan(string(raw), &size, &resident, &shared); err != nil {
		return 0
	}
	return shared * os.Getpagesize()
}
