package config

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settleTime is how long a file has to rest: an editor writes one in several steps,
// and moves another into its place.
const settleTime = 100 * time.Millisecond

// Watch calls look at once, and whenever files of the configuration at path may have
// changed and rest again, until ctx ends. look returns the files that it has read,
// as [Reading.Files] has them.
func Watch(ctx context.Context, path string, look func() (files []string)) error {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch the configuration: %w", err)
	}
	w := &watch{events: events, path: path}
	defer func() { _ = events.Close() }() // only read
	if _, err := w.follow(path); err != nil {
		return err
	}
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rest.C:
			w.files = look()
			more, err := w.follow(append(w.files[:len(w.files):len(w.files)], path)...)
			if err != nil {
				return err
			}
			if more { // their files may have changed since they were read
				rest.Reset(0)
			}
		case e, open := <-events.Events:
			if open && w.concerns(e) {
				rest.Reset(settleTime)
			}
		case err := <-events.Errors: // such as events that were lost
			if err != nil {
				rest.Reset(settleTime)
			}
		}
	}
}

// watch is the folders that are watched: not the files, which editors replace.
type watch struct {
	events *fsnotify.Watcher
	path   string
	files  []string
}

// follow watches the folders of files, and reports whether it did not before. Where a
// folder is not there, or cannot be watched, it watches the one around it, in which it
// will come.
func (w *watch) follow(files ...string) (more bool, err error) {
	before := len(w.events.WatchList())
	for _, file := range files {
		dir := filepath.Dir(file)
		if at, err := os.Stat(file); err == nil && at.IsDir() {
			dir = file
		}
		err := w.events.Add(dir)
		for err != nil && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
			err = w.events.Add(dir)
		}
		if err != nil {
			return false, fmt.Errorf("watch the configuration: %w", err)
		}
	}
	return len(w.events.WatchList()) > before, nil
}

// concerns reports whether an event may have changed what the configuration says.
// Links to whole folders, which are changed in place of the files in them, have
// names that begin with two dots.
func (w *watch) concerns(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	name := filepath.Base(e.Name)
	ext := filepath.Ext(name)
	if ext == ".yaml" || ext == ".yml" || strings.HasPrefix(name, "..") || name == filepath.Base(w.path) {
		return true
	}
	return slices.ContainsFunc(w.files, func(file string) bool {
		return filepath.Base(file) == name || strings.HasPrefix(file, e.Name+string(filepath.Separator))
	})
}
