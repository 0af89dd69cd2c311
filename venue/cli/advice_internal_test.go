package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What the system says of a file or a folder is no advice.
func TestAdvice(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(path string, why error) error {
		return fmt.Errorf("open store: %w", &fs.PathError{Op: "open", Path: path, Err: why})
	}
	for _, tc := range []struct {
		name string
		err  error
		want string // behind the text of the error
	}{
		{"another's", at(file, syscall.EACCES), ": you may not use it: have its owner let you, name another, or run the command as somebody who may"},
		{"below a file", at(filepath.Join(file, "a", "b"), syscall.ENOTDIR), ": " + file + " is a file: name a folder in its place"},
		{"a folder", at(dir, syscall.EISDIR), ": it is a folder: name a file"},
		{"a disk for reading", at(file, syscall.EROFS), ": the disk takes no writes: name a place on another one"},
		{"a full disk", at(file, syscall.ENOSPC), ": the disk is full: make room on it, or name a place on another one"},
		{"in no folder", at(filepath.Join(dir, "none", "a"), syscall.ENOENT), ": there is no folder " + filepath.Join(dir, "none") + ": make it, or name another"},
		{"no such name", misuse{at(filepath.Join(dir, "a"), syscall.ENOENT)}, ": look how it is spelt, and in which folder you are"},
		{"a file of ours that is gone", at(filepath.Join(dir, "a"), syscall.ENOENT), ""},
		{"a link", &os.LinkError{Op: "link", Old: file, New: filepath.Join(dir, "none", "a"), Err: syscall.ENOENT}, ": there is no folder " + filepath.Join(dir, "none") + ": make it, or name another"},
		{"what says already what to do", fmt.Errorf("%w: name another", at(file, syscall.EACCES)), ""},
		{"nothing of the system's", errors.New("permission denied"), ""},
	} {
		if got, found := strings.CutPrefix(place{}.advise(tc.err).Error(), tc.err.Error()); !found || got != tc.want {
			t.Errorf("%s: advised(%v) goes on with %q, want %q", tc.name, tc.err, got, tc.want)
		}
	}
}
