package store

import (
	"encoding/binary"
	"fmt"
	"testing"
)

func BenchmarkGet(b *testing.B) {
	for _, kind := range []string{"disk", "memory"} {
		b.Run(kind, func(b *testing.B) {
			s := filled(b, kind)
			var key [8]byte
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				binary.BigEndian.PutUint64(key[:], uint64(i*7919%50_000))
				if _, rev, err := s.Get(b.Context(), key[:]); rev == 0 || err != nil {
					b.Fatal(rev, err)
				}
			}
		})
	}
}

func BenchmarkScan1000(b *testing.B) {
	s := filled(b, "disk")
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		err := s.Scan(b.Context(), nil, nil, func(_, _ []byte) (bool, error) { n++; return n < 1000, nil })
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	for _, kind := range []string{"disk", "memory"} {
		b.Run(kind, func(b *testing.B) {
			s := filled(b, kind)
			value := make([]byte, 128)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				key := fmt.Sprintf("new%d", i)
				ok, err := s.Apply(b.Context(), map[string]uint64{key: 0}, map[string][]byte{key: value}, nil)
				if !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

// BenchmarkSync is one acknowledged write that must not be forgotten, two and 16 writers at once (on two
// processors).
func BenchmarkSync(b *testing.B) {
	for _, writers := range []int{2, 16} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := filled(b, "disk")
			value := make([]byte, 128)
			b.SetParallelism(writers / 2)
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					key := fmt.Sprintf("%p%d", pb, i)
					if _, err := s.Apply(b.Context(), nil, map[string][]byte{key: value}, nil); err != nil {
						b.Error(err)
					}
					if err := s.Sync(b.Context()); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

func filled(b *testing.B, kind string) *Store {
	b.Helper()
	dir := ""
	if kind == "disk" {
		dir = b.TempDir()
	}
	s := open(b, dir)
	for i := 0; i < 50_000; i += 5_000 {
		put := make(map[string][]byte, 5_000)
		for j := range 5_000 {
			put[string(binary.BigEndian.AppendUint64(nil, uint64(i+j)))] = make([]byte, 128)
		}
		mustApply(b, s, nil, put)
	}
	return s
}
