package journal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Cut takes a folder that nobody has open back to a moment: its journal then ends with the last record
// that is not after it, and what was made of later ones is removed. It checks the journal up to
// there. Where the journal does not reach back so far, nothing was changed.
func Cut(ctx context.Context, dir string, at time.Time) (end Place, err error) {
	l, err := takeLock(dir)
	if err != nil {
		return end, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	p, err := look(dir)
	if err != nil {
		return end, err
	}
	oldest := uint64(1)
	if len(p.segments) > 0 && p.segments[0].first > 1 {
		oldest = math.MaxUint64
		if len(p.snapshots) > 0 {
			oldest = p.snapshots[0].position
		}
	}
	var since time.Time // when the oldest state that is kept was that of the folder
	last, err := walk(p.segments, func(r *record) error {
		if since.IsZero() && r.position >= oldest {
			since = r.time
		}
		switch {
		case !r.time.After(at) && (since.IsZero() || !since.After(at)):
			end = Place{r.position, r.time}
		case !since.IsZero():
			return errEnough
		}
		return ctx.Err()
	})
	switch {
	case err != nil && !errors.Is(err, errEnough):
		return end, err
	case since.IsZero():
		return end, errors.New("no state of the past is kept: restore without a moment")
	case since.After(at):
		return end, fmt.Errorf("there is no state of %s: what is kept begins with %s", at.UTC().Format(time.RFC3339), since.UTC().Format(time.RFC3339Nano))
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, indexDir)), os.RemoveAll(filepath.Join(dir, endsFile))); err != nil {
		return end, err
	}
	for _, s := range p.snapshots {
		if s.position > end.Position {
			if err := os.Remove(s.path); err != nil {
				return end, err
			}
		}
	}
	for _, s := range p.segments {
		switch {
		case s.seq > last.last.seq:
			err = os.Remove(s.path)
		case s.seq == last.last.seq:
			err = s.reopen(dir, last.offset)
		}
		if err != nil {
			return end, err
		}
	}
	return end, nil
}

// reopen puts a segment where the log looks for it, cut to a size.
func (s segment) reopen(dir string, size int64) error {
	raw, err := s.load()
	if err != nil {
		return err
	}
	err = replaceFile(filepath.Join(dir, journalDir, segmentName(s)+segmentExt), func(f *os.File) error {
		_, err := f.Write(raw[:size])
		return err
	})
	if err == nil && strings.HasSuffix(s.path, packedExt) {
		err = os.Remove(s.path)
	}
	return err
}
