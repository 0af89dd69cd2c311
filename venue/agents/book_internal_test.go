package agents

import (
	"context"
	"testing"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/ucan"
	"usher/venue/store"
	"usher/venue/store/memory"
)

// slow is an engine whose next read of a key takes so long that something else happens
// between it and its answer.
type slow struct {
	store.Engine
	key   string
	while func()
}

func (s *slow) Get(key string) ([]byte, uint64, error) {
	value, rev, err := s.Engine.Get(key)
	if while := s.while; while != nil && key == s.key {
		s.while = nil
		while()
	}
	return value, rev, err
}

// Who has read a record before it was changed does not put it over the newer one.
func TestASlowReaderKeepsNothingOld(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(ctx context.Context, b *Book, k key, rec *record) error
		want   string // status; empty: there is nobody
	}{
		{"removed", func(ctx context.Context, b *Book, k key, rec *record) error {
			_, err := b.put(ctx, map[string]uint64{recordKey(k): rec.rev}, k, nil)
			return err
		}, ""},
		{"removed, and made again", func(ctx context.Context, b *Book, k key, rec *record) error {
			if _, err := b.put(ctx, nil, k, nil); err != nil {
				return err
			}
			if _, _, err := b.refresh(ctx, k); err != nil {
				return err
			}
			_, err := b.put(ctx, nil, k, &record{Status: agents.Suspended, Life: "2", Caps: caps.Unrestricted()})
			return err
		}, agents.Suspended},
		{"suspended", func(ctx context.Context, b *Book, k key, rec *record) error {
			next := *rec
			next.Status = agents.Suspended
			_, err := b.put(ctx, nil, k, &next)
			return err
		}, agents.Suspended},
	} {
		t.Run(tc.name, func(t *testing.T) {
			signer, err := ucan.KeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
			if err != nil {
				t.Fatal(err)
			}
			engine := &slow{Engine: memory.New()}
			b, k, ctx := NewBook(store.New(engine).Under("")), key{signer.DID(), "kid"}, t.Context()
			if _, err := b.put(ctx, nil, k, &record{Status: agents.Sleeping, Life: "1", Caps: caps.Unrestricted()}); err != nil {
				t.Fatal(err)
			}
			engine.key, engine.while = recordKey(k), func() {
				_, rec, err := b.refresh(ctx, k)
				if err == nil {
					err = tc.change(ctx, b, k, rec)
				}
				if err == nil {
					_, _, err = b.refresh(ctx, k)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // as it is read, and as it is known from then on
				_, rec, err := b.get(ctx, k)
				got := ""
				if rec != nil {
					got = rec.Status
				}
				if err != nil || got != tc.want {
					t.Errorf("the agent is %q, %v; want %q", got, err, tc.want)
				}
			}
			if set, _ := b.Live(ctx, tools.NewLife(k.owner, k.id, "1")); !set.IsEmpty() {
				t.Errorf("it may %v yet", set)
			}
		})
	}
}

// Ids that nobody has leave nothing behind, and move no epoch.
func TestNobodyIsNotKept(t *testing.T) {
	r, k := newTestRoom(t)
	if _, rec, err := r.Book.get(t.Context(), k); rec != nil || err != nil {
		t.Fatalf("get = %v, %v; want nobody", rec, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := r.Book.get(gone, k); err == nil {
		t.Fatal("who has gone reads")
	}
	if n, epoch := len(r.Book.entries), r.Book.Epoch(); n != 0 || epoch != 0 {
		t.Errorf("%d entries under the epoch %d, want none under 0", n, epoch)
	}
}
