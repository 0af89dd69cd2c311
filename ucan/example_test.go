package ucan_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
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
	tokens, err := ucan.OpenStore(ctx, kv)
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

	end := time.Now().Add(time.Hour)
	delegate := func(from ucan.Key, to ucan.DID, with, can string) ([]*ucan.Link, error) {
		return (&ucan.Issuer{Key: from, Verifier: v, Rand: rand.Reader}).Delegate(ctx, ucan.Delegation{
			Audience: to, Owner: alice.DID(), Expires: end,
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
	var held []ucan.Holding
	if held, err = v.Holdings(ctx, carol.DID(), ucan.DID{}, 0); err != nil {
		panic(err)
	}
	for _, h := range held {
		fmt.Println("carol holds", h.Capability.Can(), "of alice's:", h.Owner == alice.DID())
	}

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
	// carol holds crud/read of alice's: true
	// carol, crud/read: token is revoked
}

// A call is signed once, and carried out once.
func ExampleVerifier_Invoke() {
	ctx := context.Background()
	engine := memory.Open()
	defer engine.Close()
	var kv ucan.KV = engine
	tokens, err := ucan.OpenStore(ctx, kv)
	if err != nil {
		panic(err)
	}
	alice, err := ucan.NewKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	venue, err := ucan.NewKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	v := &ucan.Verifier{Self: venue.DID(), Store: tokens}
	on := alice.DID().String() + "/w/reports"
	var call *ucan.Invocation
	call, err = alice.Invoke(ucan.Call{
		Subject: alice.DID(), Audience: venue.DID(), Can: "crud/read", Args: map[string]any{"with": on}, Expires: time.Now().Add(time.Minute),
	}, rand.Reader)
	if err != nil {
		panic(err)
	}
	_, err = v.Invoke(ctx, call, caps.Need("crud/read", on))
	fmt.Println("once:", err)
	_, err = v.Invoke(ctx, call, caps.Need("crud/read", on))
	fmt.Println("twice:", errors.Is(err, ucan.ErrReplayed))
	_, err = v.Invoke(ctx, call, caps.Need("crud/write", on))
	fmt.Println("for more than was signed:", errors.Is(err, ucan.ErrNotCovered))
	// Output:
	// once: <nil>
	// twice: true
	// for more than was signed: true
}

// What to tell somebody whose tokens were refused.
func ExampleVerifyError() {
	advice := func(err error) string {
		is := func(reasons ...error) bool {
			return slices.ContainsFunc(reasons, func(r error) bool { return errors.Is(err, r) })
		}
		switch {
		case is(ucan.ErrMalformed, ucan.ErrNotCanonical, ucan.ErrTooLarge, ucan.ErrTooDeep, ucan.ErrPowerline):
			return "write the token again"
		case is(ucan.ErrAlgorithm, ucan.ErrKeyID, ucan.ErrVersion, ucan.ErrSignature):
			return "sign it with an Ed25519 key of the issuer"
		case is(ucan.ErrExpired, ucan.ErrNotYetValid, ucan.ErrLifetime, ucan.ErrTimeBounds):
			return "ask for one that is valid now"
		case is(ucan.ErrRevoked, ucan.ErrReplayed):
			return "ask for a new one"
		case is(ucan.ErrMissingProof, ucan.ErrBudget, ucan.ErrBrokenChain, ucan.ErrSubject, ucan.ErrForeignRoot):
			return "send all tokens of the chain"
		case is(ucan.ErrBareResource, ucan.ErrRequest):
			return "name the owner: did:key:…/path"
		case is(ucan.ErrNotCovered, ucan.ErrWidenedResource, ucan.ErrWidenedAbility, ucan.ErrPolicy, ucan.ErrAgent, ucan.ErrAudience, ucan.ErrNotHeld):
			return "ask the owner for more"
		}
		return "try again"
	}
	_, err := ucan.OpenText("u")
	fmt.Println(advice(err))
	alice, err := ucan.NewKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	_, err = new(ucan.Verifier).Authorize(context.Background(), ucan.Query{Caller: alice.DID(), Request: caps.Need("crud/read", "w/reports")})
	fmt.Println(advice(err))
	// Output:
	// write the token again
	// name the owner: did:key:…/path
}
