package ucan

import (
	"crypto/ed25519"
	"fmt"
	"testing"
	"time"

	"usher/caps"
)

// benchChain is a chain of depth delegations below alice and an invocation by the
// last.
func benchChain(w *world, depth int) (raws [][]byte, caller Key, inv []byte) {
	w.t.Helper()
	from := w.alice
	var prf []CID
	for i := range depth {
		to := testKey(w.t, fmt.Sprintf("hop %d", i))
		l := w.native(from, to.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), nil)
		raws = append([][]byte{l.Bytes()}, raws...)
		prf = append([]CID{l.CID}, prf...)
		from = to
	}
	i, err := from.Invoke(Call{
		Subject: w.alice.DID(), Audience: w.host.DID(), Can: "crud/read", Proofs: prf,
		Args: map[string]any{"with": w.url(w.alice, "w/x")}, Expires: noon.Add(time.Minute),
	}, w.rand)
	if err != nil {
		w.t.Fatal(err)
	}
	return raws, from, i.Raw
}

// BenchmarkVerify is one Ed25519 verification by the standard library: the unit
// in which BenchmarkChain is to be read.
func BenchmarkVerify(b *testing.B) {
	k := testKey(b, "k")
	msg := make([]byte, 320)
	sig, pub := k.Sign(msg), k.DID().PublicKey()
	for b.Loop() {
		if !ed25519.Verify(pub, msg, sig) {
			b.Fatal("refused")
		}
	}
}

// BenchmarkChain verifies chains of five. Cold is from the wire: five delegations
// and an invocation decoded, six signatures, the walk with its revocation checks.
// Warm is the decision of a call whose tokens are in memory.
func BenchmarkChain(b *testing.B) {
	const depth = 5
	w := newWorld(b)
	raws, caller, inv := benchChain(w, depth)
	request := caps.Need("crud/read", w.url(w.alice, "w/x"))
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := w.cold(raws, inv, request); err != nil {
				b.Fatal(err)
			}
		}
	})
	var links []*Link
	for _, raw := range raws {
		l, err := Open(raw)
		if err != nil {
			b.Fatal(err)
		}
		links = append(links, l)
	}
	cids := w.put(links...)
	for i := range 1000 { // revocations of others
		w.store.revoked[cidOf(codecRaw, []byte{byte(i), byte(i >> 8)})] = []DID{w.mallory.DID()}
	}
	for name, q := range map[string]Query{
		"warm/named":    {Caller: caller.DID(), Request: request, Proofs: cids},
		"warm/searched": {Caller: caller.DID(), Request: request},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.v.Authorize(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("jwt/cold", func(b *testing.B) {
		token := ""
		from := w.alice
		for i := range depth {
			to := testKey(b, fmt.Sprintf("hop %d", i))
			var prf []string
			if token != "" {
				prf = []string{token}
			}
			token = w.jwt(from, to.DID(), cap1("w", "crud"), prf...)
			from = to
		}
		b.ReportAllocs()
		for b.Loop() {
			l, err := Open([]byte(token))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := w.v.Authorize(b.Context(), Query{Caller: from.DID(), Request: request, Tokens: []*Link{l}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// cold opens a chain and its invocation from the wire and decides it.
func (w *world) cold(raws [][]byte, inv []byte, request caps.Request) error {
	i, err := OpenInvocation(inv)
	if err != nil {
		return err
	}
	tokens := make([]*Link, len(raws))
	for j, raw := range raws {
		if tokens[j], err = Open(raw); err != nil {
			return err
		}
	}
	_, err = w.v.examine(w.t.Context(), i, request, tokens)
	return err
}

// TestColdChainAllocations holds the other: 450 at most.
func TestColdChainAllocations(t *testing.T) {
	w := newWorld(t)
	raws, _, inv := benchChain(w, 5)
	request := caps.Need("crud/read", w.url(w.alice, "w/x"))
	n := testing.AllocsPerRun(10, func() {
		if err := w.cold(raws, inv, request); err != nil {
			t.Error(err)
		}
	})
	if n > 450 {
		t.Errorf("%v allocations", n)
	}
}

// TestWarmAuthorizeAllocatesNothing holds the benchmark's promise in the tests.
func TestWarmAuthorizeAllocatesNothing(t *testing.T) {
	w := newWorld(t)
	raws, caller, _ := benchChain(w, 5)
	var links []*Link
	for _, raw := range raws {
		l, err := Open(raw)
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, l)
	}
	cids := w.put(links...)
	ctx := t.Context()
	for name, q := range map[string]Query{
		"named by CID": {Caller: caller.DID(), Request: caps.Need("crud/read", w.url(w.alice, "w/x")), Proofs: cids},
		"given":        {Caller: caller.DID(), Request: caps.Need("crud/read", w.url(w.alice, "w/x")), Tokens: links},
		"searched":     {Caller: caller.DID(), Request: caps.Need("crud/read", w.url(w.alice, "w/x"))},
		"bare":         {Caller: caller.DID(), Owner: w.alice.DID(), Request: caps.Need("crud/read", "w/x")},
	} {
		if _, err := w.v.Authorize(ctx, q); err != nil {
			t.Fatal(err)
		}
		n := testing.AllocsPerRun(100, func() {
			if _, err := w.v.Authorize(ctx, q); err != nil {
				t.Error(err)
			}
		})
		if n != 0 && !racing {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
