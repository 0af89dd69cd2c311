package ucan

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/multiformats/go-multibase"
	"pgregory.net/rapid"
)

func TestKeyExport(t *testing.T) {
	k, err := KeyFromSeed(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	text, err := k.export()
	if err != nil {
		t.Fatal(err)
	}
	// The layout, decoded independently: z, 0x1300 as a varint, the seed.
	enc, b, err := multibase.Decode(string(text))
	if err != nil || enc != multibase.Base58BTC || !bytes.Equal(b, append([]byte{0x80, 0x26}, bytes.Repeat([]byte{7}, 32)...)) {
		t.Errorf("Export decodes to %x, %c, %v", b, enc, err)
	}
	erased, err := parseKey(text)
	if err != nil || !sameKey(erased, k) {
		t.Fatalf("parseKey(Export) = %v, want the key", err)
	}
	erased.Zero()
	if _, err := erased.export(); err == nil {
		t.Error("Export of an erased key: no error")
	}
	if _, err := (Key{}).export(); err == nil {
		t.Error("Export of no key: no error")
	}
}

func TestKeyExportRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed")
		k, err := KeyFromSeed(seed)
		if err != nil {
			t.Skip(err)
		}
		text, err := k.export()
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > privText {
			t.Fatalf("Export has %d characters, parseKey takes %d", len(text), privText)
		}
		if back, err := parseKey(text); err != nil || !sameKey(back, k) {
			t.Fatalf("parseKey(%s): %v", text, err)
		}
	})
}

func TestParseKeyRefuses(t *testing.T) {
	k, err := KeyFromSeed(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	exported, err := k.export()
	if err != nil {
		t.Fatal(err)
	}
	good := string(exported)
	public, _ := multibase.Encode(multibase.Base58BTC, append([]byte{0xed, 0x01}, bytes.Repeat([]byte{7}, 32)...))
	zeros, _ := multibase.Encode(multibase.Base58BTC, append([]byte{0x80, 0x26}, make([]byte, 32)...))
	base64, _ := multibase.Encode(multibase.Base64url, append([]byte{0x80, 0x26}, bytes.Repeat([]byte{7}, 32)...))
	for _, c := range []struct{ name, text, says string }{
		{"empty", "", "empty"},
		{"a DID", k.DID().String(), "public name"},
		{"another base", base64, "begins with z"},
		{"too long", "z" + strings.Repeat("1", 4096), "begins with z"},
		{"not base58", good[:20] + "0" + good[21:], "not base58btc"},
		{"cut short", good[:len(good)-3], "cut short"},
		{"a public key", public, "something else"},
		{"zero seed", zeros, "all zeros"},
		{"a space", good + " ", "not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseKey([]byte(c.text))
			if !errors.Is(err, errKeyText) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("parseKey = %v, want %q", err, c.says)
			}
			if len(c.text) > 10 && err != nil && strings.Contains(err.Error(), c.text[4:10]) {
				t.Errorf("the error repeats the text: %v", err)
			}
		})
	}
}

func TestKeyFile(t *testing.T) {
	k, err := KeyFromSeed(bytes.Repeat([]byte{9}, 32))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.key")
	if err := k.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	back, err := ReadKeyFile(path)
	if err != nil || !sameKey(back, k) {
		t.Fatalf("ReadKeyFile = %v, want the key", err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := KeyFromSeed(bytes.Repeat([]byte{10}, 32))
	if err != nil {
		t.Fatal(err)
	}
	if err := other.WriteFile(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("WriteFile over a file = %v, want ErrExist", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed (%v)", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, want the key alone (%v)", entries, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKeyFile(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("ReadKeyFile of a file that others read = %v, want chmod 600", err)
	}
	if _, err := ReadKeyFile(dir); err == nil {
		t.Error("ReadKeyFile of a folder: no error")
	}
}
