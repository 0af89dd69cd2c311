package care

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"

	"usher/venue"
	"usher/venue/store/folder"
	"usher/venue/store/journal"
)

// Manifest is the last part of a backup, which says what all others are.
type Manifest struct {
	Form     int       `json:"form"`
	Venue    string    `json:"venue"` // its DID, as its checkpoints say; empty where there are none yet
	Began    time.Time `json:"began"` // what was acknowledged before is in it
	Position uint64    `json:"position"`
	Time     time.Time `json:"time"` // of the last record
	Parts    []Piece   `json:"parts"`
}

// Piece is a file in a backup.
type Piece struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

const (
	manifestForm = 1
	manifestName = "manifest.json"
	maxManifest  = 64 << 20
	tries        = 3 // of a backup during which files were removed for their age
)

// Backup writes a data folder to a new file, which appears once it was read back
// whole. A venue may have the folder open, in this process or another. In the backup
// is all that was acknowledged before it began.
func Backup(ctx context.Context, dir, out string, lock Lock, progress func(string)) (m Manifest, size int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(out), ".backup-*")
	if err != nil {
		return m, 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.RemoveAll(f.Name())) }()
	var key Key
	for try := 1; ; try++ {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return m, 0, err
		}
		if err := f.Truncate(0); err != nil {
			return m, 0, err
		}
		m, key.identities, err = write(ctx, dir, f, lock, progress)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || try == tries {
			return m, 0, err
		}
	}
	if err := f.Sync(); err != nil {
		return m, 0, err
	}
	if size, err = f.Seek(0, io.SeekEnd); err != nil {
		return m, 0, err
	}
	say(progress, "reading the backup back")
	if err := verify(ctx, f, key, m); err != nil {
		return m, 0, fmt.Errorf("the backup is not what was written: %w", err)
	}
	return m, size, appear(f.Name(), out)
}

// appear gives a file its name, unless another has it, also on a disk that has no
// links.
func appear(from, to string) error {
	err := os.Link(from, to)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		if _, there := os.Lstat(to); errors.Is(there, fs.ErrNotExist) {
			err = os.Rename(from, to)
		}
	}
	if err != nil {
		return err
	}
	return folder.Sync(filepath.Dir(to))
}

// settle gives a folder that was made its name, in the place of an empty one.
func settle(made, dir string) error {
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(made, dir); err != nil {
		return err
	}
	return folder.Sync(filepath.Dir(filepath.Clean(dir)))
}

// Stream is [Backup] to a stream, which is not read back.
func Stream(ctx context.Context, dir string, out io.Writer, lock Lock, progress func(string)) (Manifest, error) {
	m, _, err := write(ctx, dir, out, lock, progress)
	return m, err
}

func say(progress func(string), text string) {
	if progress != nil {
		progress(text)
	}
}

func write(ctx context.Context, dir string, out io.Writer, lock Lock, progress func(string)) (m Manifest, key []age.Identity, err error) {
	m = Manifest{Form: manifestForm, Began: time.Now().UTC()}
	if m.Venue, err = who(dir); err != nil {
		return m, nil, err
	}
	sealed, key, err := lock.seal(out)
	if err != nil {
		return m, nil, err
	}
	b := backup{tar: tar.NewWriter(sealed), manifest: &m, progress: progress}
	// The checkpoints first: each is in the journal before it is beside it.
	for _, name := range []string{keyFile, filepath.Base(venue.CheckpointFile(dir))} {
		if err := b.file(dir, name); err != nil && (name == keyFile || !errors.Is(err, fs.ErrNotExist)) {
			return m, nil, err
		}
	}
	say(progress, "reading the journal")
	end, err := journal.Files(ctx, dir, b.put)
	if err != nil {
		return m, nil, err
	}
	m.Position, m.Time = end.Position, end.Time.UTC()
	raw, err := json.Marshal(m)
	if err == nil {
		err = b.raw(manifestName, raw)
	}
	return m, key, errors.Join(err, b.tar.Close(), sealed.Close())
}

// who is the venue of a folder, by the origin of its checkpoints.
func who(dir string) (string, error) {
	raw, err := os.ReadFile(venue.CheckpointFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	origin, _, _ := strings.Cut(strings.TrimLeft(string(raw), "\n"), "\n")
	return origin, err
}

// backup writes parts to a tar.
type backup struct {
	tar      *tar.Writer
	manifest *Manifest
	progress func(string)
	bytes    int64
}

func (b *backup) file(dir, name string) error {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return b.put(name, info.Size(), io.LimitReader(f, info.Size()))
}

func (b *backup) put(name string, size int64, content io.Reader) error {
	if err := b.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, Format: tar.FormatPAX}); err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(b.tar, sum), content)
	if err == nil && n != size {
		err = fmt.Errorf("%s became shorter while it was read", name)
	}
	if err != nil {
		return err
	}
	b.manifest.Parts = append(b.manifest.Parts, Piece{name, size, hex.EncodeToString(sum.Sum(nil))})
	b.bytes += size
	say(b.progress, fmt.Sprintf("backing up: %d MB", b.bytes>>20))
	return nil
}

func (b *backup) raw(name string, raw []byte) error {
	if err := b.tar.WriteHeader(&tar.Header{Name: name, Size: int64(len(raw)), Mode: 0o600, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := b.tar.Write(raw)
	return err
}

// verify reads a backup and compares it with what was written.
func verify(ctx context.Context, in io.ReadSeeker, key Key, want Manifest) error {
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	got, err := unpack(ctx, in, key, func(_ Piece, content io.Reader) error {
		_, err := io.Copy(io.Discard, content)
		return err
	})
	if err == nil && (got.Position != want.Position || len(got.Parts) != len(want.Parts)) {
		err = errors.New("it ends elsewhere")
	}
	return err
}
