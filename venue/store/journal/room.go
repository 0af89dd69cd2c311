package journal

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"
)

// reserve is the free space in bytes below which nothing is written: what the index may still write
// through mapped pages, where a full disk ends the process.
const reserve = 64 << 20

// ErrFull says that the disk has too little free space to write to. Reading goes on, and so does
// writing once there is space.
var ErrFull = errors.New("the disk is full")

// ErrReadOnly says that the store was opened for reading.
var ErrReadOnly = errors.New("the store was opened for reading only")

// room refuses a write that the disk may have no room for.
func (j *Journal) room() error {
	free, err := freeSpace(j.dir)
	if err != nil || free >= reserve {
		return err
	}
	return fmt.Errorf("%w: %d MB are free where %s is, and %d are needed: free some, and writing goes on by itself", ErrFull, free>>20, j.dir, reserve>>20)
}

// writable says why nothing can be written now. Where the disk had no room when the folder was opened,
// and has now, it makes the folder writable.
func (j *Journal) writable() error {
	if j.o.ReadOnly {
		return ErrReadOnly
	}
	if err := j.room(); err != nil || !j.cramped.Load() {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.cramped.Load() {
		return nil
	}
	n, err := generations(j.dir)
	if err != nil {
		return err
	}
	j.number = n
	if j.log == nil {
		if j.log, err = openLog(j.logDir(), j.end); err != nil {
			return err
		}
	}
	j.index = nil // in memory
	if err := j.replace(ErrFull); err != nil {
		return err
	}
	j.cramped.Store(false)
	return nil
}

// spare are descriptors that are held back for when others have run out.
type spare []io.Closer

const spares = 24

func (s *spare) hold() {
	for len(*s) < spares {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return
		}
		*s = append(*s, f)
	}
}

func (s *spare) free() {
	for _, f := range *s {
		_ = f.Close() // of nothing that was written
	}
	*s = nil
}

// An index that lost something is made anew in memory first. What made Badger lose it, a disk or
// descriptors that run short, often goes on for a while, and Badger ends the process where it finds
// none as it opens.
const (
	calm       = 10 * time.Second // until the index goes back to disk
	maxResting = 64 << 20         // bytes of snapshot and records, above which it does not rest
)

// mayRest reports whether an index that is made anew has its rows in memory for now.
func (j *Journal) mayRest() bool {
	j.state.Lock()
	defer j.state.Unlock()
	return j.up && j.snapshotSize+j.now.written-j.taken <= maxResting
}

// rise makes the index anew on disk once it has rested, where there is room and there are descriptors.
// It stays in memory where that fails.
func (j *Journal) rise() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.resting || time.Since(j.tried) < calm {
		return nil
	}
	j.tried = time.Now()
	if j.spare.hold(); len(j.spare) < spares || j.room() != nil {
		return nil
	}
	j.spare.free()
	defer j.spare.hold()
	index, err := j.build(j.newIndex)
	if err != nil {
		return err
	}
	j.index, j.resting = index, false
	j.generation++
	j.o.Logger.Info("the index is on disk again", slog.Int("generation", j.number))
	return nil
}
