package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// place is where a command was typed: its working directory, its environment and
// its time zone. The zero value is the process's own. A command that another
// process hands over keeps the place where it was typed, so commands look at files,
// variables and local time through it alone.
type place struct {
	dir  string            // absolute; empty is the process's own
	vars map[string]string // the variables that count; nil is the process's own
	zone *time.Location    // nil is the process's own
	pid  int               // of the process; 0 is this one
}

func (p place) getenv(name string) string {
	if p.vars == nil {
		return os.Getenv(name)
	}
	return p.vars[name]
}

// local is a time as the clock on the wall shows it.
func (p place) local(t time.Time) time.Time {
	if p.zone == nil {
		return t.Local()
	}
	return t.In(p.zone)
}

func (p place) minute(t time.Time) string { return p.local(t).Format("2006-01-02 15:04") }

// at is where a file lies that is named here.
func (p place) at(name string) (string, error) {
	if p.dir == "" || name == "" {
		return name, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(p.dir, name)
	}
	return p.own(filepath.Clean(name))
}

// own is a file that each process has for itself, as the one that was meant has it.
func (p place) own(name string) (string, error) {
	numbers := map[string]string{"/dev/stdin": "0", "/dev/stdout": "1", "/dev/stderr": "2"}
	fd, own := numbers[name]
	for _, folder := range []string{"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"} {
		if n, in := strings.CutPrefix(name, folder); in {
			fd, own = n, true
		}
	}
	if !own {
		return name, nil
	}
	whole := fmt.Sprintf("/proc/%d/fd/%s", p.pid, fd)
	if _, err := os.Lstat(whole); err != nil {
		return "", errors.New("it is a file of one process alone, and the venue is kept by another: pipe it in, or write it to a file first")
	}
	return whole, nil
}

// file runs fn with where the file lies; errors name it as it was named here.
func file[T any](p place, op, name string, fn func(path string) (T, error)) (T, error) {
	path, err := p.at(name)
	if err != nil {
		var none T
		return none, &fs.PathError{Op: op, Path: name, Err: err}
	}
	out, err := fn(path)
	if wrong, ok := errors.AsType[*fs.PathError](err); ok && wrong.Path == path {
		wrong.Path = name
	}
	return out, err
}

func (p place) open(name string) (*os.File, error) { return file(p, "open", name, os.Open) }

func (p place) readFile(name string) ([]byte, error) { return file(p, "open", name, os.ReadFile) }

func (p place) stat(name string) (fs.FileInfo, error) { return file(p, "stat", name, os.Stat) }

// create makes a file that is not there yet.
func (p place) create(name string, mode fs.FileMode) (*os.File, error) {
	return file(p, "open", name, func(path string) (*os.File, error) {
		return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	})
}

// exists reports whether something of the name is there, or may be.
func (p place) exists(name string) bool {
	_, err := file(p, "lstat", name, os.Lstat)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}
