package badger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Format is the number of the form in which data folders are written now. It stands in each folder
// in the file "format".
const Format = 3

const (
	formatFile = "format"
	formatText = "usher data folder, format %d\n"
)

// checkFolder refuses a folder of another format, and one that held data and has lost its list of
// tables: Badger would open that as a new one and delete the tables. It changes nothing there. To a
// folder without data it gives the format number, before anything else is written.
func checkFolder(dir string) error {
	raw, err := os.ReadFile(filepath.Join(dir, formatFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	names, listErr := readNames(dir)
	if listErr != nil && !errors.Is(listErr, fs.ErrNotExist) {
		return listErr
	}
	data := ""
	listed := false
	for _, name := range names {
		switch filepath.Ext(name) {
		case ".sst", ".mem", ".vlog":
			data = name
		}
		listed = listed || name == "MANIFEST"
	}
	switch {
	case err != nil && (listed || data != ""):
		return fmt.Errorf("this data folder has no format number: an older version of usher wrote it, and this one (format %d) cannot read it: keep it for the older version, and give this one another folder", Format)
	case err != nil:
		return writeFormat(dir)
	case data != "" && !listed:
		return fmt.Errorf("the file MANIFEST is missing though %s is there: the folder is damaged, and opening it would delete what is left: restore it from a copy", data)
	}
	var number int
	if _, err := fmt.Sscanf(string(raw), formatText, &number); err != nil {
		return fmt.Errorf("the file %s does not say a format number: %.40q: restore it from a copy", formatFile, strings.TrimSpace(string(raw)))
	}
	if number != Format {
		return fmt.Errorf("this data folder has format %d and this version of usher reads format %d: use the version that wrote it, or another folder", number, Format)
	}
	return nil
}

// IsNew reports whether a folder is missing or has never been a data folder, as far
// as can be seen from outside.
func IsNew(dir string) bool {
	for _, name := range []string{formatFile, "MANIFEST"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

func writeFormat(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// The name appears only with the whole text, and both are on disk before data follows.
	f, err := os.CreateTemp(dir, formatFile)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already, unless something failed
	_, err = fmt.Fprintf(f, formatText, Format)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, formatFile)); err != nil {
		return err
	}
	return syncFolder(dir)
}
