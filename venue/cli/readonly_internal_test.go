package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"usher/venue/store/journal"
)

// A command that reads says how to read what cannot be written.
func TestReadable(t *testing.T) {
	for _, tt := range []struct {
		name string
		flag readOnly
		err  error
		want bool
	}{
		{"a full disk", readOnly{reads: true}, journal.ErrFull, true},
		{"a journal that stopped", readOnly{reads: true}, journal.ErrStopped, true},
		{"a read-only disk", readOnly{reads: true}, &fs.PathError{Op: "open", Path: "LOCK", Err: syscall.EROFS}, true},
		{"another user's folder", readOnly{reads: true}, &fs.PathError{Op: "open", Path: "LOCK", Err: syscall.EACCES}, true},
		{"another process", readOnly{reads: true}, &journal.LockError{By: "process 1"}, true},
		{"a command that writes", readOnly{}, journal.ErrFull, false},
		{"with the flag", readOnly{reads: true, ReadOnly: true}, fs.ErrPermission, false},
		{"another error", readOnly{reads: true}, errors.New("other"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.flag.readable(fmt.Errorf("open: %w", tt.err))
			if said := strings.Contains(got.Error(), "--read-only"); said != tt.want || !errors.Is(got, tt.err) {
				t.Errorf("readable = %v", got)
			}
		})
	}
	if (&readOnly{reads: true}).readable(nil) != nil {
		t.Error("an error was made of none")
	}
}
