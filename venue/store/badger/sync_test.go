package badger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/venue/store"
)

func TestSetAside(t *testing.T) {
	tests := []struct {
		name, settled string
		names         []string
		want          []string
		wantUpTo      string
	}{
		{"one log", "", []string{"00001.mem", "000001.vlog", "000003.sst"}, nil, ""},
		{"one set aside", "", []string{"00002.mem", "00001.mem"}, []string{"00001.mem"}, "00001.mem"},
		{"synced before", "00001.mem", []string{"00001.mem", "00002.mem"}, nil, "00001.mem"},
		{"newly set aside", "00001.mem", []string{"00003.mem", "00001.mem", "00002.mem"}, []string{"00002.mem"}, "00002.mem"},
		{"beyond the padding", "99998.mem", []string{"100000.mem", "99999.mem", "100001.mem"}, []string{"99999.mem", "100000.mem"}, "100000.mem"},
		{"none", "", nil, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, upTo := setAside(tt.names, ".mem", tt.settled)
			if diff := cmp.Diff(tt.want, got); diff != "" || upTo != tt.wantUpTo {
				t.Errorf("setAside() up to %q, want %q (-want +got):\n%s", upTo, tt.wantUpTo, diff)
			}
		})
	}
}

func TestFsync(t *testing.T) {
	dir := t.TempDir()
	if err := fsync(filepath.Join(dir, "missing")); err != nil {
		t.Errorf("fsync of a log that became a table = %v, want nil", err)
	}
	if err := fsync(dir); err == nil {
		t.Error("fsync of what cannot be opened = nil, want an error")
	}
}

// TestSyncWhileLogsRotate writes past several memtables and value logs between the syncs.
func TestSyncWhileLogsRotate(t *testing.T) {
	dir := t.TempDir()
	e, err := openEngine(dir, nil, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(e)
	defer s.Close()
	megabytes := 120
	if testing.Short() {
		megabytes = 70 // a log has 64
	}
	for range megabytes {
		mustApply(t, s, map[string][]byte{"k": make([]byte, 1_000_000)})
		if err := s.Sync(t.Context()); err != nil {
			t.Fatalf("Sync() = %v", err)
		}
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.vlog"))
	if err != nil || len(logs) < 2 {
		t.Fatalf("%d value logs, %v; the test needs two", len(logs), err)
	}
	if got := e.sync.settled[".vlog"]; got == "" {
		t.Error("no full value log was synced")
	}
	if _, err := os.Stat(filepath.Join(dir, e.sync.settled[".vlog"])); err != nil {
		t.Error(err)
	}
}

// TestSyncShares proves the group commit: all callers that arrive while a flush runs get the next
// one, and nobody gets a flush that began before the call.
func TestSyncShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newSyncer()
		var flushes atomic.Int64
		gate := make(chan struct{})
		flush := func() error { flushes.Add(1); <-gate; return nil }
		var wg sync.WaitGroup
		call := func() {
			if err := y.do(t.Context(), flush); err != nil {
				t.Errorf("do() = %v", err)
			}
		}
		wg.Go(call)
		synctest.Wait()
		for range 50 {
			wg.Go(call)
		}
		synctest.Wait()
		if n := flushes.Load(); n != 1 {
			t.Fatalf("%d flushes run at once, want 1", n)
		}
		gate <- struct{}{}
		synctest.Wait()
		if n := flushes.Load(); n != 2 {
			t.Fatalf("%d flushes have begun, want 2", n)
		}
		gate <- struct{}{}
		wg.Wait()
		if n := flushes.Load(); n != 2 {
			t.Errorf("51 callers took %d flushes, want 2", n)
		}
	})
}

func TestSyncFailsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		y := newSyncer()
		boom, gate := errors.New("disk on fire"), make(chan struct{})
		var fail atomic.Bool
		flush := func() error {
			<-gate
			if fail.Load() {
				return boom
			}
			return nil
		}
		first := make(chan error, 1)
		go func() { first <- y.do(t.Context(), flush) }()
		synctest.Wait()
		rest := make(chan error, 5)
		for range 4 {
			go func() { rest <- y.do(t.Context(), flush) }()
		}
		gone, cancel := context.WithCancel(t.Context())
		go func() { rest <- y.do(gone, flush) }()
		synctest.Wait()
		cancel() // whoever gives up must not take the round with it
		if err := <-rest; !errors.Is(err, context.Canceled) {
			t.Errorf("do() = %v, want it cancelled", err)
		}
		gate <- struct{}{}
		if err := <-first; err != nil {
			t.Errorf("first = %v", err)
		}
		fail.Store(true)
		gate <- struct{}{}
		for range 4 {
			if err := <-rest; !errors.Is(err, boom) {
				t.Errorf("do() = %v, want %v", err, boom)
			}
		}
	})
}
