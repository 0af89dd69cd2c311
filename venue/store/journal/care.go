package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"usher/venue/store/folder"
)

// When the journal is looked after.
const (
	careEvery  = 10 * time.Second
	scrubAfter = time.Minute // of opening
	scrubEvery = time.Hour
	scrubShare = 30 // a scrub takes one part in so many of the time

	week = 7 * 24 * time.Hour

	// A snapshot is due when the records since the last are as large as that was, and at least this.
	snapshotAfter = 64 << 20
)

// care keeps the index right, makes snapshots, and moves segments to the archive, until ctx ends.
func (j *Journal) care(ctx context.Context) {
	defer close(j.done)
	tick := time.NewTicker(careEvery)
	defer tick.Stop()
	scrubAt := time.Now().Add(scrubAfter)
	for {
		select {
		case <-ctx.Done():
			return
		case <-j.wake:
		case <-tick.C:
		}
		err := j.settle()
		if err == nil {
			err = j.rise()
		}
		if err == nil && !j.o.ReadOnly && j.isSnapshotDue() {
			_, err = j.TakeSnapshot(ctx)
		}
		if err == nil && time.Now().After(scrubAt) {
			scrubAt = time.Now().Add(scrubEvery)
			_, err = j.scrub(ctx, slowly())
		}
		if err != nil && ctx.Err() == nil {
			j.o.Logger.Warn("the store could not be looked after", slog.Any("error", err))
		}
	}
}

// slowly returns a pause that leaves most of the time to others.
func slowly() func(context.Context) error {
	last := time.Now()
	return func(ctx context.Context) error {
		wait := time.NewTimer(max(time.Since(last)*scrubShare, time.Millisecond))
		defer wait.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wait.C:
			last = time.Now()
			return nil
		}
	}
}

func (j *Journal) isSnapshotDue() bool {
	j.state.Lock()
	defer j.state.Unlock()
	return j.now.written-j.taken >= max(snapshotAfter, j.snapshotSize)
}

// TakeSnapshot writes all rows of this moment to a file, reads them back, and moves the segments that
// it covers to the archive. It returns the position of the snapshot.
func (j *Journal) TakeSnapshot(ctx context.Context) (position uint64, err error) {
	j.caring.Lock()
	defer j.caring.Unlock()
	if err := j.writable(); err != nil {
		return 0, err
	}
	v, at := j.view()
	s := snapshot{filepath.Join(j.dir, snapshotsDir, fmt.Sprintf("%016x%s", at.position, snapshotExt)), at.position}
	size, err := s.write(at, under(ctx, v))
	v.End()
	if err != nil {
		return 0, fmt.Errorf("write snapshot: %w", err)
	}
	if err := s.verify(ctx); err != nil {
		if ctx.Err() == nil {
			j.doubtful(fmt.Errorf("a snapshot of it is not what it should be: %w", err))
		}
		return 0, errors.Join(fmt.Errorf("write snapshot: %w", err), os.Remove(s.path))
	}
	j.state.Lock()
	j.taken, j.snapshotSize = at.written, size
	j.state.Unlock()
	return at.position, j.archive()
}

// verify reads a snapshot through.
func (s snapshot) verify(ctx context.Context) error {
	for _, err := range s.rows() {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// archive compresses the segments that the newest snapshot covers, and removes what nobody can want
// back any more.
func (j *Journal) archive() error {
	kept, err := snapshots(j.dir)
	if err != nil || len(kept) == 0 {
		return err
	}
	all, err := segments(j.dir)
	if err != nil {
		return err
	}
	for i, s := range all[:max(0, len(all)-2)] { // the log may have the last two open
		if all[i+1].first > kept[len(kept)-1].position+1 || strings.HasSuffix(s.path, packedExt) {
			continue
		}
		if err := s.pack(filepath.Join(j.dir, archiveDir)); err != nil {
			return err
		}
	}
	return j.prune(kept, all)
}

// pack moves a segment to the archive.
func (s segment) pack(archive string) error {
	if err := os.MkdirAll(archive, 0o700); err != nil {
		return err
	}
	raw, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer raw.Close()
	err = replaceFile(filepath.Join(archive, segmentName(s)+packedExt), func(f *os.File) error {
		z, err := packer(f)
		if err != nil {
			return err
		}
		_, err = io.Copy(z, raw)
		return errors.Join(err, z.Close())
	})
	if err != nil {
		return err
	}
	return os.Remove(s.path)
}

// prune removes snapshots and segments that no moment within Keep needs. Two snapshots stay, as one
// may turn out damaged.
func (j *Journal) prune(kept []snapshot, all []segment) error {
	now, sure := j.o.Sure()
	if !sure {
		return nil
	}
	oldest, from := now.Add(-j.o.Keep), 0
	for i := 1; i < len(kept)-1; i++ {
		var taken time.Time
		err := kept[i].open(func(_ *bufio.Reader, head record) error {
			taken = head.time
			return nil
		})
		if err != nil { // it serves nobody, and holds up nothing
			j.o.Logger.Warn("a snapshot cannot be read", slog.String("file", kept[i].path), slog.Any("error", err))
			continue
		}
		if !taken.After(oldest) {
			from = i
		}
	}
	for _, s := range kept[:from] {
		if err := os.Remove(s.path); err != nil {
			return err
		}
	}
	for i, s := range all {
		if !strings.HasSuffix(s.path, packedExt) || from == 0 || all[i+1].first > kept[from].position+1 {
			break
		}
		if err := os.Remove(s.path); err != nil {
			return err
		}
	}
	return nil
}

// newFile begins the name of a file until it is written whole.
const newFile = ".new-"

// replaceFile writes a file that appears whole, and survives a loss of power, or not at all.
func replaceFile(path string, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), newFile+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return folder.Sync(filepath.Dir(path))
}
