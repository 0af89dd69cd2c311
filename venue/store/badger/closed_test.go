package badger

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"usher/venue/store"
)

// What others remove while it is read fails, and does not keep the reading from its end.
func TestClosedWhoseFilesGo(t *testing.T) {
	for _, files := range []string{"*.sst", "*.vlog"} {
		t.Run(files, func(t *testing.T) {
			dir := t.TempDir()
			i, err := Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := i.Write(1, []store.Op{{Kind: store.OpPut, Key: "large", Value: bytes.Repeat([]byte("x"), 5000)}}); err != nil {
				t.Fatal(err)
			}
			if err := i.Close(); err != nil {
				t.Fatal(err)
			}
			c, err := OpenRest(dir, &Options{})
			if err != nil {
				t.Fatal(err)
			}
			gone, err := filepath.Glob(filepath.Join(dir, files))
			if err != nil || len(gone) == 0 {
				t.Fatalf("there are no %s: %v", files, err)
			}
			for _, path := range gone {
				if err := os.Truncate(path, 0); err != nil { // as Badger does
					t.Fatal(err)
				}
			}
			if value, _, err := c.Get("large"); err == nil {
				t.Errorf("%d bytes are read", len(value))
			}
			ended := make(chan error)
			go func() { ended <- c.Close() }()
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Error("the reading does not end")
			}
		})
	}
}
