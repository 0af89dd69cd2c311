package ucan_test

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"usher/caps"
	"usher/ucan"
	"usher/venue/store"
	"usher/venue/store/journal"
)

var _ ucan.KV = (*store.Store)(nil)

// TestOnDisk walks the life of a token on the venue's real store: issued, used,
// revoked, read again after closing, swept.
func TestOnDisk(t *testing.T) {
	dir := t.TempDir()
	var v *ucan.Verifier
	var kv *journal.Journal
	open := func() {
		var err error
		if kv, err = journal.Open(dir, nil); err != nil {
			t.Fatal(err)
		}
		s, err := ucan.OpenStore(t.Context(), kv)
		if err != nil {
			t.Fatal(err)
		}
		v = &ucan.Verifier{Store: s}
	}
	shut := func() {
		if err := kv.Close(); err != nil {
			t.Fatal(err)
		}
	}
	newKey := func() ucan.Key {
		k, err := ucan.NewKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	alice, bob, carol := newKey(), newKey(), newKey()
	end := time.Now().Add(time.Hour)
	delegate := func(from, to ucan.Key, format ucan.Format) *ucan.Link {
		links, err := (&ucan.Issuer{Key: from, Verifier: v, Rand: rand.Reader}).Delegate(t.Context(), ucan.Delegation{
			Audience: to.DID(), Owner: alice.DID(), Expires: end, Format: format,
			Capabilities: []caps.Capability{caps.MustCapability("w", "crud")},
		})
		if err != nil {
			t.Fatal(err)
		}
		return links[0]
	}
	ask := func() error {
		_, err := v.Authorize(t.Context(), ucan.Query{Caller: carol.DID(), Owner: alice.DID(), Request: caps.Need("crud", "w/x")})
		return err
	}
	open()
	root := delegate(alice, bob, ucan.Native)
	leaf := delegate(bob, carol, ucan.JWT)
	if err := ask(); err != nil {
		t.Error(err)
	}
	shut()
	open()
	if err := ask(); err != nil {
		t.Errorf("after reopening: %v", err)
	}

	v.Self = alice.DID()
	inv, err := carol.Invoke(ucan.Call{
		Subject: alice.DID(), Can: "crud", Proofs: []ucan.CID{leaf.CID, root.CID}, Expires: time.Now().Add(time.Minute),
	}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_, err := v.Invoke(context.Background(), inv, caps.Need("crud", alice.DID().String()+"/w/x"))
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, ucan.ErrReplayed) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 16 copies were allowed", won.Load())
	}

	r, err := alice.Revocation(root.CID, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Revoke(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := ask(); !errors.Is(err, ucan.ErrRevoked) {
		t.Errorf("after the revocation: %v", err)
	}
	shut()
	open()
	defer shut()
	if err := ask(); !errors.Is(err, ucan.ErrRevoked) {
		t.Errorf("after the revocation and reopening: %v", err)
	}
	if n, err := v.Store.Sweep(t.Context(), time.Now().Add(2*time.Hour)); err != nil || n != 2 {
		t.Errorf("Sweep = %d, %v; want two tokens", n, err)
	}
	left := map[string]int{}
	for key, err := range store.Keys(t.Context(), kv, "", "") {
		if err != nil {
			t.Fatal(err)
		}
		left[key[:2]]++
	}
	if left["v/"] != 1 || left["f/"] != 1 || left["n/"] != 1 || len(left) != 3 {
		t.Errorf("the sweep left %v; want the revocation and the mark", left)
	}
}
