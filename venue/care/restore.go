package care

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"usher/venue"
	"usher/venue/ledger"
	"usher/venue/store/folder"
	"usher/venue/store/journal"
)

// Origin says what a folder was restored from, in the first row that its ledger goes on
// with.
type Origin struct {
	Began time.Time  `json:"began"`        // when the backup was begun
	At    *time.Time `json:"at,omitempty"` // of which moment the state is; nil: the newest
	Rows  uint64     `json:"rows"`         // of the ledger that was backed up, whole
	Root  string     `json:"root"`         // of its tree, in base64
	Kept  int        `json:"kept"`         // records of later that hold all the same: revocations, endings, suspensions, marks
}

// RestoreResult is what came of a backup.
type RestoreResult struct {
	Dir      string    `json:"dir"`
	Position uint64    `json:"position"` // of the last record that was restored
	Time     time.Time `json:"time"`     // of that
	Origin
}

// Restore makes a data folder of a backup: a new one, or one that is empty. All is
// checked before the folder appears; where something fails, nothing is left. at gives
// the state of that moment, zero the newest. Also then what was revoked since stays
// so, an agent that has ended stays ended, and one that was suspended is, an invocation that
// was used is not taken again, and the highest time seen stays.
func Restore(ctx context.Context, in io.ReadSeeker, key Key, dir string, at time.Time, progress func(string)) (r RestoreResult, err error) {
	if empty, err := folder.IsEmpty(dir); err != nil || !empty {
		return r, cmp.Or(err, errNotNew(dir))
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return r, err
	}
	made, err := os.MkdirTemp(parent, ".restore-*")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(made)) }()
	say(progress, "reading the backup")
	m, err := unpack(ctx, in, key, func(p Piece, content io.Reader) error { return p.write(made, content) })
	if err != nil {
		return r, err
	}
	r = RestoreResult{Dir: dir, Position: m.Position, Time: m.Time, Origin: Origin{Began: m.Began}}
	if err := r.build(ctx, made, at, progress); err != nil {
		return r, err
	}
	return r, settle(made, dir)
}

// ErrNotNew says that a folder that is to be made is there, and holds something.
var ErrNotNew = errors.New("name a new folder, or an empty one")

func errNotNew(dir string) error { return fmt.Errorf("%s is not empty: %w", dir, ErrNotNew) }

// write makes the file of a part.
func (p Piece) write(dir string, content io.Reader) (err error) {
	path := filepath.Join(dir, filepath.FromSlash(p.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, content); err != nil {
		return err
	}
	return f.Sync()
}

// build opens what was unpacked, takes it back to a moment, and says in the ledger
// where it comes from.
func (r *RestoreResult) build(ctx context.Context, dir string, at time.Time, progress func(string)) (err error) {
	j, err := journal.Open(dir, &journal.Options{Progress: progress})
	if err != nil {
		return err
	}
	defer func() {
		if j != nil {
			err = errors.Join(err, j.Close())
		}
	}()
	report, err := verifyLedger(ctx, j, dir)
	if err != nil {
		return err
	}
	r.Rows, r.Root = report.Rows, report.Root
	if !at.IsZero() {
		at = at.UTC()
		r.At = &at
		var later later
		if later, err = laterOf(ctx, j); err == nil {
			err = j.Close()
		}
		j = nil
		if err != nil {
			return err
		}
		end, err := journal.Cut(ctx, dir, at)
		if err != nil {
			return err
		}
		r.Position, r.Time = end.Position, end.Time.UTC()
		if j, err = journal.Open(dir, &journal.Options{Progress: progress}); err != nil {
			return err
		}
		if err := cutCheckpoints(ctx, j, dir); err != nil {
			return err
		}
		if r.Kept, err = later.hold(ctx, j); err != nil {
			return err
		}
	}
	now := strconv.AppendInt(nil, time.Now().UnixMilli(), 10)
	if _, err := j.Apply(ctx, nil, map[string][]byte{venue.RestoredKey: now}, nil); err != nil {
		return err
	}
	return noteIn(ctx, j, dir, ledger.Restored, r.Origin)
}

// verifyLedger checks the ledger of a folder against its checkpoints.
func verifyLedger(ctx context.Context, j *journal.Journal, dir string) (ledger.Report, error) {
	did, err := venueIn(ctx, j)
	if err != nil {
		return ledger.Report{}, err
	}
	return ledger.NewReader(j.Store, did).Verify(ctx, []string{venue.CheckpointFile(dir)})
}

// cutCheckpoints removes those that were signed over rows that are not there any more.
func cutCheckpoints(ctx context.Context, j *journal.Journal, dir string) error {
	did, err := venueIn(ctx, j)
	if err != nil {
		return err
	}
	r := ledger.NewReader(j.Store, did)
	report, err := r.Verify(ctx, nil)
	if err != nil {
		return err
	}
	return r.CutFile(venue.CheckpointFile(dir), report.Rows)
}
