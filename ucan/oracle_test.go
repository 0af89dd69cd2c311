package ucan_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/MetaMask/go-did-it"
	didkeyctl "github.com/MetaMask/go-did-it/controller/did-key"
	"github.com/MetaMask/go-did-it/crypto/ed25519"
	_ "github.com/MetaMask/go-did-it/verifiers/did-key"
	"github.com/ipfs/go-cid"
	"github.com/ucan-wg/go-ucan/pkg/command"
	"github.com/ucan-wg/go-ucan/pkg/policy"
	"github.com/ucan-wg/go-ucan/token/delegation"
	"github.com/ucan-wg/go-ucan/token/invocation"
	"pgregory.net/rapid"

	"usher/caps"
	"usher/ucan"
	"usher/venue/store/memory"
)

// go-ucan, the implementation of UCAN 1.0 in Go, is an oracle here: what Usher reads go-ucan
// reads, field by field the same, and what Usher allows go-ucan's ExecutionAllowed allows.
// Usher has go-ucan write its tokens; reading and deciding are its own.

// person has one key in both implementations.
type person struct {
	key    ucan.Key
	theirs ed25519.PrivateKey
	did    did.DID
}

func newPerson(t testing.TB, name string) person {
	t.Helper()
	seed := make([]byte, 32)
	copy(seed, name)
	key, err := ucan.KeyFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := ed25519.PrivateKeyFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	p := person{key, theirs, didkeyctl.FromPrivateKey(theirs)}
	if p.did.String() != key.DID().String() {
		t.Fatalf("the DID of %s is %s here and %s there", name, key.DID(), p.did)
	}
	return p
}

