package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// folderFormat is the number of the form in which data folders are written now. It stands in each folder
// in the file "format".
const folderFormat = 5

const (
	formatFile = "format"
	formatText = "usher data folder, format %d\n"
)

// checkFolder refuses a folder of another format, and one that held a venue and has lost its journal.
// It changes nothing there. A folder is fresh when it may become one.
func checkFolder(dir string, readOnly bool) (fresh bool, err error) {
	held, err := holds(dir)
	if err != nil {
		return false, err
	}
	raw, err := os.ReadFile(filepath.Join(dir, formatFile))
	switch {
	case errors.Is(err, fs.ErrNotExist) && held == "" && !readOnly:
		return true, os.MkdirAll(dir, 0o700)
	case errors.Is(err, fs.ErrNotExist) && held == "":
		return false, errors.New("there is no data folder")
	case errors.Is(err, fs.ErrNotExist) && (held == "MANIFEST" || held == "venue.key"):
		return false, fmt.Errorf("%s is there, and the file %s is not: an older version of usher wrote this data folder, or it has lost its journal: keep it for the older version, or restore it from a backup", held, formatFile)
	case errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("%s is there, and the file %s is missing: restore it from a backup", held, formatFile)
	case err != nil:
		return false, err
	}
	var number int
	if _, err := fmt.Sscanf(string(raw), formatText, &number); err != nil || fmt.Sprintf(formatText, number) != string(raw) {
		return false, fmt.Errorf("the file %s does not say a format number: %.40q: restore it from a backup", formatFile, strings.TrimSpace(string(raw)))
	}
	if number != folderFormat {
		return false, fmt.Errorf("this data folder has format %d and this version of usher reads format %d: use the version that wrote it, or another folder", number, folderFormat)
	}
	if _, err := os.Lstat(filepath.Join(dir, journalDir)); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if held != "" {
		return false, fmt.Errorf("the folder %s is missing though %s is there: restore it from a backup: nothing was changed", journalDir, held)
	}
	return !readOnly, nil
}

// holds names something in a folder that only a folder of data has; "" where there is none.
func holds(dir string) (string, error) {
	for _, name := range []string{journalDir, snapshotsDir, archiveDir, indexDir, "venue.key", "MANIFEST"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return name, err
		}
	}
	return "", nil
}

// IsNew reports whether a folder is missing or has never been a data folder, as far
// as can be seen from outside.
func IsNew(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, formatFile)); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	held, err := holds(dir)
	return held == "" && err == nil
}

// lockFile is held by the process that has a folder open. It stays, as removing it could remove
// another's.
const lockFile = "LOCK"

// A child process that is begun while a folder is closed has its lock, too, until the
// child's program runs: the next to open the folder here waits so often for so long.
const (
	lockTries = 50
	lockWait  = 10 * time.Millisecond
)

var errLocked = errors.New("the file is locked")

// openLock opens the file of the lock and locks it, or returns errLocked.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// takeLock takes the folder, or names the process that has it.
func takeLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	f, err := openLock(path)
	for try := 0; errors.Is(err, errLocked); try++ {
		by := holder(path)
		if by != thisProcess || try == lockTries {
			return nil, &LockError{by}
		}
		time.Sleep(lockWait)
		f, err = openLock(path)
	}
	if err != nil {
		return nil, err
	}
	if err = f.Truncate(0); err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// LockError says that another process has a folder open. Opening it for reading only is possible.
type LockError struct{ By string }

func (e *LockError) Error() string {
	return e.By + " has it open; stop that one first, or use another folder"
}

const thisProcess = "this process"

func holder(path string) string {
	raw, _ := os.ReadFile(path)
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	switch {
	case err != nil:
		return "another process"
	case pid == os.Getpid():
		return thisProcess
	}
	return fmt.Sprintf("process %d", pid)
}
