package ucan

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// The feed has each revocation once, in the order in which they came, also those that
// came after a write that failed.
func TestFeed(t *testing.T) {
	kv := newMemKV()
	store, err := OpenStore(t.Context(), kv)
	if err != nil {
		t.Fatal(err)
	}
	key, err := KeyFromSeed(append(make([]byte, 31), 9))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	verifier := &Verifier{Now: func() time.Time { return now }, Store: store}
	var want []CID
	revoke := func(n byte) *Revocation {
		t.Helper()
		r, err := key.Revocation(cidOf(codecRaw, []byte{n}), now)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	read := func(after uint64) (got []CID, next uint64) {
		t.Helper()
		for {
			page, n, err := verifier.Store.Feed(t.Context(), after, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page {
				got = append(got, r.Target)
			}
			if after = n; len(page) < 2 {
				return got, n
			}
		}
	}
	for _, n := range []byte{5, 1, 3, 1, 9} {
		r := revoke(n)
		if err := verifier.Revoke(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(want, r.Target) {
			want = append(want, r.Target)
		}
	}
	got, next := read(0)
	if !slices.Equal(got, want) {
		t.Errorf("the feed has %v, want %v", got, want)
	}
	kv.fail = errors.New("the disk is full")
	failed := revoke(7)
	if err := verifier.Revoke(t.Context(), failed); !errors.Is(err, kv.fail) {
		t.Fatal(err)
	}
	kv.fail = nil
	if got, _ := read(next); len(got) > 0 {
		t.Errorf("what was not written is in the feed: %v", got)
	}
	if err := verifier.Revoke(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
	if got, next = read(next); !slices.Equal(got, []CID{failed.Target}) {
		t.Errorf("behind the last it has %v, want %v", got, failed.Target)
	}
	if _, _, err := verifier.Store.Feed(t.Context(), next+1, 2); !errors.Is(err, ErrCursor) {
		t.Errorf("from a place that is none: %v", err)
	}
}
