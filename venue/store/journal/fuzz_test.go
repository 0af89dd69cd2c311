package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"usher/venue/store"
)

// FuzzRecord: what is read as a record is what was written, and writing it again gives the same bytes.
func FuzzRecord(f *testing.F) {
	r := record{position: 7, time: time.Unix(1, 2), ops: []store.Op{
		{Kind: store.OpPut, Key: "key", Value: []byte("value")},
		{Kind: store.OpPut, Key: "empty", Value: []byte{}},
		{Kind: store.OpDelete, Key: strings.Repeat("k", store.MaxKeyBytes)},
	}}
	r.sum.add(hash(store.Row{Key: "key", Rev: 7}))
	f.Add(r.append(nil))
	f.Add((&record{position: 1}).append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, b := range [][]byte{raw, sealed(raw)} {
			r, err := readRecord(b)
			if err != nil {
				continue
			}
			again, err := readRecord(r.append(nil))
			if err != nil || !bytes.Equal(again.append(nil), r.append(nil)) {
				t.Fatalf("a record reads as %+v, and again as %+v, %v", r, again, err)
			}
		}
	})
}

// sealed gives bytes the checksum of a record.
func sealed(raw []byte) []byte {
	return binary.BigEndian.AppendUint32(bytes.Clone(raw), crc32.Checksum(raw, castagnoli))
}

// FuzzWalk: of segments that were harmed, each record that is read is one that was written, in its
// place; those that are missing are at the end, and the segments say so.
func FuzzWalk(f *testing.F) {
	dir := f.TempDir()
	j, err := Open(dir, nil)
	if err != nil {
		f.Fatal(err)
	}
	for n := range 40 {
		put(f, j, map[string]string{fmt.Sprint("key", n%7): strings.Repeat(fmt.Sprint(n), 1+n*n%900)}, fmt.Sprint("key", (n+3)%7))
	}
	shut(f, j)
	all, err := segments(dir)
	if err != nil {
		f.Fatal(err)
	}
	var written [][]byte
	end, err := walk(all, func(r *record) error {
		written = append(written, r.append(nil))
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	image, err := os.ReadFile(all[0].path)
	if err != nil {
		f.Fatal(err)
	}
	size := int(end.offset)
	f.Add(uint32(size/2), uint32(0), []byte{1}, false)
	f.Add(uint32(size-3), uint32(8), []byte{}, true)
	f.Add(uint32(0), uint32(16), []byte{0, 0, 0}, true)
	f.Add(uint32(512), uint32(600), bytes.Repeat([]byte{0}, 512), false)
	f.Fuzz(func(t *testing.T, at, from uint32, with []byte, cut bool) {
		raw := bytes.Clone(image[:size+4096])
		place := int(at) % size
		n := copy(raw[place:], with)
		copy(raw[place+n:], image[int(from)%size:int(from)%size+min(int(from)%97, max(0, size-place-n))]) // a part of elsewhere
		if cut {
			raw = raw[:place+n]
		}
		s := segment{path: filepath.Join(t.TempDir(), filepath.Base(all[0].path))}
		if err := os.WriteFile(s.path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		got := 0
		end, err := walk([]segment{s}, func(r *record) error {
			if got == len(written) || !bytes.Equal(r.append(nil), written[got]) {
				t.Fatalf("record %d was never written: %+v", got+1, r)
			}
			got++
			return nil
		})
		if err == nil && end.position != uint64(got) {
			t.Errorf("%d records, and the end is at %d", got, end.position)
		}
		if same := min(place, len(raw)); err == nil && got < len(written) && !cut && bytes.Contains(raw[same:], written[len(written)-1]) {
			t.Errorf("%d of %d records, no error, and the last stands there", got, len(written))
		}
	})
}
