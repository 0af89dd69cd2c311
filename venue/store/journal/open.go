package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"usher/venue/store"
	"usher/venue/store/badger"
)

// The folders within a data folder.
const (
	journalDir   = "journal"
	archiveDir   = "archive"
	snapshotsDir = "snapshots"
	indexDir     = "index"
)

// Open opens the journal in the folder dir, which is made when it is missing. What the index lacks is
// brought up; what is doubtful in it is checked, and made anew where rows are missing. A folder that
// another process has open is an error that names it; so is one of another format, one that has
// lost its journal, and, with file and offset ([DamageError]), damage of the journal itself. None of
// these changes the folder.
func Open(dir string, o *Options) (*Journal, error) {
	j := &Journal{dir: dir, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if o != nil {
		j.o = *o
	}
	if j.o.Logger == nil {
		j.o.Logger = slog.New(slog.DiscardHandler)
	}
	if j.o.Now == nil {
		j.o.Now = time.Now
	}
	if j.o.Told == nil {
		j.o.Told = func(Event) {}
	}
	if j.o.Sure == nil {
		j.o.Sure = func() (now time.Time, sure bool) { return }
	}
	j.o.Keep = cmp.Or(j.o.Keep, week)
	if err := j.open(); err != nil {
		return nil, fmt.Errorf("open store %q: %w", dir, err)
	}
	if !j.o.ReadOnly {
		j.spare.hold()
	}
	j.queue.Take, j.queue.Do = j.writer.take, engine{j}.write
	j.Store = store.New(engine{j})
	ctx, stop := context.WithCancel(context.Background())
	j.stop, j.up = stop, true
	go j.care(ctx)
	return j, nil
}

func (j *Journal) open() (err error) {
	fresh, err := checkFolder(j.dir, j.o.ReadOnly)
	if err != nil {
		return err
	}
	if !j.o.ReadOnly {
		if j.lock, err = takeLock(j.dir); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, j.log.close(), j.closeIndex(), j.release())
			}
		}()
	}
	if fresh {
		return j.create()
	}
	if !j.o.ReadOnly {
		j.sweep()
	}
	j.cramped.Store(!j.o.ReadOnly && j.room() != nil)
	if j.o.ReadOnly || j.cramped.Load() {
		return again(j.openAside)
	}
	return j.openOnDisk()
}

// sweep removes files that a process has not written whole. One that cannot be removed only takes room.
func (j *Journal) sweep() {
	for _, in := range []string{"", journalDir, snapshotsDir, archiveDir} {
		left, _ := os.ReadDir(filepath.Join(j.dir, in)) // none where it is missing
		for _, e := range left {
			if !strings.HasPrefix(e.Name(), newFile) {
				continue
			}
			if err := os.Remove(filepath.Join(j.dir, in, e.Name())); err != nil {
				j.o.Logger.Warn("a file that was not written whole could not be removed", slog.Any("error", err))
			}
		}
	}
}

// create makes the parts of a folder that is new.
func (j *Journal) create() (err error) {
	if err := j.room(); err != nil {
		return err
	}
	err = replaceFile(filepath.Join(j.dir, formatFile), func(f *os.File) error {
		_, err := fmt.Fprintf(f, formatText, folderFormat)
		return err
	})
	if err != nil {
		return err
	}
	if j.log, err = createLog(j.logDir()); err != nil {
		return err
	}
	if err := note(j.dir, 0, j.log.head.salt); err != nil {
		return err
	}
	j.number = 1
	j.index, err = j.openIndex()
	return err
}

// parts are what a folder has on disk.
type parts struct {
	segments  []segment
	snapshots []snapshot
	ends      ends
}

// look lists the parts of a folder, and refuses one that lacks some.
func look(dir string) (p parts, err error) {
	if p.segments, err = segments(dir); err != nil {
		return p, err
	}
	if p.snapshots, err = snapshots(dir); err != nil {
		return p, err
	}
	if p.ends, err = readEnds(dir); err != nil {
		return p, err
	}
	return p, complete(dir, p.segments, p.snapshots, p.ends)
}

// openOnDisk brings the index up to the journal.
func (j *Journal) openOnDisk() (err error) {
	p, err := look(j.dir)
	if err != nil {
		return err
	}
	var doubt error
	if j.number, err = generations(j.dir); err != nil {
		return err
	}
	if j.number == 0 {
		j.number, doubt = 1, errors.New("the index is missing")
	} else if j.index, doubt = j.openIndex(); doubt != nil {
		j.index = nil
	}
	end, behind, err := j.catchUp(p.segments)
	if err != nil {
		return err
	}
	if err := j.reaches(p, end); err != nil {
		return err
	}
	j.now = end.moment
	if j.log, err = openLog(j.logDir(), end); err != nil {
		return err
	}
	if j.now.written, j.snapshotSize, err = p.growth(); err != nil {
		return err
	}
	switch {
	case doubt != nil:
	case behind:
		doubt = errors.New("the index is older than the journal reaches back")
	case j.index.IsSuspect():
		doubt = errors.New("the index was not closed in order")
	}
	j.tellGap()
	if doubt == nil {
		return nil
	}
	j.doubt.Store(&doubt)
	return j.settle()
}

