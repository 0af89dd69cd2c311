package ucan

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
)

func TestSweep(t *testing.T) {
	w := newWorld(t)
	a, b := w.alice.DID(), w.bob.DID()
	old := w.native(w.alice, b, a, "crud", w.url(w.alice, "w"), map[string]any{"exp": noon.Unix() + 10})
	jwtOld := mustOpen(t, signJWT(t, w.alice, plainHeader, with(w.claims(w.alice, b, cap1("w", "crud")), "exp", noon.Unix()+10)))
	w.put(old, jwtOld)
	child := w.native(w.bob, w.carol.DID(), a, "crud", w.url(w.alice, "w"), map[string]any{"exp": noon.Unix() + 10})
	w.put(child)
	wantErr(t, w.v.Revoke(t.Context(), mustRevoke(t, w.alice, old.CID)), nil)
	i, err := w.alice.Invoke(Call{Subject: a, Audience: w.host.DID(), Can: "crud", Expires: noon.Add(10 * time.Second)}, w.rand)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.v.Invoke(t.Context(), i, caps.Need("crud", w.url(w.alice, "w")))
	wantErr(t, err, nil)

	keep := w.native(w.alice, b, a, "crud", w.url(w.alice, "k"), nil)
	w.put(keep)
	if n, err := w.store.Sweep(t.Context(), noon.Add(10*time.Second)); n != 0 || err != nil {
		t.Errorf("swept %d before their time, %v", n, err)
	}
	_, err = w.ask(w.bob, "crud", "k/x", nil)
	wantErr(t, err, nil)
	for _, want := range []int{3, 0} {
		if n, err := w.store.Sweep(t.Context(), noon.Add(11*time.Second)); n != want || err != nil {
			t.Errorf("Sweep = %d, %v; want %d tokens", n, err, want)
		}
	}
	kinds := map[string]int{}
	for k := range w.kv.data {
		kinds[k[:2]]++
	}
	// One token lives; what was revoked and what was used stays known.
	if diff := cmp.Diff(map[string]int{keyToken: 1, keyAudience: 1, keyIssuer: 1, keyExpiry: 1, keyRevocation: 1, keyFeed: 1, keyUsed: 1}, kinds); diff != "" {
		t.Errorf("keys after the sweep (-want +got):\n%s", diff)
	}
	_, err = w.ask(w.bob, "crud", "k/x", nil)
	wantErr(t, err, nil)
}

// TestWrongClocks sweeps by clocks that are ahead and behind, and then by the true
// one: what was refused before is refused, in memory and read anew, and so are
// copies that come again.
func TestWrongClocks(t *testing.T) {
	for name, wrong := range map[string]time.Duration{
		"none": 0, "two days ahead": 48 * time.Hour, "ten years ahead": 87_600 * time.Hour, "two days behind": -48 * time.Hour, "at the beginning of time": -time.Duration(noon.UnixNano()),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a, b := w.alice.DID(), w.bob.DID()
			hour := noon.Unix() + 3600
			native := w.native(w.alice, b, a, "crud", w.url(w.alice, "n"), map[string]any{"exp": hour})
			jwt := mustOpen(t, signJWT(t, w.alice, plainHeader, with(w.claims(w.alice, b, cap1("w/j", "crud")), "exp", hour)))
			unknown := w.native(w.alice, b, a, "crud", w.url(w.alice, "u"), map[string]any{"exp": hour})
			good := w.native(w.alice, b, a, "crud", w.url(w.alice, "g"), map[string]any{"exp": hour})
			w.put(native, jwt, good)
			for _, l := range []*Link{native, jwt, unknown} {
				wantErr(t, w.v.Revoke(t.Context(), mustRevoke(t, w.alice, l.CID)), nil)
			}
			inv, err := w.alice.Invoke(Call{Subject: a, Audience: w.host.DID(), Can: "crud", Expires: noon.Add(time.Minute)}, w.rand)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.v.Invoke(t.Context(), inv, caps.Need("crud", w.url(w.alice, "w")))
			wantErr(t, err, nil)
			// As earlier states listed them.
			for _, key := range []string{keyRevocation + native.CID.key() + a.key(), keyUsed + inv.Issuer.key()} {
				if _, err := w.kv.Apply(t.Context(), nil, map[string][]byte{keyExpiry + timeKey(hour) + key: nil}, nil); err != nil {
					t.Fatal(err)
				}
			}

			for range 3 {
				if _, err := w.store.Sweep(t.Context(), noon.Add(wrong)); err != nil {
					t.Fatal(err)
				}
			}
			for _, how := range []string{"in memory", "read anew"} {
				w.put(native, jwt, unknown, good)
				for path, want := range map[string]error{"n/x": ErrRevoked, "w/j/x": ErrRevoked, "u/x": ErrRevoked, "g/x": nil} {
					if _, err := w.ask(w.bob, "crud", path, nil); !errors.Is(err, want) {
						t.Errorf("%s: crud on %s: %v, want %v", how, path, err, want)
					}
				}
				_, err = w.v.Invoke(t.Context(), inv, caps.Need("crud", w.url(w.alice, "w")))
				wantErr(t, err, ErrReplayed)
				w.open()
			}
		})
	}
}

// TestRevocationCost holds what the documentation says that a revocation costs.
func TestRevocationCost(t *testing.T) {
	w := newWorld(t)
	l := w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "n"), nil)
	w.put(l)
	stored := func() (n int) {
		for k, v := range w.kv.data {
			n += len(k) + len(v.value)
		}
		return n
	}
	keys, size := w.kv.size(), stored()
	wantErr(t, w.v.Revoke(t.Context(), mustRevoke(t, w.alice, l.CID)), nil)
	if keys, size = w.kv.size()-keys, stored()-size; keys != 2 || size > revocationBytes {
		t.Errorf("a revocation costs %d keys and %d bytes", keys, size)
	}
	// However many there are, to look one up is one step and no memory.
	for i := range 100_000 {
		w.store.revoked[CID{codecRaw, sha256.Sum256(binary.AppendUvarint(nil, uint64(i)))}] = []DID{w.alice.DID()}
	}
	if n := testing.AllocsPerRun(100, func() { w.store.revokersOf(l.CID) }); n != 0 {
		t.Errorf("to look a revocation up allocates %v times", n)
	}
}

const revocationBytes = 512 // with its key, and its place in the feed
