package ucan

import (
	"context"
	"testing"
	"time"

	"usher/caps"
)

// What was not signed counts for nothing, also where somebody writes it to what was
// opened, or makes it up.
func TestAlteredAfterItWasVerified(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	call := func() *Invocation {
		inv, err := w.mallory.Invoke(Call{
			Subject: w.mallory.DID(), Audience: w.host.DID(), Can: "crud/read", Args: map[string]any{"with": w.mallory.DID().String() + "/w"}, Expires: w.now.Add(time.Minute),
		}, w.rand)
		if err != nil {
			t.Fatal(err)
		}
		return inv
	}
	hers := caps.Need("crud", w.alice.DID().String()+"/w")
	for name, inv := range map[string]*Invocation{
		"altered": func() *Invocation {
			inv := call()
			inv.Issuer, inv.Subject, inv.Can = w.alice.DID(), w.alice.DID(), "crud"
			inv.Args["with"] = w.alice.DID().String() + "/w"
			return inv
		}(),
		"made up": {Issuer: w.alice.DID(), Subject: w.alice.DID(), Audience: w.host.DID(), Can: "crud", exp: w.exp(), nonce: []byte("123456789012")},
	} {
		if _, err := w.v.Invoke(ctx, inv, hers); err == nil {
			t.Errorf("an invocation that is %s is carried out for alice", name)
		}
	}
	inv := call()
	mine := caps.Need("crud/read", w.mallory.DID().String()+"/w")
	if _, err := w.v.Invoke(ctx, inv, mine); err != nil {
		t.Fatal(err)
	}
	inv.Issuer = w.bob.DID()
	if _, err := w.v.Invoke(ctx, inv, mine); err == nil {
		t.Error("an invocation that was altered is carried out twice")
	}

	target := w.alice.DID()
	l, err := (&Issuer{Key: w.alice, Verifier: w.v, Rand: w.rand}).Identity(w.host.DID(), w.now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	altered := mustRevoke(t, w.mallory, l.CID)
	altered.Issuer = target
	for name, r := range map[string]*Revocation{"altered": altered, "made up": {Target: l.CID, Issuer: target}} {
		if err := w.v.Revoke(ctx, r); err == nil {
			t.Errorf("a revocation that is %s counts", name)
		}
	}
	if err := w.v.Check(ctx, l); err != nil {
		t.Error(err)
	}
}
