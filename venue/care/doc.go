// Package care looks after data folders from outside: [Examine] says whether one is
// sound, [Repair] mends what can be made anew, [Salvage] saves what is sound of one
// that cannot. [Backup] writes one file with all of it, also while a venue has the
// folder open, [Restore] makes a folder of that, as it was at any moment that is kept,
// and [Export] writes down what is the user's.
package care

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"

	"usher/ucan"
	"usher/venue"
	"usher/venue/keys"
	"usher/venue/ledger"
	"usher/venue/store/journal"
)

// keyFile is the name of the file in a data folder that opens its secrets.
const keyFile = "venue.key"

// noteIn writes a row to the ledger of a folder that is open, as the venue would.
func noteIn(ctx context.Context, j *journal.Journal, dir, note string, detail any) error {
	ring, err := keys.Open(ctx, j.Under("k/"), filepath.Join(dir, keyFile), rand.Reader)
	if err != nil {
		return err
	}
	l, err := ledger.Open(ctx, j.Store, ledger.Options{Key: ring.Venue(), Checkpoints: []string{venue.CheckpointFile(dir)}})
	if err != nil {
		return err
	}
	_, err = l.Note(ctx, note, detail, ledger.Batch{})
	return errors.Join(err, l.Close())
}

// venueIn is the identity of the venue in a store.
func venueIn(ctx context.Context, j *journal.Journal) (ucan.DID, error) {
	did, err := keys.VenueIn(ctx, j.Under("k/"))
	if err == nil && did.IsZero() {
		err = errors.New("it holds no venue")
	}
	return did, err
}

// readFolder opens a folder for reading only, for as long as read takes.
func readFolder(dir string, read func(*journal.Journal) error) (err error) {
	j, err := journal.Open(dir, &journal.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	return read(j)
}

// count is a number of things, for people.
func count[N ~int | ~int64 | ~uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
