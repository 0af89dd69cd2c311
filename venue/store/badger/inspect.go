package badger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"
)

// findings are what is seen of a folder before Badger opens it.
type findings struct {
	version uint64 // of the newest row in tables
	suspect bool   // it was not closed, or there are tables that the list does not name, or logs beside a note
}

// NoteFile lists the files with rows of a folder that was closed, with their sizes in bytes. It is
// gone while the folder is open. Where it is missing, the index is suspect.
const NoteFile = "closed.json"

// inspect looks at each file of a folder, and reads each table through, as Badger ends the process
// at some that are damaged, opens without others, and as a new index where its list is gone. Of what
// it finds good it removes only what a process that was killed has left empty.
func inspect(dir string) (found findings, err error) {
	defer contain(&err)
	defer faulty()()
	files, err := sizesOf(dir)
	if err != nil {
		return found, err
	}
	tables, logs := 0, 0
	for name, size := range files {
		switch ext := filepath.Ext(name); {
		case ext == ".sst":
			tables++
		case (ext == logExt || ext == ".vlog") && size == 0: // made, and not yet given a size
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return found, err
			}
			delete(files, name)
		case ext == logExt:
			logs++
		}
	}
	if len(files) == 0 {
		return found, nil
	}
	listed, err := list(dir)
	if err != nil {
		return found, err
	}
	err = checkNote(dir, files)
	closed := err == nil
	if closed {
		err = os.Remove(filepath.Join(dir, NoteFile))
	}
	if err != nil && !errors.Is(err, ErrNotClosed) {
		return found, err
	}
	found.version, err = readTables(dir, listed, files, os.O_RDWR)
	found.suspect = !closed || tables > len(listed.Tables) || logs > 0
	return found, err
}

// readTables reads the tables of a list through, and returns the version of the newest row.
func readTables(dir string, listed badger.Manifest, sizes map[string]int64, flag int) (version uint64, err error) {
	for id, t := range listed.Tables {
		name := filepath.Base(table.NewFilename(id, dir))
		if _, there := sizes[name]; !there {
			return 0, fmt.Errorf("the table %s is missing", name)
		}
		newest, err := readTable(filepath.Join(dir, name), flag, t.Compression)
		if err != nil {
			return 0, fmt.Errorf("the table %s is damaged: %w", name, err)
		}
		version = max(version, newest)
	}
	return version, nil
}

// list reads Badger's list of tables.
func list(dir string) (m badger.Manifest, err error) {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		return m, err
	}
	defer f.Close()
	m, end, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions(dir).WithLogger(nil))
	if err != nil {
		return m, fmt.Errorf("the list of tables is damaged: %w", err)
	}
	info, err := f.Stat()
	if err == nil && end != info.Size() {
		err = errors.New("the list of tables was cut")
	}
	return m, err
}

// checkNote holds the files with rows against the note of whoever closed the folder last, if it was closed.
func checkNote(dir string, files map[string]int64) error {
	raw, err := os.ReadFile(filepath.Join(dir, NoteFile))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotClosed
	}
	if err != nil {
		return err
	}
	var was map[string]int64
	if err := json.Unmarshal(raw, &was); err != nil {
		return fmt.Errorf("the list of files in %s is damaged: %w", NoteFile, err)
	}
	if is := withRows(files); !maps.Equal(was, is) {
		return fmt.Errorf("the files are not those that were there when the index was closed: %s", difference(was, is))
	}
	return nil
}

func difference(was, is map[string]int64) string {
	names := slices.Sorted(maps.Keys(was))
	for _, name := range append(names, slices.Sorted(maps.Keys(is))...) {
		if was[name] != is[name] {
			return fmt.Sprintf("%s has %d bytes and had %d", name, is[name], was[name])
		}
	}
	return "none"
}

// logExt is that of the logs of memtables. Badger reads each that it finds again, also one that it
// could not remove when its rows were in tables: rows would come back that were deleted since.
const logExt = ".mem"

// note lists the files of a folder that was closed, in whose tables all rows are, and removes the
// logs that Badger has left.
func note(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "*"+logExt))
	for _, log := range logs {
		err = errors.Join(err, os.Remove(log))
	}
	if err != nil {
		return err
	}
	files, err := sizesOf(dir)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(withRows(files))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, NoteFile), raw, 0o600)
}

// sizesOf are the sizes of the files in a folder, in bytes.
func sizesOf(dir string) (map[string]int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]int64)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		sizes[e.Name()] = info.Size()
	}
	return sizes, nil
}

// withRows are those of files that hold rows.
func withRows(files map[string]int64) map[string]int64 {
	files = maps.Clone(files)
	maps.DeleteFunc(files, func(name string, _ int64) bool {
		ext := filepath.Ext(name)
		return ext != ".sst" && ext != ".vlog"
	})
	return files
}

// readTable reads a table through, checks each block's sum and the number of rows, and returns the
// version of its newest row.
func readTable(path string, flag int, compression options.CompressionType) (version uint64, err error) {
	f, err := z.OpenMmapFile(path, flag, 0)
	if err != nil {
		return 0, err
	}
	t, err := table.OpenTable(f, table.Options{BlockSize: 4 << 10, Compression: compression, ChkMode: options.OnBlockRead})
	if err != nil {
		return 0, errors.Join(err, f.Close(-1))
	}
	defer func() { err = errors.Join(err, t.Close(-1)) }()
	it := t.NewIterator(table.NOCACHE)
	defer func() { err = errors.Join(err, it.Close()) }()
	rows := uint32(0)
	for it.Rewind(); it.Valid(); it.Next() {
		rows++
	}
	if rows != t.KeyCount() { // the iterator ends at a block that it cannot read
		return 0, fmt.Errorf("%d of its %d rows can be read", rows, t.KeyCount())
	}
	return t.MaxVersion(), nil
}
