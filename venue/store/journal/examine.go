package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"usher/venue/store"
	"usher/venue/store/badger"
)

// Part says what was found of a part of a folder.
type Part struct {
	Name   string
	Looked string // how much was looked at
	Fault  error  // nil: it is sound
	Advice string // what to do about the fault
}

// Examine reads a folder through without writing to it, also while another process has it open: all
// of its journal, each snapshot, and the index where nobody has it open.
func Examine(ctx context.Context, dir string) (found []Part) {
	if _, err := checkFolder(dir, true); err != nil {
		return []Part{{"folder", dir, err, ""}} // it says what to do
	}
	p, end, records, err := readAll(ctx, dir)
	part := Part{Name: "journal", Looked: fmt.Sprintf("%d records up to record %d, segments: %d", records, end.position, len(p.segments)), Fault: err}
	if err != nil {
		part.Advice = "restore the folder from a backup, or save what is sound with usher doctor --salvage OUT"
	}
	if errors.Is(err, errNote) {
		part.Advice = errNote.Error()
	}
	found = append(found, part)
	for _, s := range p.snapshots {
		var rows uint64
		err := s.each(func(store.Row) bool { rows++; return ctx.Err() == nil })
		if errors.Is(err, os.ErrNotExist) {
			continue // it was too old, and was removed
		}
		part := Part{Name: "snapshot of record " + strconv.FormatUint(s.position, 10), Looked: fmt.Sprintf("%d rows", rows), Fault: errors.Join(err, ctx.Err())}
		if err != nil {
			part.Advice = "usher doctor --repair removes it and takes a new one"
		}
		found = append(found, part)
	}
	if err == nil {
		found = append(found, examineIndex(ctx, dir, end))
	}
	return found
}

// examineIndex compares the index with what the journal says that it must hold.
func examineIndex(ctx context.Context, dir string, end tail) Part {
	const repair = "usher doctor --repair makes it anew from the journal"
	part := Part{Name: "index"}
	n, err := newestIndex(dir)
	switch {
	case err != nil:
		part.Fault, part.Advice = err, repair
		return part
	case n == 0:
		part.Looked = "there is none: it is made from the journal when the folder is opened"
		return part
	}
	var sum Sum
	index, err := badger.OpenRest(filepath.Join(dir, indexDir, strconv.Itoa(n)), &badger.Options{})
	if err == nil {
		sum, err = sumOf(under(ctx, index))
		_ = index.Close() // only read
	}
	switch {
	case errors.Is(err, badger.ErrNotClosed):
		part.Looked = "not read: a process has it open, or was killed; whoever opens the folder brings it up to the journal"
	case err != nil:
		part.Fault, part.Advice = err, repair
	default:
		part.Looked = fmt.Sprintf("%d rows", sum.Rows)
		if sum != end.sum {
			part.Fault, part.Advice = fmt.Errorf("%w: %d rows in place of %d", errDiffers, sum.Rows, end.sum.Rows), repair
		}
	}
	return part
}

// Repair opens a folder, has what is doubtful in its index made anew, and replaces snapshots that are
// damaged. What it did it tells to Told of the options.
func Repair(ctx context.Context, dir string, o *Options) (*Journal, error) {
	j, err := Open(dir, o)
	if err != nil {
		return nil, err
	}
	if err := j.repair(ctx); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

func (j *Journal) repair(ctx context.Context) error {
	if _, err := j.scrub(ctx, func(ctx context.Context) error { return ctx.Err() }); err != nil && !errors.Is(err, errDiffers) {
		return err
	}
	kept, err := snapshots(j.dir)
	if err != nil {
		return err
	}
	var bad []snapshot
	for _, s := range kept {
		if err := s.verify(ctx); err != nil && ctx.Err() == nil {
			bad = append(bad, s)
		}
	}
	if len(bad) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	at, err := j.TakeSnapshot(ctx)
	if err != nil {
		return err
	}
	for _, s := range bad {
		if s.position != at { // otherwise it was replaced
			if err := os.Remove(s.path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		j.tell("the snapshot of record %d was damaged: it was removed, and one of record %d was taken", s.position, at)
	}
	return nil
}

// Space is what is free for this user where a folder is, and what writing needs, in bytes.
func Space(dir string) (free, needed uint64, err error) {
	free, err = freeSpace(dir)
	return free, reserve, err
}

// readAll reads the whole journal of a folder that another process may write meanwhile, and checks
// it. It returns the parts of the folder, where the journal ends, and how many records it has.
func readAll(ctx context.Context, dir string) (p parts, end tail, records uint64, err error) {
	err = again(func() (err error) {
		records = 0
		if p, err = look(dir); err != nil {
			return err
		}
		end, err = walk(p.segments, func(*record) error { records++; return ctx.Err() })
		if err != nil {
			return err
		}
		return (&Journal{dir: dir}).reaches(p, end)
	})
	return p, end, records, err
}

// again reads a folder that another process may write meanwhile: its segments move to the archive,
// and what it has just appended may be seen in part. What looks like damage is damage where it is
// found twice at one place.
func again(read func() error) (err error) {
	var last DamageError
	for range maxAgain {
		err = read()
		damage, damaged := errors.AsType[*DamageError](err)
		switch {
		case damaged && (damage.File != last.File || damage.Offset != last.Offset):
			last = *damage
		case damaged || !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return err
}

// maxAgain bounds how often a folder is read again.
const maxAgain = 8
