package journal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"usher/venue/store"
	"usher/venue/store/folder"
)

// segmentSize is what is allocated for a segment before it is used. A record that is longer has one
// that is as long as it.
const segmentSize = 16 << 20

// ErrStopped says that the journal could not be written: the store acknowledges nothing more until
// it is opened anew, and goes on reading.
var ErrStopped = errors.New("the store takes no more writes: its journal could not be written; what is there can be read: mend the disk, then start again")

// log appends to the journal. It has one user at a time.
type log struct {
	dir     string   // of the segments
	file    *os.File // the last of them
	head    head     // of that
	used    int64    // bytes of that
	full    bool     // that takes nothing more
	chain   uint32   // after the last record
	stopped error
	buffer  []byte
}

// createLog makes a journal without records. Its folder appears with the first segment in it.
func createLog(dir string) (*log, error) {
	half := dir + ".new"
	if err := os.RemoveAll(half); err != nil { // of a process that ended meanwhile
		return nil, err
	}
	if err := os.MkdirAll(half, 0o700); err != nil {
		return nil, err
	}
	var salt [4]byte
	_, _ = rand.Read(salt[:]) // it never fails
	h := head{first: 1, salt: binary.BigEndian.Uint32(salt[:])}
	if err := h.make(half); err != nil {
		return nil, err
	}
	if err := os.Rename(half, dir); err != nil {
		return nil, err
	}
	if err := folder.Sync(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	l := &log{dir: dir}
	return l, l.enter(h)
}

// openLog opens a journal that was read to its end, and cuts off what was not written whole.
func openLog(dir string, end tail) (l *log, err error) {
	f, err := os.OpenFile(end.last.path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if end.torn || info.Size() < segmentSize {
		if err := f.Truncate(end.offset); err != nil {
			return nil, err
		}
		if err := allocate(f, max(segmentSize, end.offset)); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
	}
	h := head{seq: end.last.seq, first: end.last.first, salt: end.salt}
	return &log{dir: dir, file: f, head: h, used: end.offset, chain: end.chain}, nil
}

// file is the path of the segment that begins so.
func (h head) file(dir string) string {
	return filepath.Join(dir, segmentName(segment{seq: h.seq, first: h.first})+segmentExt)
}

// make makes the segment that begins so.
func (h head) make(dir string) error {
	return replaceFile(h.file(dir), func(f *os.File) error {
		if err := allocate(f, segmentSize); err != nil {
			return err
		}
		_, err := f.Write(h.append(nil))
		return err
	})
}

// enter goes on in a segment that was made.
func (l *log) enter(h head) error {
	f, err := os.OpenFile(h.file(l.dir), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if l.file != nil {
		_ = l.file.Close() // all of it is on disk
	}
	l.file, l.head, l.used, l.full, l.chain = f, h, headRoom, false, h.chain
	return nil
}

// append writes a record, and returns when it is on disk. An error that wraps [store.ErrUnknown]
// says that nobody knows, and is the last thing that the log does; after any other nothing was
// written, and the next record may be.
func (l *log) append(position uint64, record []byte) error {
	if l.stopped != nil {
		return l.stopped
	}
	if l.full || l.used > headRoom && l.used+frameSize(int64(len(record))) > segmentSize {
		if err := l.next(position); err != nil {
			return fmt.Errorf("begin the next segment of the journal: %w: nothing was written; the next write tries again", err)
		}
	}
	frame, chain := appendFrame(l.buffer[:0], record, l.chain, l.head.salt)
	if l.buffer = frame; cap(frame) > 64<<10 {
		l.buffer = nil
	}
	_, err := l.file.WriteAt(frame, l.used)
	if err == nil {
		err = syncData(l.file)
	}
	if err != nil {
		l.stopped = fmt.Errorf("%w: %w", ErrStopped, err)
		return fmt.Errorf("%w: %w", store.ErrUnknown, l.stopped)
	}
	l.used, l.chain = l.used+int64(len(frame)), chain
	return nil
}

// next ends the segment, and begins the one whose first record has a position.
func (l *log) next(position uint64) error {
	if !l.full { // what is allocated and not used goes
		if err := l.file.Truncate(l.used); err != nil {
			return err
		}
		l.full = true
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	h := head{l.head.seq + 1, position, l.chain, l.head.salt}
	if err := h.make(l.dir); err != nil {
		return err
	}
	if err := l.enter(h); err != nil {
		return err
	}
	_ = note(filepath.Dir(l.dir), position-1, l.head.salt) // the one of before is true as well
	return nil
}

func (l *log) close() error {
	if l == nil || l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
