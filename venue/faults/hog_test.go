//go:build linux

package faults

import (
	"os"
	"syscall"
	"time"
)

// hog takes all descriptors that a process may have, and gives them back.
type hog struct {
	Limit uint64        // descriptors of the process
	Hold  time.Duration // of all of them
	Free  time.Duration // between two holds
	Once  bool          // one hold alone
}

// bound lowers the hard limit too, above which the process could raise its own again.
func (h *hog) bound() error {
	if h == nil {
		return nil
	}
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: h.Limit, Max: h.Limit})
}

// start begins to take descriptors, until stop is called, which waits for it.
func (h *hog) start() (stop func()) {
	if h == nil {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if isDone(end, h.Free) {
				return
			}
			taken := takeAll()
			done := isDone(end, h.Hold)
			for _, f := range taken {
				_ = f.Close()
			}
			if done || h.Once {
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

func takeAll() (taken []*os.File) {
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return taken
		}
		taken = append(taken, f)
	}
}

// isDone waits, and reports whether the end came meanwhile.
func isDone(end chan struct{}, d time.Duration) bool {
	select {
	case <-end:
		return true
	case <-time.After(d):
		return false
	}
}
