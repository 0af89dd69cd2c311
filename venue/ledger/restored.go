package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
)

// Restored is the note of the row that a ledger goes on with in a folder that was made
// of a backup.
const Restored = "restored from a backup"

// explain adds to a contradiction that the folder was restored: a checkpoint that was
// signed between the backup and that moment is of the ledger before it.
func (v *verification) explain(err error) error {
	if v.restored == "" || !errors.Is(err, ErrBroken) {
		return err
	}
	return fmt.Errorf("%w; %s", err, v.restored)
}

// CutFile leaves those checkpoints in a file that cover so many rows at most.
func (r *Reader) CutFile(path string, rows uint64) error {
	var left []string
	for c, err := range r.kept(path, math.MaxInt64) {
		if err != nil {
			return err
		}
		if c.Size <= rows {
			left = append(left, c.Note)
		}
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	slices.Reverse(left)
	return os.WriteFile(path, []byte(strings.Join(left, "")), 0o600)
}
