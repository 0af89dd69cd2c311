package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkRebuild makes the index of a million rows anew from the journal alone.
func BenchmarkRebuild(b *testing.B) {
	dir := b.TempDir()
	j := open(b, dir, nil)
	const rows, atOnce = 1_000_000, 5000
	for n := 0; n < rows; n += atOnce {
		batch := make(map[string]string, atOnce)
		for i := range atOnce {
			batch[fmt.Sprintf("row/%08d", (n+i)*7919%rows)] = fmt.Sprintf("value %0100d", n+i)
		}
		put(b, j, batch)
	}
	shut(b, j)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		if err := os.RemoveAll(filepath.Join(dir, indexDir)); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		j := open(b, dir, nil)
		b.StopTimer()
		shut(b, j)
		b.StartTimer()
	}
}
