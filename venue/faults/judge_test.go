//go:build linux

package faults

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"usher/venue/venuetest"
)

// Verdicts on a point.
const (
	ok      = "ok"
	told    = "told"
	lost    = "lost"
	silent  = "silent"
	crashed = "crashed"
)

// verdict is what came of a point.
type verdict struct {
	is  string
	why string // empty: as it should be
}

// trial is one point: what is left in a project's folder, and what it is held against.
type trial struct {
	project string
	claims  string // a file
	damaged string // the file that was damaged, within the data folder; empty where none was
	before  []ran  // what the fault was done to
	mayTell bool   // a refusal is no failure: what was damaged cannot be made again
}

// judge runs the commands and the check, and says what came of it.
func (t trial) judge(ctx context.Context) verdict {
	was := digests(dataOf(t.project))
	commands := [][]string{{"audit", "verify"}, {"sessions", "list", "scribe"}, {"run", "scribe", "write w/notes/after 1"}}
	if t.isNew() {
		slices.Reverse(commands)
	}
	var steps []ran
	for _, args := range commands {
		steps = append(steps, usher(ctx, t.project, args...))
	}
	checked, f := check(ctx, t.project, t.claims)
	steps = append(steps, checked)
	moved := changed(was, digests(dataOf(t.project)))
	if len(done(steps)) > 0 { // where the venue may be opened, it may be written
		moved = nil
	}
	if _, err := os.Lstat(filepath.Join(dataOf(t.project), t.damaged)); err != nil && filepath.Dir(t.damaged) != "." {
		t.damaged = filepath.Dir(t.damaged) // a segment that is not there may be told by the one before it
	}
	return t.weigh(steps, f, moved)
}

// isNew reports whether nothing was ever acknowledged, so that there may be no venue yet.
func (t trial) isNew() bool {
	claims, err := readClaimFile(t.claims)
	return err == nil && !slices.ContainsFunc(claims, func(c claim) bool { return c.Kind == opened || c.Kind == noted })
}

// weigh is judge without the running.
func (t trial) weigh(steps []ran, f finding, changed []string) verdict {
	for _, s := range slices.Concat(t.before, steps) {
		if s.crash != "" {
			return verdict{crashed, s.crash}
		}
	}
	said := f.Told
	for _, s := range steps {
		if s.status != 0 {
			said = append(said, s.name+": "+brief(s.told()))
		}
	}
	did := done(steps)
	name, _, _ := strings.Cut(filepath.Base(t.damaged), "-") // of a segment that is gone, the number is known
	switch {
	case f.Lost > 0 && len(said) > 0:
		return verdict{lost, fmt.Sprintf("%d of %d: %s; said: %s", f.Lost, f.Claims, strings.Join(f.Missing, "; "), strings.Join(said, "; "))}
	case f.Lost > 0:
		return verdict{silent, fmt.Sprintf("%d of %d: %s", f.Lost, f.Claims, strings.Join(f.Missing, "; "))}
	case len(said) == 0:
		return verdict{is: ok}
	case len(did) > 0 && !t.mayTell: // where it may, what needs the file refuses, and what does not goes on
		return verdict{told, strings.Join(did, ", ") + " worked, and others did not: " + strings.Join(said, "; ")}
	case len(changed) > 0:
		return verdict{told, "refused, and yet changed: " + strings.Join(changed, ", ") + "; " + said[0]}
	case !t.mayTell:
		return verdict{told, "refused, where all that is needed is there: " + said[0]}
	case t.damaged != "" && !strings.Contains(said[0], name):
		return verdict{told, "refused without the file's name: " + said[0]}
	}
	return verdict{is: told}
}

// done names the steps that did what they were to do.
func done(steps []ran) (names []string) {
	for _, s := range steps {
		if s.status == 0 {
			names = append(names, s.name)
		}
	}
	return names
}

// keyFile has the venue's key, within its data folder.
const keyFile = "venue.key"

// digests are those of a folder's files, by their names, without the lock and what is only on the way. Of an index, which can be
// made again, it has the name of its folder alone.
func digests(dir string) map[string]string {
	all := map[string]string{}
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what is not there has no digest
		}
		at := under(dir, name)
		switch {
		case strings.EqualFold(d.Name(), "lock") || filepath.Ext(at) == ".tmp":
		case d.IsDir() && filepath.Dir(at) == "index":
			all[at] = "there"
			return fs.SkipDir
		case d.Type().IsRegular():
			sum, err := venuetest.Digest(name)
			all[at] = fmt.Sprintf("%x %v", sum, err)
		}
		return nil
	})
	return all
}

// changed names the files that are not what they were.
func changed(was, is map[string]string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if is[name] != was[name] {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if _, there := was[name]; !there {
			names = append(names, name)
		}
	}
	return names
}
