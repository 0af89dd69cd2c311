package journal

import (
	"log/slog"
	"time"
)

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
	return j.up && j.snapshotSize+j.since <= maxResting
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
