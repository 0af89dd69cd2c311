package ucan_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"usher/caps"
	"usher/ucan"
	"usher/venue/store/memory"
)

// Alice lets Bob work in her reports, Bob passes reading on to Carol, and Alice
// takes it back.
func Example() {
	ctx := context.Background()
	kv := memory.Open()
	defer kv.Close()
	tokens, err := ucan.OpenStore(ctx, kv, nil)
	if err != nil {
		panic(err)
	}
	key := func(b byte) ucan.Key {
		k, err := ucan.KeyFromSeed(bytes.Repeat([]byte{b}, 32))
		if err != nil {
			panic(err)
		}
		return k
	}
	alice, bob, carol := key(1), key(2), key(3)
	v := &ucan.Verifier{Store: tokens}

	delegate := func(from ucan.Key, to ucan.DID, with, can string) ([]*ucan.Link, error) {
		return (&ucan.Issuer{Key: from, Verifier: v, Rand: rand.Reader}).Delegate(ctx, ucan.Delegation{
			Audience: to, Owner: alice.DID(), Expires: time.Now().Add(time.Hour),
			Capabilities: []caps.Capability{caps.MustCapability(with, can)},
		})
	}
	links, err := delegate(alice, bob.DID(), "w/reports", "crud")
	if err != nil {
		panic(err)
	}
	if _, err := delegate(bob, carol.DID(), "w/reports", "crud/read"); err != nil {
		panic(err)
	}
	_, err = delegate(bob, carol.DID(), "s", "secret")
	fmt.Println("bob hands on what he does not hold:", errors.Is(err, ucan.ErrNotHeld))

	ask := func(can string) {
		g, err := v.Authorize(ctx, ucan.Query{Caller: carol.DID(), Owner: alice.DID(), Request: caps.Need(can, "w/reports/q3")})
		var refused *ucan.VerifyError
		if errors.As(err, &refused) {
			fmt.Printf("carol, %s: %v\n", can, refused.Err)
			return
		}
		fmt.Printf("carol, %s: allowed by a chain of %d\n", can, len(g.Chain()))
	}
	ask("crud/read")
	ask("crud/write")

	r, err := alice.Revocation(links[0].CID, time.Now())
	if err != nil {
		panic(err)
	}
	if err := v.Revoke(ctx, r); err != nil {
		panic(err)
	}
	ask("crud/read")
	// Output:
	// bob hands on what he does not hold: true
	// carol, crud/read: allowed by a chain of 2
	// carol, crud/write: token does not cover the request
	// carol, crud/read: token is revoked
}
