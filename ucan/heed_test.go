package ucan

import (
	"testing"

	"usher/caps"
)

// TestHeed: a revocation that came with the tokens ends what the same revocation ends
// in a store, whoever it is by.
func TestHeed(t *testing.T) {
	w := newWorld(t)
	alice, bob, carol := w.alice.DID(), w.bob.DID(), w.carol.DID()
	root := w.native(w.alice, bob, alice, "crud", w.url(w.alice, "w"), nil)
	leaf := w.native(w.bob, carol, alice, "crud/read", w.url(w.alice, "w/a"), nil)
	may := w.native(w.alice, w.dan.DID(), alice, "ucan/revoke", w.url(w.alice, "u/"+leaf.CID.String()), nil)
	tokens := []*Link{leaf, root, may}
	for _, c := range []struct {
		name    string
		by      Key
		target  *Link
		revoked bool
	}{
		{"its issuer", w.bob, leaf, true},
		{"the owner", w.alice, leaf, true},
		{"the issuer of its proof", w.alice, root, true},
		{"who was let", w.dan, leaf, true},
		{"who was let revoke another", w.dan, root, false},
		{"its audience", w.carol, leaf, false},
		{"nobody of the chain", w.mallory, leaf, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := c.by.Revocation(c.target.CID, noon)
			if err != nil {
				t.Fatal(err)
			}
			for name, v := range map[string]*Verifier{"files alone": {Now: w.v.Now}, "with a store": w.v} {
				heeding, err := v.Heed(t.Context(), []*Revocation{r}, tokens)
				if err != nil {
					t.Fatal(err)
				}
				want := error(nil)
				if c.revoked {
					want = ErrRevoked
				}
				q := Query{Caller: carol, Request: caps.Need("crud/read", w.url(w.alice, "w/a")), Tokens: tokens}
				if _, err = heeding.Authorize(t.Context(), q); want != nil {
					wantErr(t, err, want)
				} else if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if _, err = v.Authorize(t.Context(), q); err != nil {
					t.Errorf("%s: the verifier that was asked to heed has changed: %v", name, err)
				}
			}
		})
	}
}
