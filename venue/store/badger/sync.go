package badger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Sync returns when everything that was applied before the call is on disk, safe from a loss of
// power. Concurrent callers share one fsync: while one runs, those that arrive wait for the next
// and have it together.
func (e *engine) Sync(ctx context.Context) error {
	if err := e.sync.do(ctx, e.flush); err != nil {
		return fmt.Errorf("sync store: %w", err)
	}
	return nil
}

// flush brings Badger's logs to disk. Badger's own Sync covers the memtable and the value log
// that are written now, but not those that were full and set aside a moment ago, which hold
// acknowledged writes too; these files are synced here. Tables need nothing: Badger syncs them
// before it deletes the log that they were made from.
func (e *engine) flush() error {
	if err := e.db.Sync(); err != nil {
		return err
	}
	names, err := readNames(e.dir)
	if err != nil {
		return err
	}
	for _, ext := range []string{".mem", ".vlog"} {
		files, settled := setAside(names, ext, e.sync.settled[ext])
		for _, name := range files {
			if err := fsync(filepath.Join(e.dir, name)); err != nil {
				return err
			}
		}
		e.sync.settled[ext] = settled
	}
	return nil
}

// setAside picks the log files of one kind that are no longer written and were not synced since:
// those above settled, without the newest. It returns them and the name up to which all is on
// disk once they are synced. Badger numbers the files upwards.
func setAside(names []string, ext, settled string) (files []string, upTo string) {
	for _, name := range names {
		if strings.HasSuffix(name, ext) && older(settled, name) < 0 {
			files = append(files, name)
		}
	}
	if len(files) < 2 {
		return nil, settled
	}
	slices.SortFunc(files, older)
	files = files[:len(files)-1]
	return files, files[len(files)-1]
}

// older compares names that are zero-padded numbers and may outgrow their padding.
func older(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func readNames(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

func fsync(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // became a table, and that is synced
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncFolder makes the names of a folder's files survive too.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if runtime.GOOS == "windows" {
		err = nil // folders cannot be synced there
	}
	return errors.Join(err, d.Close())
}

// syncer makes rounds of callers: who comes before a round starts belongs to it. The first that
// gets the turn leads the round and syncs for all of it.
type syncer struct {
	turn    chan struct{} // holds one token while a round runs
	settled map[string]string

	mu   sync.Mutex
	next *round // the round that is gathering; nil when nobody waits
}

type round struct {
	done chan struct{} // closed when err is final
	err  error
}

func newSyncer() syncer {
	return syncer{turn: make(chan struct{}, 1), settled: map[string]string{}}
}

func (y *syncer) do(ctx context.Context, flush func() error) error {
	y.mu.Lock()
	if y.next == nil {
		y.next = &round{done: make(chan struct{})}
	}
	mine := y.next
	y.mu.Unlock()

	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return ctx.Err()
	case y.turn <- struct{}{}:
	}
	defer func() { <-y.turn }()
	y.mu.Lock()
	lead := y.next == mine
	if lead {
		y.next = nil
	}
	y.mu.Unlock()
	if lead {
		mine.err = flush()
		close(mine.done)
	}
	return mine.err
}
