package store_test

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"

	"usher/venue/store"
)

func eachEngineBench(b *testing.B, run func(b *testing.B, s *store.Store)) {
	for _, e := range engines {
		s := filled(b, closing(b, e.open(b)))
		b.Run(e.name, func(b *testing.B) { run(b, s) })
	}
}

func filled(b *testing.B, s *store.Store) *store.Store {
	b.Helper()
	for i := 0; i < 50_000; i += 5_000 {
		put := make(map[string][]byte, 5_000)
		for j := range 5_000 {
			put[benchKey(i+j)] = make([]byte, 128)
		}
		apply(b, s, nil, put)
	}
	return s
}

func benchKey(i int) string {
	return string(binary.BigEndian.AppendUint64([]byte("filled/"), uint64(i)))
}

func BenchmarkGet(b *testing.B) {
	keys := make([]string, 1024)
	for i := range keys {
		keys[i] = benchKey(i * 7919 % 50_000)
	}
	eachEngineBench(b, func(b *testing.B, s *store.Store) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, rev, err := s.Get(b.Context(), keys[i%len(keys)]); rev == 0 || err != nil {
				b.Fatal(rev, err)
			}
		}
	})
}

// BenchmarkPage is a page of 100 rows out of the midst of 50,000.
func BenchmarkPage(b *testing.B) {
	eachEngineBench(b, func(b *testing.B, s *store.Store) {
		b.ReportAllocs()
		for b.Loop() {
			if rows, _, err := s.Page(b.Context(), "filled/", benchKey(25_000), 100); len(rows) != 100 || err != nil {
				b.Fatal(len(rows), err)
			}
		}
	})
}

func BenchmarkApply(b *testing.B) {
	var n atomic.Int64 // over all runs, so that every key is new
	value := make([]byte, 128)
	eachEngineBench(b, func(b *testing.B, s *store.Store) {
		b.ReportAllocs()
		for b.Loop() {
			key := fmt.Sprint("new", n.Add(1))
			moved, err := s.Apply(b.Context(), map[string]uint64{key: 0}, map[string][]byte{key: value}, nil)
			if moved != "" || err != nil {
				b.Fatal(moved, err)
			}
		}
	})
}

// BenchmarkSync is one acknowledged write that survives a loss of power, by 1, 16 and 64 writers.
func BenchmarkSync(b *testing.B) {
	s := filled(b, closing(b, engines[0].open(b)))
	value := make([]byte, 128)
	var n atomic.Int64
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			work := make(chan struct{}, b.N)
			for range b.N {
				work <- struct{}{}
			}
			close(work)
			done := make(chan error, writers)
			b.ResetTimer()
			for range writers {
				go func() {
					var err error
					for range work {
						if _, err = s.Apply(b.Context(), nil, map[string][]byte{fmt.Sprint("new", n.Add(1)): value}, nil); err != nil {
							break
						}
					}
					done <- err
				}()
			}
			for range writers {
				if err := <-done; err != nil {
					b.Error(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}
