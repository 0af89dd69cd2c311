package care_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"usher/venue/care"
)

// entry is an entry of a tar with a content, as a program that is none of ours writes it.
func entry(kind byte, name, content string) []byte {
	head := make([]byte, 512)
	copy(head, name)
	copy(head[100:], "0000600\x000000000\x000000000\x00")
	copy(head[124:], fmt.Sprintf("%011o\x00%011o\x00        ", len(content), 0))
	head[156] = kind
	copy(head[257:], "ustar\x0000")
	sum := 0
	for _, b := range head {
		sum += int(b)
	}
	copy(head[148:], fmt.Sprintf("%06o\x00 ", sum))
	return append(head, content+strings.Repeat("\x00", -len(content)&511)...)
}

// A part that claims to have more than the backup has of it is none: a small file would fill a disk.
func TestASparsePartIsNone(t *testing.T) {
	record := func(key, value string) string {
		text := " " + key + "=" + value + "\n"
		return fmt.Sprintf("%d%s", len(text)+2, text)
	}
	var hostile bytes.Buffer
	hostile.Write(entry('x', "pax", record("GNU.sparse.size", fmt.Sprint(64<<20))+record("GNU.sparse.numblocks", "1")+record("GNU.sparse.map", "0,0")))
	hostile.Write(entry('0', "journal/1", ""))
	_, err := care.Restore(t.Context(), bytes.NewReader(hostile.Bytes()), care.Key{}, filepath.Join(t.TempDir(), "new"), time.Time{}, nil)
	if err == nil || !strings.Contains(err.Error(), "is no part of one") {
		t.Errorf("a backup of %d bytes with a part of 64 MiB: %v", hostile.Len(), err)
	}
}
