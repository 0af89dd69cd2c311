package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// advise returns an error as it is told: where it ends in what the system says of a file or a
// folder, it goes on with what to do.
func (p place) advise(err error) error {
	var path string
	var why error
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		path, why = of.Path, of.Err
	} else if of, ok := errors.AsType[*os.LinkError](err); ok {
		path, why = of.New, of.Err
	}
	if why == nil || !strings.HasSuffix(err.Error(), why.Error()) {
		return err
	}
	_, misused := errors.AsType[misuse](err)
	if todo := p.advice(path, why, misused); todo != "" {
		return fmt.Errorf("%w: %s", err, todo)
	}
	return err
}

// advice is what to do about a path that cannot be read, made or written; empty where
// nobody knows. A name that was typed may have a slip in it.
func (p place) advice(path string, why error, typed bool) string {
	above := filepath.Dir(path)
	switch {
	case errors.Is(why, fs.ErrPermission):
		return "you may not use it: have its owner let you, name another, or run the command as somebody who may"
	case errors.Is(why, syscall.ENOTDIR):
		for ; path != filepath.Dir(path); path = filepath.Dir(path) {
			if at, err := p.stat(path); err == nil && !at.IsDir() {
				return path + " is a file: name a folder in its place"
			}
		}
		return "name a folder"
	case errors.Is(why, syscall.EISDIR):
		return "it is a folder: name a file"
	case errors.Is(why, syscall.EROFS):
		return "the disk takes no writes: name a place on another one"
	case errors.Is(why, syscall.ENOSPC):
		return "the disk is full: make room on it, or name a place on another one"
	case errors.Is(why, fs.ErrNotExist) && !p.exists(above):
		return "there is no folder " + above + ": make it, or name another"
	case errors.Is(why, fs.ErrNotExist) && typed:
		return "look how it is spelt, and in which folder you are"
	}
	return ""
}
