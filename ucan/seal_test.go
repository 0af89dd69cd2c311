package ucan

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func testSealer(t testing.TB, name string) *Sealer {
	t.Helper()
	s, err := NewSealer(testKey(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealOpen(t *testing.T) {
	s := testSealer(t, "seals")
	box := s.Seal("s/bank", []byte("hunter2"))
	if got, err := s.Open("s/bank", box); err != nil || string(got) != "hunter2" {
		t.Errorf("Open = %q, %v", got, err)
	}
	if again := s.Seal("s/bank", []byte("hunter2")); bytes.Equal(again, box) {
		t.Error("two boxes of one secret are equal: the nonce is not fresh")
	}
	if _, err := s.Open("s/other", box); !errors.Is(err, ErrSealed) {
		t.Errorf("another name: %v", err)
	}
	if _, err := s.Open("s/ban", box); !errors.Is(err, ErrSealed) {
		t.Errorf("a shorter name: %v", err)
	}
	for i := range box {
		bad := bytes.Clone(box)
		bad[i] ^= 1
		if _, err := s.Open("s/bank", bad); !errors.Is(err, ErrSealed) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if _, err := s.Open("s/bank", box[:i]); !errors.Is(err, ErrSealed) {
			t.Fatalf("cut to %d bytes: %v", i, err)
		}
	}
	if _, err := testSealer(t, "another").Open("s/bank", box); !errors.Is(err, ErrSealed) {
		t.Errorf("another key: %v", err)
	}
}

func TestSealKey(t *testing.T) {
	s, k := testSealer(t, "seals"), testKey(t, "alice")
	box, err := k.Seal(s)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(box, k.seed()) {
		t.Error("the box holds the seed in clear")
	}
	got, err := OpenKey(s, k.DID(), box)
	if err != nil || !sameKey(got, k) {
		t.Errorf("OpenKey = %v, %v", got.DID(), err)
	}
	if _, err := OpenKey(s, testKey(t, "bob").DID(), box); !errors.Is(err, ErrSealed) {
		t.Errorf("alice's box opened as bob's: %v", err)
	}
	k.Zero()
	if _, err := k.Seal(s); err == nil {
		t.Error("an erased key was sealed")
	}
	if _, err := NewSealer(k); err == nil {
		t.Error("an erased key seals")
	}
}

func TestKeyFromFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "venue.key")
	k, err := KeyFromFile(path, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v; want 0600", info.Mode(), err)
	}
	if again, err := KeyFromFile(path, rand.Reader); err != nil || !sameKey(k, again) {
		t.Errorf("the second opening has another key: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("%d files left in the folder, want the key alone", len(left))
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o644, 0o601} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := KeyFromFile(path, rand.Reader); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

func TestKeyFromFileRefused(t *testing.T) {
	text, err := testKey(t, "k").export()
	if err != nil {
		t.Fatal(err)
	}
	good := string(text)
	dir := t.TempDir()
	for name, content := range map[string]string{
		"empty":     "",
		"raw bytes": strings.Repeat("\xff", 32),
		"short":     good[:20] + "\n",
		"two lines": good + "\n\n",
		"trailing":  good + " \n",
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := KeyFromFile(path, rand.Reader); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if after, _ := os.ReadFile(path); string(after) != content {
			t.Errorf("%s: the file was replaced", name)
		}
	}
	if _, err := KeyFromFile(dir, rand.Reader); err == nil {
		t.Error("a folder was taken for a key file")
	}
	if _, err := KeyFromFile(filepath.Join(dir, "none", "k"), rand.Reader); err == nil {
		t.Error("a key file appeared in a folder that is missing")
	}
	path := filepath.Join(dir, "dry")
	if _, err := KeyFromFile(path, bytes.NewReader(nil)); err == nil {
		t.Error("a key was made without randomness")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a failed first use left a file behind")
	}
}

func TestKeyFromFileRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	keys := make([]Key, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], err = KeyFromFile(path, rand.Reader); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		if !sameKey(k, keys[0]) {
			t.Fatal("two first users have different keys")
		}
	}
}
