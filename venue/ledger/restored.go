package ledger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"
	"strings"

	"usher/venue/store"
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
	if isMissing(path) {
		return nil
	}
	var left []string
	for c, err := range r.checkpointsIn(path, math.MaxInt64) {
		if err != nil {
			return err
		}
		if c.Size <= rows {
			left = append(left, c.Note)
		}
	}
	slices.Reverse(left)
	return os.WriteFile(path, []byte(strings.Join(left, "")), 0o600)
}

// Texts yields the rows of a ledger as they were hashed, as JSON, without looking
// whether it holds. Those that were pruned are left out.
func Texts(ctx context.Context, space *store.Store) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for row, err := range store.Rows(ctx, space, rowPrefix, "") {
			var text []byte
			if err == nil {
				if seq, strange := seqOf(row.Key); strange == nil {
					text = row.Value[min(subtreeLength(seq), len(row.Value)):]
				}
			}
			if err == nil && len(text) == 0 {
				continue
			}
			if !yield(text, err) || err != nil {
				return
			}
		}
	}
}

// SetAside writes the rows of a ledger that does not hold any more to w, each as a line
// of JSON, removes it, and begins another. It returns how many there were.
func SetAside(ctx context.Context, space *store.Store, w io.Writer) (rows uint64, err error) {
	out := bufio.NewWriter(w) // keeps its first error for Flush
	for text, err := range Texts(ctx, space) {
		if err != nil {
			return rows, err
		}
		rows++
		_, _ = out.Write(append(text, '\n'))
	}
	if err := out.Flush(); err != nil {
		return rows, err
	}
	if err := space.RemoveBelow(ctx, prefix); err != nil {
		return rows, err
	}
	return rows, Create(ctx, space)
}
