package care

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"usher/ucan"
	"usher/venue/ledger"
	"usher/venue/store/folder"
	"usher/venue/store/journal"
)

// salvageNote is what a row of the ledger tells of a folder that was salvaged.
type salvageNote struct {
	From string   `json:"from"` // the folder
	Last uint64   `json:"last"` // record that was read
	Lost []string `json:"lost"` // at most a hundred
	More int      `json:"more,omitempty"`

	Rows uint64 `json:"rows,omitempty"` // of the old ledger, which does not hold any more
	File string `json:"file,omitempty"` // in the new folder, that has them
}

const maxLost = 100

// ledgerFile has the rows of a ledger of which some are lost.
const ledgerFile = "ledger.salvaged.jsonl"

// Salvage saves what is sound of a damaged data folder into a new one, whose ledger
// says so. Where rows of the ledger are lost, those that are left go to a file in the
// new folder, and another ledger is begun. The key file is copied. The checkpoints are
// not, as they tell of what is lost.
func Salvage(ctx context.Context, dir, out string, progress func(string)) (s journal.SalvageResult, err error) {
	if empty, err := folder.IsEmpty(out); err != nil || !empty {
		return s, cmp.Or(err, errNotNew(out))
	}
	key, err := ucan.ReadKeyFile(filepath.Join(dir, keyFile))
	if err != nil {
		return s, fmt.Errorf("without its key file no secret of the folder opens: put it back, from a backup: %w", err)
	}
	defer key.Zero()
	made, err := os.MkdirTemp(filepath.Dir(filepath.Clean(out)), ".salvage-*")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(made)) }()
	say(progress, "reading what is sound")
	s, j, err := journal.Salvage(ctx, dir, made, &journal.Options{Progress: progress})
	if err != nil {
		return s, err
	}
	detail := salvageNote{From: dir, Last: s.Last.Position, Lost: s.Lost}
	if len(s.Lost) > maxLost {
		detail.Lost, detail.More = s.Lost[:maxLost], len(s.Lost)-maxLost
	}
	err = key.WriteFile(filepath.Join(made, keyFile))
	if err == nil {
		err = detail.note(ctx, j, made)
	}
	if detail.File != "" {
		s.Lost = append(s.Lost, fmt.Sprintf("the ledger, which does not hold without them: its %s are in %s, and another begins", count(detail.Rows, "row"), detail.File))
	}
	if err = errors.Join(err, j.Close()); err != nil {
		return s, err
	}
	return s, settle(made, out)
}

// note writes the row to the ledger, or to another where that does not hold.
func (s *salvageNote) note(ctx context.Context, j *journal.Journal, dir string) error {
	if _, broken := verifyLedger(ctx, j, dir); broken != nil {
		f, err := os.OpenFile(filepath.Join(dir, ledgerFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		s.File = ledgerFile
		s.Rows, err = ledger.SetAside(ctx, j.Store, f)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return noteIn(ctx, j, dir, "salvaged from a damaged folder", s)
}