func newVerifier(t testing.TB, self ucan.DID) *ucan.Verifier {
	t.Helper()
	kv := memory.Open()
	t.Cleanup(func() {
		if err := kv.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := ucan.OpenStore(t.Context(), kv)
	if err != nil {
		t.Fatal(err)
	}
	return &ucan.Verifier{Self: self, Store: s, Limits: ucan.Limits{Life: -1}}
}

// failer is a test, or a round of a property: a fuzz target must not use its F.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// withPolicy is the policy of a resource, in their words.
func withPolicy(t failer, resource string) policy.Policy {
	t.Helper()
	return fromJSON(t, []any{[]any{"or", []any{
		[]any{"==", ".with", resource}, []any{"like", ".with", resource + "/*"},
	}}})
}

func fromJSON(t failer, statements any) policy.Policy {
	t.Helper()
	b, err := json.Marshal(statements)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.FromDagJson(string(b))
	if err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return p
}

// tokens are a loader of delegations that have been decoded and verified.
type tokens map[cid.Cid]*delegation.Token

func (l tokens) GetDelegation(c cid.Cid) (*delegation.Token, error) {
	if t := l[c]; t != nil {
		return t, nil
	}
	return nil, delegation.ErrDelegationNotFound
}

// TestTheyReadOurs issues here and opens there, then writes the same there.
func TestTheyReadOurs(t *testing.T) {
	alice, bob := newPerson(t, "alice"), newPerson(t, "bob")
	v := newVerifier(t, ucan.DID{})
	exp := time.Now().Add(time.Hour).Truncate(time.Second)
	for _, c := range []caps.Capability{
		caps.MustCapability("w/reports", "crud/read"),
		caps.MustCapability("", "*"),
		caps.MustCapability("g/carol", "agent"),
	} {
		for _, nbf := range []time.Time{{}, time.Now().Add(time.Minute).Truncate(time.Second)} {
			links, err := (&ucan.Issuer{Key: alice.key, Verifier: v, Rand: rand.Reader}).Delegate(t.Context(), ucan.Delegation{
				Audience: bob.key.DID(), Capabilities: []caps.Capability{c}, Expires: exp, NotBefore: nbf,
			})
			if err != nil {
				t.Fatal(err)
			}
			raw := links[0].Bytes()
			d, id, err := delegation.FromSealed(raw)
			if err != nil {
				t.Fatalf("%v: they refuse it: %v", c, err)
			}
			if id.String() != links[0].CID.String() || !d.Issuer().Equal(alice.did) || !d.Audience().Equal(bob.did) || !d.Subject().Equal(alice.did) {
				t.Errorf("%v: they read %v of %v", c, id, d.Issuer())
			}
			if d.Expiration().Unix() != exp.Unix() || nbf.IsZero() != (d.NotBefore() == nil) {
				t.Errorf("%v: they read other times", c)
			}
			pol := policy.Policy{}
			if !c.Resource().IsRoot() {
				pol = withPolicy(t, alice.key.DID().String()+"/"+c.Resource().String())
			}
			opts := []delegation.Option{delegation.WithNonce(d.Nonce()), delegation.WithExpiration(exp)}
			if !nbf.IsZero() {
				opts = append(opts, delegation.WithNotBefore(nbf))
			}
			theirs, err := delegation.New(alice.did, bob.did, d.Command(), pol, alice.did, opts...)
			if err != nil {
				t.Fatal(err)
			}
			sealed, _, err := theirs.ToSealed(alice.theirs)
			if err != nil || !bytes.Equal(sealed, raw) {
				t.Errorf("%v: they write\n%x, we write\n%x (%v)", c, sealed, raw, err)
			}
		}
	}

	inv, err := bob.key.Invoke(ucan.Call{
		Subject: alice.key.DID(), Can: "crud/read", Expires: exp, Issued: exp.Add(-time.Minute),
		Args: map[string]any{"with": "x", "n": int64(7), "list": []any{true, 1.5}},
	}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i, id, err := invocation.FromSealed(inv.Raw)
	if err != nil || id.String() != inv.CID.String() || i.Command().String() != "/crud/read" {
		t.Errorf("they read our invocation as %v, %v", id, err)
	}
}

// TestOursAllowsNoMore builds random chains with go-ucan, good and bad in every
// part that it knows, and asks both.
func TestOursAllowsNoMore(t *testing.T) {
	n := &tally{}
	for range 10 { // a short run draws few chains, and those may all be of one kind
		if rapid.Check(t, compare(t, n)); n.both > 0 && n.neither > 0 {
			break
		}
	}
	t.Logf("%d allowed by both, %d refused by both, %d refused here alone", n.both, n.neither, n.theirs)
	if n.both == 0 || n.neither == 0 {
		t.Error("the chains are too much alike to compare anything")
	}
}

// FuzzOursAllowsNoMore is the same, led by coverage.
func FuzzOursAllowsNoMore(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(compare(f, &tally{})))
}

// tally counts verdicts.
type tally struct{ both, neither, theirs int }

func compare(t testing.TB, n *tally) func(*rapid.T) {
	t.Helper()
	people := []person{newPerson(t, "alice"), newPerson(t, "bob"), newPerson(t, "carol"), newPerson(t, "dan")}
	alice := people[0]
	v := newVerifier(t, alice.key.DID())
	base := alice.key.DID().String()
	commands := []string{"/", "/crud", "/crud/read", "/crud/read/x", "/crudx", "/asset"}
	resources := []string{"", "w", "w/a", "w/a/b", "w/ab", "s"}
	// All of arguments that are there: a key that is missing is null to the
	// specification and to us, and refuses everything there.
	foreign := []any{
		[]any{"==", ".n", 1},
		[]any{"!=", ".n", 1},
		[]any{"<", ".n", 3},
		[]any{">=", ".n", 3},
		[]any{"not", []any{"==", ".n", 2}},
		[]any{"or", []any{[]any{"==", ".n", 1}, []any{"==", ".missing", 1}}},
		[]any{"or", []any{}},
		[]any{"and", []any{}},
		[]any{"and", []any{[]any{"==", ".n", 1}, []any{"like", ".s", "a*"}}},
		[]any{"like", ".s", "*b*"},
		[]any{"like", ".s", "a"},
		[]any{"any", ".l", []any{">", ".", 4}},
		[]any{"all", ".l", []any{">", ".", 4}},
		[]any{"==", ".l[0]", 5},
		[]any{"==", ".l[-1]", 6},
		[]any{"==", ".l[9]", 5},
		[]any{"==", `.m["x"]`, "y"},
		[]any{"==", `.m.x`, "y"},
		[]any{"==", ".l", []any{5, 6}},
		[]any{"==", ".m", map[string]any{"x": "y"}},
		[]any{"any", ".m[]", []any{"==", ".", "y"}},
	}
	return func(rt *rapid.T) {
		loader := tokens{}
		var prf []cid.Cid
		var links []*ucan.Link
		depth := rapid.IntRange(1, 4).Draw(rt, "depth")
		good := rapid.IntRange(0, 3).Draw(rt, "good") > 0 // mostly chains that hold
		pick := func(n int, usual int, label string) int {
			if good && rapid.IntRange(0, 7).Draw(rt, "vary "+label) > 0 {
				return usual
			}
			return rapid.IntRange(0, n-1).Draw(rt, label)
		}
		var caller person
		for i := range depth {
			iss, aud := people[pick(4, i%4, "iss")], people[pick(4, (i+1)%4, "aud")]
			sub := people[pick(4, 0, "sub")]
			pol := policy.Policy{}
			if r := resources[pick(len(resources), 1, "resource")]; r != "" {
				pol = withPolicy(rt, base+"/"+r)
			}
			if rapid.IntRange(0, 3).Draw(rt, "has foreign") == 0 {
				item := rapid.SampledFrom(foreign).Draw(rt, "foreign")
				p, err := policy.FromDagJson(mustJSON([]any{item}))
				if err != nil {
					continue // not a policy to them
				}
				pol = append(pol, p...)
			}
			opts := []delegation.Option{delegation.WithExpirationIn(time.Hour)}
			if pick(2, 0, "nbf") == 1 {
				opts = append(opts, delegation.WithNotBeforeIn(time.Minute))
			}
			d, err := delegation.New(iss.did, aud.did, command.MustParse(commands[pick(len(commands), 1, "cmd")]), pol, sub.did, opts...)
			if err != nil {
				rt.Fatal(err)
			}
			raw, id, err := d.ToSealed(iss.theirs)
			if err != nil {
				rt.Fatal(err)
			}
			l, err := ucan.Open(raw)
			if err != nil {
				rt.Fatalf("we refuse their token: %v", err)
			}
			if l.CID.String() != id.String() {
				rt.Fatalf("its CID is %v here and %v there", l.CID, id)
			}
			loader[id] = d
			prf = append([]cid.Cid{id}, prf...)
			links = append(links, l)
			caller = aud
		}
		caller = people[pick(4, indexOf(people, caller), "caller")]
		cmd := commands[pick(len(commands), 2, "inv cmd")]
		on := base + "/" + rapid.SampledFrom([]string{"w", "w/a", "w/a/b/c", "w/ab", "s/k"}).Draw(rt, "on")
		invoke := func(prf []cid.Cid) *invocation.Token {
			inv, err := invocation.New(caller.did, command.MustParse(cmd), alice.did, prf,
				invocation.WithArgument("with", on), invocation.WithArgument("n", 1), invocation.WithArgument("s", "abc"),
				invocation.WithArgument("l", []int{5, 6}), invocation.WithArgument("m", map[string]string{"x": "y"}),
				invocation.WithExpirationIn(time.Minute))
			if err != nil {
				rt.Fatal(err)
			}
			return inv
		}
		inv := invoke(prf)
		raw, _, err := inv.ToSealed(caller.theirs)
		if err != nil {
			rt.Fatal(err)
		}
		i, err := ucan.OpenInvocation(raw)
		if err != nil {
			rt.Fatalf("we refuse their invocation: %v", err)
		}
		there := inv.ExecutionAllowed(loader)
		grant, here := v.Invoke(context.Background(), i, caps.Need(string(i.Can), on), links...)
		switch {
		case here == nil && there == nil:
			n.both++
		case here == nil:
			// The owner needs no proof, and their own case for that is ours to keep.
			if caller.did.Equal(alice.did) {
				return
			}
			// We take proofs in any order, they from the leaf to the root.
			var ordered []cid.Cid
			for _, c := range grant.Chain() {
				ordered = append(ordered, cid.MustParse(c.String()))
			}
			if there = invoke(ordered).ExecutionAllowed(loader); there == nil {
				return
			}
			rt.Fatalf("we allow %s on %s, they refuse it: %v", cmd, on, there)
		case there == nil:
			n.theirs++
			// They compare no policies between two links: a delegation that says more
			// than its proof is harmless to them and refused here. And what the owner
			// delegated to themselves, below a root, is a proof too many here.
			if !errors.Is(here, ucan.ErrWidenedResource) && !errors.Is(here, ucan.ErrBrokenChain) {
				rt.Fatalf("they allow %s on %s, we refuse it: %v", cmd, on, here)
			}
		default:
			n.neither++
		}
	}
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func indexOf(people []person, p person) int {
	for i := range people {
		if people[i].did.Equal(p.did) {
			return i
		}
	}
	return 0
}

// TestTheirFaults shows what the guard is for: the same input, both answers. Where
// they answer better in a later version the log says so.
func TestTheirFaults(t *testing.T) {
	alice, mallory := newPerson(t, "alice"), newPerson(t, "mallory")
	v := newVerifier(t, mallory.key.DID())

	// 1: she delegates to herself and invokes on alice.
	d, err := delegation.Root(mallory.did, mallory.did, command.Top(), policy.Policy{}, delegation.WithExpirationIn(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	raw, id, err := d.ToSealed(mallory.theirs)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := invocation.New(mallory.did, command.MustParse("/crud"), alice.did, []cid.Cid{id}, invocation.WithAudience(mallory.did), invocation.WithExpirationIn(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	sealed, _, err := inv.ToSealed(mallory.theirs)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("subject confusion, go-ucan: %v", inv.ExecutionAllowed(tokens{id: d}))
	i, err := ucan.OpenInvocation(sealed)
	if err != nil {
		t.Fatal(err)
	}
	link, err := ucan.Open(raw)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Invoke(t.Context(), i, caps.Need("crud", alice.key.DID().String()+"/w"), link); err == nil {
		t.Error("mallory acted as alice")
	}

	// 2: the same token under another CID.
	rest := raw[67:]
	swapped := bytes.Join([][]byte{raw[:67], rest[:1], rest[12:], rest[1:12]}, nil)
	_, other, err := delegation.FromSealed(swapped)
	t.Logf("malleability, go-ucan: %v is also %v, %v", id, other, err)
	if _, err := ucan.Open(swapped); err == nil {
		t.Error("a token has two CIDs")
	}

	// 4: a signature header that panics there.
	at := bytes.Index(raw, []byte{0x34, 0x01, 0xed, 0x01, 0xed, 0x01, 0x13, 0x71})
	header := bytes.Clone(raw)
	header[at+6] = 0x19
	t.Logf("varsig, go-ucan: %v", catch(func() error { _, _, err := delegation.FromSealed(header); return err }))
	if _, err := ucan.Open(header); !errors.Is(err, ucan.ErrAlgorithm) {
		t.Errorf("varsig: %v", err)
	}

	// 5: a delegation without a subject.
	p, err := delegation.Powerline(alice.did, mallory.did, command.Top(), policy.Policy{}, delegation.WithExpirationIn(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	praw, pid, err := p.ToSealed(alice.theirs)
	if err != nil {
		t.Fatal(err)
	}
	pinv, err := invocation.New(mallory.did, command.MustParse("/crud"), alice.did, []cid.Cid{pid})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("powerline, go-ucan: %v", catch(func() error { return pinv.ExecutionAllowed(tokens{pid: p}) }))
	if _, err := ucan.Open(praw); !errors.Is(err, ucan.ErrPowerline) {
		t.Errorf("powerline: %v", err)
	}
}

func catch(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return fn()
}

// FuzzOpen asks both decoders about damaged tokens: what is read here is read
// there, under the same CID.
func FuzzOpen(f *testing.F) {
	alice, bob := newPerson(f, "alice"), newPerson(f, "bob")
	d, err := delegation.Root(alice.did, bob.did, command.MustParse("/crud"), withPolicy(f, alice.did.String()+"/w"), delegation.WithExpirationIn(time.Hour))
	if err != nil {
		f.Fatal(err)
	}
	raw, _, err := d.ToSealed(alice.theirs)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := ucan.Open(raw)
		if err != nil || l.Format != ucan.Native {
			return
		}
		_, id, err := delegation.FromSealed(raw)
		if err != nil || id.String() != l.CID.String() {
			t.Errorf("%x: %v here, %v and %v there", raw, l, id, err)
		}
	})
}
