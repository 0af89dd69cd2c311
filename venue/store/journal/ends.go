package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// endsFile notes how far the journal reached once, and how large its segments were: what was cut off
// later is missed.
const endsFile = "journal.json"

type ends struct {
	Position uint64           `json:"position"` // of the last record, at least
	Last     string           `json:"last"`     // segment
	Salt     uint32           `json:"salt"`     // of the folder
	Segments map[string]int64 `json:"segments"` // bytes of those that are full, by their names in the folder of the journal
	Check    uint32           `json:"check"`    // CRC-32C of the note as JSON with 0 here
}

func (e ends) check() uint32 {
	e.Check = 0
	raw, _ := json.Marshal(e) // numbers and names
	return crc32.Checksum(raw, castagnoli)
}

// note writes down where the journal ends: when it is made and when it is closed, and at each new segment.
func note(dir string, position uint64, salt uint32) error {
	all, err := segments(dir)
	if err != nil {
		return err
	}
	is := ends{Position: position, Last: segmentName(all[len(all)-1]), Salt: salt, Segments: make(map[string]int64)}
	for _, s := range all[:max(0, len(all)-1)] {
		info, err := os.Stat(s.path)
		if err != nil {
			return err
		}
		is.Segments[segmentName(s)] = info.Size()
	}
	is.Check = is.check()
	return replaceFile(filepath.Join(dir, endsFile), func(f *os.File) error { return json.NewEncoder(f).Encode(is) })
}

// errNote says what to do about a note that is damaged.
var errNote = errors.New("remove it, and the journal is read as it is")

// readEnds reads what was written down; zero where nothing was.
func readEnds(dir string) (was ends, err error) {
	path := filepath.Join(dir, endsFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return was, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &was)
	}
	if err == nil && was.Check != was.check() {
		err = errors.New("its checksum does not hold")
	}
	if err != nil {
		err = fmt.Errorf("the note of where the journal ended, %s, is damaged: %w: %w", path, err, errNote)
	}
	return was, err
}

// complete refuses segments that are not those that were noted, and ones that reach back neither to
// the newest snapshot nor to the first record.
func complete(dir string, all []segment, kept []snapshot, was ends) error {
	back := uint64(0)
	if n := len(kept); n > 0 {
		back = kept[n-1].position
	}
	folder := filepath.Join(dir, journalDir)
	if len(all) == 0 {
		return damageIn(folder, 0, errors.New("all segments are missing"))
	}
	if all[0].first > back+1 {
		return damageIn(gapBefore(dir, all[0]), 0, errors.New("the segment is missing"))
	}
	if last := all[len(all)-1]; was.Last > segmentName(last) {
		return damageIn(filepath.Join(folder, was.Last+segmentExt), 0, errors.New("the segment is missing"))
	}
	for _, name := range slices.Sorted(maps.Keys(was.Segments)) {
		if name > segmentName(all[0]) && !slices.ContainsFunc(all, func(s segment) bool { return segmentName(s) == name }) {
			return damageIn(filepath.Join(folder, name+segmentExt), 0, errors.New("the segment is missing"))
		}
	}
	for _, s := range all {
		if filepath.Dir(s.path) != folder {
			continue // a snapshot has what it says
		}
		info, err := os.Stat(s.path)
		if err != nil {
			return err
		}
		switch want, full := was.Segments[segmentName(s)]; {
		case info.Size() == 0: // a segment has its head before its name
			return damageIn(s.path, 0, errors.New("the segment is empty"))
		case full && info.Size() != want:
			return damageIn(s.path, min(info.Size(), want), fmt.Errorf("it has %d bytes in place of %d", info.Size(), want))
		}
	}
	return nil
}