// growth is how many bytes of segments follow the newest snapshot, and about how many that has.
func (p parts) growth() (since, size int64, err error) {
	newest := snapshot{}
	if n := len(p.snapshots); n > 0 {
		newest = p.snapshots[n-1]
		info, err := os.Stat(newest.path)
		if err != nil {
			return 0, 0, err
		}
		size = info.Size() * 4 // it is compressed
	}
	for _, next := range p.segments[1:] {
		if next.first > newest.position+1 {
			since += segmentSize // of the one before
		}
	}
	return since, size, nil
}

// tellGap says that a moment before a snapshot can be restored no more, as a segment is missing.
func (j *Journal) tellGap() {
	all, err := listSegments(j.dir)
	if gap := lastGap(all); err == nil && gap > 0 {
		j.tell("the segment %s is missing: nothing of today is lost, and moments before record %d cannot be restored", gapBefore(j.dir, all[gap]), all[gap].first)
	}
}

// catchUp walks through the journal from what is certain to be in the index on, and writes it there.
// The index stays behind where the journal does not reach back so far.
func (j *Journal) catchUp(all []segment) (end tail, behind bool, err error) {
	flushed := end.position
	start := len(all) - 1
	if j.index != nil {
		flushed = j.index.FlushVersion()
	}
	for start > 0 && (j.index == nil || all[start].first > flushed) && !(j.index == nil && start < len(all)-1) {
		start--
	}
	if j.index == nil || len(all) > 0 && all[start].first > flushed+1 {
		end, err = walk(all[start:], nothing)
		return end, true, err
	}
	replay := func(yield func(store.VersionRow, error) bool) {
		end, err = walk(all[start:], func(r *record) error {
			if r.position >= flushed && !yieldRecord(r, yield) {
				return errEnough
			}
			return nil
		})
	}
	if failed := j.index.Replay(replay); err == nil && failed != nil {
		j.doubtful(failed)
		end, err = walk(all[start:], nothing)
	}
	return end, false, err
}

func (j *Journal) logDir() string { return filepath.Join(j.dir, journalDir) }

func nothing(*record) error { return nil }

// reaches refuses a journal that ends before what the index, a snapshot or the note of whoever closed
// it knows of it.
func (j *Journal) reaches(p parts, end tail) error {
	known, what := p.ends.Position, "the note in "+endsFile
	if j.index != nil && j.index.Version() > known {
		known, what = j.index.Version(), "the index"
	}
	if n := len(p.snapshots); n > 0 && p.snapshots[n-1].position > known {
		known, what = p.snapshots[n-1].position, "the snapshot "+filepath.Base(p.snapshots[n-1].path)
	}
	if known <= end.position {
		return nil
	}
	return damageIn(end.last.path, end.offset, fmt.Errorf("it ends with record %d, and %s reaches to record %d: it was cut, or a segment after it is missing", end.position, what, known))
}

// openAside writes nothing: it reads the index where that was closed as it must be, and else builds
// the rows in memory.
func (j *Journal) openAside() error {
	p, err := look(j.dir)
	if err != nil {
		return err
	}
	end, err := walk(p.segments[max(0, len(p.segments)-2):], nothing)
	if err != nil {
		return err
	}
	if err := j.reaches(p, end); err != nil {
		return err
	}
	j.now, j.end = end.moment, end
	if j.index = j.restIndex(); j.index == nil {
		j.index, err = j.build(newMemory)
	}
	return err
}

// restIndex is the index on disk as whoever closed it left it; nil where it is damaged, behind the
// journal, or cannot be read without writing. One that is to be written to is made anew anyway.
func (j *Journal) restIndex() Index {
	n, err := newestIndex(j.dir)
	if err != nil || n == 0 || !j.o.ReadOnly {
		return nil
	}
	index, err := badger.OpenRest(filepath.Join(j.dir, indexDir, strconv.Itoa(n)), &badger.Options{Logger: j.o.Logger, Doubt: j.doubtful})
	if err != nil {
		return nil
	}
	if index.Version() != j.now.position {
		_ = index.Close() // only read
		return nil
	}
	return index
}

// newestIndex returns the number of the index in use, 0 for none.
func newestIndex(dir string) (newest int, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, indexDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "%d", &n); err == nil && fmt.Sprint(n) == e.Name() {
			newest = max(newest, n)
		}
	}
	return newest, nil
}

// generations returns the number of the index in use, 0 for none, and removes what is left of others.
func generations(dir string) (newest int, err error) {
	if newest, err = newestIndex(dir); err != nil {
		return 0, err
	}
	entries, _ := os.ReadDir(filepath.Join(dir, indexDir)) // none where it is missing
	for _, e := range entries {
		if e.Name() != fmt.Sprint(newest) {
			if err := os.RemoveAll(filepath.Join(dir, indexDir, e.Name())); err != nil {
				return 0, err
			}
		}
	}
	return newest, nil
}
