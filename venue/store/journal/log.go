package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"

	"usher/venue/store"
)

// segmentSize is what is allocated for a segment before it is used. A record that begins within it
// may end beyond.
const segmentSize = 16 << 20

var setSegmentSize = sync.OnceFunc(func() { wal.SegmentSizeBytes = segmentSize })

// ErrStopped says that the journal could not be written: the store acknowledges nothing more until
// it is opened anew, and goes on reading.
var ErrStopped = errors.New("the store takes no more writes: its journal could not be written; what is there can be read: mend the disk, then start again")

// log appends to the journal. It has one user at a time.
type log struct {
	dir     string   // of the segments
	wal     *wal.WAL // nil: to be opened again
	stopped error

	seq, first uint64 // of the last segment
	used       int64  // of it; at least what it holds
}

// createLog makes a journal without records.
func createLog(dir string) (*log, error) {
	setSegmentSize()
	w, err := wal.Create(nil, dir, nil)
	if err != nil {
		return nil, err
	}
	return &log{dir: dir, wal: w, used: 1 << 10}, nil
}

// openLog opens a journal that was read to its end, and cuts off what was not written whole.
func openLog(dir string, end tail) (*log, error) {
	setSegmentSize()
	if err := mend(end); err != nil {
		return nil, err
	}
	l := &log{dir: dir, seq: end.last.seq, first: end.last.first, used: end.offset + 1<<10}
	return l, l.open(end.position)
}

// open opens the last segment to go on behind a position.
func (l *log) open(position uint64) error {
	first := l.first
	// The record of a snapshot that the log asks for is used by those who keep one there.
	w, err := wal.Open(nil, l.dir, &walpb.Snapshot{Index: &first, Term: new(uint64(0))})
	if err != nil {
		return err
	}
	_, _, entries, err := w.ReadAll()
	if errors.Is(err, wal.ErrSnapshotNotFound) {
		err = nil
	}
	if n := len(entries); err == nil && n > 0 && entries[n-1].GetIndex() != position {
		err = fmt.Errorf("it ends with record %d in place of %d", entries[n-1].GetIndex(), position)
	}
	if err != nil {
		return errors.Join(err, w.Close())
	}
	l.wal = w
	return nil
}

// mend ends the last segment behind its last record, and allocates the rest.
func mend(end tail) error {
	f, err := os.OpenFile(end.last.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !end.torn && info.Size() >= segmentSize {
		return err
	}
	if err := f.Truncate(end.offset); err != nil {
		return err
	}
	if err := fileutil.Preallocate(f, max(segmentSize, end.offset), true); err != nil {
		return err
	}
	return f.Sync()
}

// append writes a record, and returns when it is on disk. An error that wraps [store.ErrUnknown]
// says that nobody knows, and is the last thing that the log does; after any other nothing was
// written, and the next record may be.
func (l *log) append(position uint64, data []byte) error {
	if l.stopped != nil {
		return l.stopped
	}
	if l.used+int64(len(data)) >= segmentSize {
		if err := l.prepare(position); err != nil {
			return fmt.Errorf("allocate the next segment of the journal: %w: nothing was written; the next write tries again", err)
		}
	}
	e := &raftpb.Entry{Term: new(uint64(0)), Index: &position, Data: data}
	l.stopped = ErrStopped // should the log panic
	err := l.wal.Save(nil, []*raftpb.Entry{e})
	if err != nil {
		l.stopped = fmt.Errorf("%w: %w", ErrStopped, err)
		return fmt.Errorf("%w: %w", store.ErrUnknown, l.stopped)
	}
	l.stopped = nil
	if l.used += int64(len(data)) + 64; l.used < segmentSize {
		return nil
	}
	next := segment{seq: l.seq + 1, first: position + 1}
	if _, err := os.Stat(filepath.Join(l.dir, segmentName(next)+segmentExt)); err == nil {
		l.seq, l.first, l.used = next.seq, next.first, 1<<10
		// The record is written. Without these two, files stay open, and the note of before is true as well.
		_ = l.wal.ReleaseLockTo(next.first)
		_ = note(filepath.Dir(l.dir), position)
	}
	return nil
}

// prepare waits until the segment after this one is allocated. The log does that in the background,
// and tells only when it needs it, too late to refuse a record, that it could not.
func (l *log) prepare(position uint64) error {
	for try := 0; ; try++ {
		if l.wal == nil {
			if err := l.open(position - 1); err != nil {
				return err
			}
		}
		for range 100 {
			for _, name := range []string{"0.tmp", "1.tmp"} {
				if info, err := os.Stat(filepath.Join(l.dir, name)); err == nil && info.Size() >= segmentSize {
					return nil
				}
			}
			time.Sleep(time.Millisecond)
		}
		err := l.close()
		if err == nil {
			err = probe(l.dir)
		}
		if err == nil && try > 0 {
			err = errors.New("it takes too long")
		}
		if err != nil {
			return err
		}
	}
}

// probe says why a segment cannot be allocated.
func probe(dir string) (err error) {
	f, err := os.Create(filepath.Join(dir, "probe.tmp"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	return fileutil.Preallocate(f, segmentSize, true)
}

func (l *log) close() error {
	if l == nil || l.wal == nil {
		return nil
	}
	err := l.wal.Close()
	l.wal = nil
	return err
}
