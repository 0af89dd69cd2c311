package care

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"usher/venue"
	"usher/venue/clock"
	"usher/venue/keys"
	"usher/venue/ledger"
	"usher/venue/store/journal"
)

// Finding says what was found of a part of a data folder.
type Finding struct {
	Part   string `json:"part"`
	Looked string `json:"looked,omitempty"` // how much was looked at
	Sound  bool   `json:"sound"`
	Fault  string `json:"fault,omitempty"`
	Advice string `json:"advice,omitempty"` // what to do about it
}

// Examine reads a data folder through, also while a venue has it open, and writes
// nothing. places are where checkpoints lie beside those in the folder; of URLs
// nothing is asked.
func Examine(ctx context.Context, dir string, places []string, now time.Time) (found []Finding, sound bool) {
	for _, p := range journal.Examine(ctx, dir) {
		found = append(found, finding(p.Name, p.Looked, p.Fault, p.Advice))
	}
	if err := readFolder(dir, func(j *journal.Journal) error {
		found = append(found, examineVenue(ctx, j, dir, places, now)...)
		return nil
	}); err != nil {
		advice := "restore the folder from a backup"
		for _, f := range found {
			if !f.Sound && strings.Contains(err.Error(), f.Fault) {
				err, advice = fmt.Errorf("they are not read, as the %s is not sound", f.Part), "see what is said of the "+f.Part
				break
			}
		}
		found = append(found, finding("rows", "", err, advice))
	}
	found = append(found, examineSpace(dir), examineDescriptors())
	sound = true
	for _, f := range found {
		sound = sound && f.Sound
	}
	return found, sound
}

func finding(part, looked string, fault error, advice string) Finding {
	if fault == nil {
		return Finding{Part: part, Looked: looked, Sound: true}
	}
	return Finding{Part: part, Looked: looked, Fault: fault.Error(), Advice: advice}
}

// examineVenue looks at what only the rows of a folder tell.
func examineVenue(ctx context.Context, j *journal.Journal, dir string, places []string, now time.Time) (found []Finding) {
	did, err := venueIn(ctx, j)
	if err != nil {
		return []Finding{finding("venue", "", err, "name the data folder of a venue, or restore this one from a backup")}
	}
	file := filepath.Join(dir, keyFile)
	found = append(found, finding("key", file+" of "+did.String(), keys.Check(ctx, j.Under("k/"), file), "put the key file of this data folder back, from a backup"))
	report, err := ledger.NewReader(j.Store, did).Verify(ctx, append([]string{venue.CheckpointFile(dir)}, places...))
	looked := fmt.Sprintf("%s, %s", count(report.Rows, "row"), count(report.Checkpoints, "checkpoint"))
	for _, place := range places {
		if strings.Contains(place, "://") {
			looked += ", none of " + ledger.PlaceName(place)
		}
	}
	found = append(found, finding("ledger", looked, err, "compare it with a backup: usher audit verify says more"))
	if len(report.Missing) > 0 {
		found = append(found, finding("checkpoints", "", fmt.Errorf("missing: %s", strings.Join(report.Missing, ", ")),
			"put the file back, from a backup, and run usher audit verify: it finds what was rolled back; the next command that opens the folder begins the file anew"))
	}
	return append(found, examineClock(ctx, j, now))
}

func examineClock(ctx context.Context, j *journal.Journal, now time.Time) Finding {
	const slack = time.Minute
	seen, err := clock.Highest(ctx, j.Under(""))
	if err == nil && seen.After(now.Add(slack)) {
		err = fmt.Errorf("it is %s, and the venue has seen %s", stamp(now), stamp(seen))
	}
	return finding("clock", "highest time seen "+stamp(seen), err, "set the clock; if it was wrong before, nothing is to be done")
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

func examineSpace(dir string) Finding {
	free, needed, err := journal.Space(dir)
	if err == nil && free < needed {
		err = fmt.Errorf("%d MB are free, and writing needs %d", free>>20, needed>>20)
	}
	return finding("space", fmt.Sprintf("%d MB free", free>>20), err, "free some, or move the folder")
}

func examineDescriptors() Finding {
	const few = 256
	limit, known, err := descriptors()
	if !known {
		return finding("descriptors", "not known on this system", nil, "")
	}
	if err == nil && limit < few {
		err = fmt.Errorf("a process may have %d files open", limit)
	}
	return finding("descriptors", fmt.Sprintf("%d files at once", limit), err, fmt.Sprintf("raise the limit: ulimit -n %d", 4*few))
}

// Repair has a folder's index made anew where it is in doubt, and replaces damaged
// snapshots. Nobody else may have the folder open. It returns what was mended, and
// the ledger says so.
func Repair(ctx context.Context, dir string, progress func(string)) (mended []string, err error) {
	j, err := journal.Repair(ctx, dir, &journal.Options{Progress: progress, Told: func(e journal.Event) { mended = append(mended, e.Text) }})
	if err != nil {
		return mended, err
	}
	if _, none := venueIn(ctx, j); none == nil {
		for _, text := range mended {
			err = errors.Join(err, noteIn(ctx, j, dir, "the store was repaired", map[string]string{"text": text}))
		}
	}
	return mended, errors.Join(err, j.Close())
}
