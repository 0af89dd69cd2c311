//go:build linux

package faults

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// damage is something that is done to one file of a data folder.
type damage struct {
	file string // within the data folder
	how  string
	at   float64 // where, as a part of what the file has; where that matters
}

// Ways of damage.
const (
	flip   = "flip"   // one bit
	zero   = "zero"   // a page
	cut    = "cut"    // the file, there
	empty  = "empty"  // the file
	remove = "remove" // the file
)

func (d damage) String() string {
	if d.how == empty || d.how == remove {
		return d.how + " " + d.file
	}
	return fmt.Sprintf("%s %s at %.4f", d.how, d.file, d.at)
}

const page = 4096

// do damages the file, and says what it did. It reports false where that would change nothing.
func (d damage) do(data string) (done string, changes bool, err error) {
	name := filepath.Join(data, d.file)
	if d.how == remove {
		return "removed", true, os.Remove(name)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	raw, err := os.ReadFile(name)
	if err != nil || len(raw) == 0 {
		return "", false, err
	}
	used := int64(len(bytes.TrimRight(raw, "\x00"))) // a log is made longer than what is in it
	at := min(int64(d.at*float64(used)), int64(len(raw))-1)
	switch d.how {
	case empty:
		return "cut to 0", true, f.Truncate(0)
	case cut:
		return fmt.Sprintf("cut at %d of %d, %d used", at, len(raw), used), at < int64(len(raw)), f.Truncate(at)
	case zero:
		at -= at % page
		old := raw[at:min(at+page, int64(len(raw)))]
		_, err = f.WriteAt(make([]byte, len(old)), at)
		return fmt.Sprintf("zeroed %d bytes at %d, %d used", len(old), at, used), len(bytes.Trim(old, "\x00")) > 0, err
	default:
		bit := byte(1) << (at % 8)
		_, err = f.WriteAt([]byte{raw[at] ^ bit}, at)
		return fmt.Sprintf("flipped bit %#x of the byte at %d, %d used", bit, at, used), true, err
	}
}

// filesOf are the files of a data folder that a venue needs.
func filesOf(t *testing.T, data string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(data, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.EqualFold(d.Name(), "lock") {
			files = append(files, under(data, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// damages are so many for a folder of these files: each file emptied and removed, as long as that is
// at most half of them, and the rest drawn.
func damages(files []string, n int) (list []damage) {
	for _, f := range files {
		list = append(list, damage{file: f, how: remove}, damage{file: f, how: empty})
	}
	drawn(5).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	list = list[:min(len(list), (n+1)/2)]
	draws := map[string]*rand.Rand{}
	for _, f := range files { // each file has its own, so that its points do not hang on the others
		h := fnv.New64a()
		_, _ = h.Write([]byte(f))
		draws[f] = drawn(h.Sum64())
	}
	for i := 0; len(list) < n; i++ {
		f := files[i%len(files)]
		r := draws[f]
		d := damage{file: f, how: []string{flip, flip, zero, cut}[r.IntN(4)]}
		switch r.IntN(6) {
		case 0:
			d.at = r.Float64() * 0.01 // the beginning has the headers
		case 1:
			d.at = 1 - r.Float64()*0.01 // the end has what came last
		default:
			d.at = r.Float64()
		}
		list = append(list, d)
	}
	return list
}

// isTheOnlyOne reports whether nothing else in the folder has what is in the file, so that its damage
// can only be told: the venue's key, the number of the folder's form, the note of where the journal
// ends, and the journal.
func isTheOnlyOne(file string) bool {
	return file == keyFile || file == "format" || file == "journal.json" || strings.HasPrefix(file, "journal"+string(filepath.Separator))
}

// runDamage damages copies of a project, one file each.
func runDamage(t *testing.T, b *table, how, project, claims string, n int) {
	t.Helper()
	dir := t.TempDir()
	for _, d := range damages(filesOf(t, dataOf(project)), n) {
		point := how + " " + d.String()
		if !isWanted(point) {
			continue
		}
		tr := trial{claims: claims, damaged: d.file, mayTell: isTheOnlyOne(d.file)}
		tr.project = copyProject(t, project, filepath.Join(dir, "project"))
		done, changes, err := d.do(dataOf(tr.project))
		if err != nil {
			t.Fatalf("%s: %v", point, err)
		}
		if changes {
			v := tr.judge(t.Context())
			if v.why != "" {
				v.why = done + ": " + v.why
			}
			b.add(how+", "+d.how+" "+sortOf(d.file), point, v.keep(t, point, tr))
		}
		if err := os.RemoveAll(tr.project); err != nil {
			t.Fatal(err)
		}
	}
}

// sortOf is a file's name with its number left out.
func sortOf(file string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, file)
}
