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
	"path/filepath"
	"strings"
)

// unpack goes through the parts of a backup, which take must read, and then compares
// them with the manifest. Nothing of them counts where unpack fails.
func unpack(ctx context.Context, in io.ReadSeeker, key Key, take func(p Piece, content io.Reader) error) (m Manifest, err error) {
	plain, err := key.open(in)
	if err != nil {
		return m, err
	}
	var seen []Piece
	for t := tar.NewReader(plain); ; {
		head, err := t.Next()
		if err = errors.Join(err, ctx.Err()); err != nil {
			return m, cutOff(err)
		}
		if head.Name == manifestName {
			if err := readManifest(t, &m); err != nil {
				return m, err
			}
			_, end := t.Next()
			more, err := io.Copy(io.Discard, plain)
			if err != nil {
				return m, cutOff(err)
			}
			if !errors.Is(end, io.EOF) || more > 0 {
				return m, errors.New("the backup goes on behind its manifest")
			}
			return m, m.lists(seen)
		}
		if !isPart(head) {
			return m, fmt.Errorf("the backup holds %q, which is no part of one", head.Name)
		}
		sum := sha256.New()
		p := Piece{Name: head.Name, Size: head.Size}
		if err := take(p, io.TeeReader(t, sum)); err != nil {
			return m, cutOff(err)
		}
		p.SHA256 = hex.EncodeToString(sum.Sum(nil))
		seen = append(seen, p)
	}
}

func cutOff(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is no backup, or it was cut: it ends without a manifest")
	case errors.Is(err, tar.ErrHeader):
		return errors.New("it is no backup of usher's, or it was damaged")
	}
	return err
}

func readManifest(in io.Reader, m *Manifest) error {
	raw, err := io.ReadAll(io.LimitReader(in, maxManifest))
	if err == nil {
		err = json.Unmarshal(raw, m)
	}
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	if m.Form != manifestForm {
		return fmt.Errorf("the backup has form %d, and this version of usher reads form %d", m.Form, manifestForm)
	}
	return nil
}

// lists says which part is not what the manifest says.
func (m *Manifest) lists(seen []Piece) error {
	for i, p := range seen {
		if i >= len(m.Parts) || m.Parts[i] != p {
			return fmt.Errorf("%s is not what the manifest says: the backup is damaged", p.Name)
		}
	}
	if len(seen) != len(m.Parts) {
		return fmt.Errorf("%s is missing: the backup is damaged", m.Parts[len(seen)].Name)
	}
	return nil
}

// isPart reports whether a name may be a file of a data folder: of it, or of a folder
// in it. All of its bytes are in the backup: of a sparse file a few stand for as many as
// it says.
func isPart(h *tar.Header) bool {
	for record := range h.PAXRecords {
		if strings.HasPrefix(record, "GNU.sparse.") {
			return false
		}
	}
	if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) || strings.Contains(h.Name, `\`) {
		return false
	}
	folder, name, below := strings.Cut(h.Name, "/")
	if !below {
		return folder == "format" || folder == keyFile || folder == "ledger.checkpoints"
	}
	return (folder == "journal" || folder == "archive" || folder == "snapshots") && !strings.Contains(name, "/") && !strings.HasPrefix(name, ".")
}
