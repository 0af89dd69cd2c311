package ucan

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"usher/caps"
)

// chain3 is alice -> bob -> carol, natively.
func (w *world) chain3() []*Link {
	a, b, c := w.alice.DID(), w.bob.DID(), w.carol.DID()
	return []*Link{
		w.native(w.bob, c, a, "crud/read", w.url(w.alice, "w/reports"), nil),
		w.native(w.alice, b, a, "crud", w.url(w.alice, "w"), nil),
	}
}

func TestAuthorizeNative(t *testing.T) {
	w := newWorld(t)
	a, b, c, d, h := w.alice.DID(), w.bob.DID(), w.carol.DID(), w.dan.DID(), w.host.DID()
	aw := func(path string) string { return w.url(w.alice, path) }
	// Chains are listed from the leaf to the root; the caller is carol.
	for _, tc := range []struct {
		name      string
		chain     []*Link
		can, path string
		want      error
	}{
		{"allowed", w.chain3(), "crud/read", "w/reports/q3", nil},
		{"allowed on the resource itself", w.chain3(), "crud/read", "w/reports", nil},
		{"another ability", w.chain3(), "crud/write", "w/reports/q3", ErrNotCovered},
		{"another resource", w.chain3(), "crud/read", "w/other", ErrNotCovered},
		{"sibling prefix in the request", w.chain3(), "crud/read", "w/reports-secret", ErrNotCovered},
		{"wrong audience", []*Link{w.native(w.alice, b, a, "crud", aw("w"), nil)}, "crud/read", "w/x", ErrAudience},
		{"broken chain", []*Link{
			w.native(w.bob, c, a, "crud", aw("w"), nil),
			w.native(w.alice, d, a, "crud", aw("w"), nil),
		}, "crud/read", "w/x", ErrBrokenChain},
		{"widened resource", []*Link{
			w.native(w.bob, c, a, "crud", aw("w"), nil),
			w.native(w.alice, b, a, "crud", aw("w/reports"), nil),
		}, "crud/read", "w/reports/q3", ErrWidenedResource},
		{"passed on", []*Link{
			w.native(w.bob, c, a, "crud", "", nil),
			w.native(w.alice, b, a, "crud", aw("w/reports"), nil),
		}, "crud/read", "w/reports/q3", nil},
		{"passed on twice", []*Link{
			w.native(w.dan, c, a, "crud/read", "", nil),
			w.native(w.bob, d, a, "crud", "", nil),
			w.native(w.alice, b, a, "crud", aw("w/reports"), nil),
		}, "crud/read", "w/reports/q3", nil},
		{"passed on, beyond what the proof gives", []*Link{
			w.native(w.bob, c, a, "crud", "", nil),
			w.native(w.alice, b, a, "crud", aw("w/reports"), nil),
		}, "crud/read", "w/other", ErrWidenedResource},
		{"passed on, and narrowed below", []*Link{
			w.native(w.dan, c, a, "crud/read", aw("w/reports/q3"), nil),
			w.native(w.bob, d, a, "crud", "", nil),
			w.native(w.alice, b, a, "crud", aw("w/reports"), nil),
		}, "crud/read", "w/reports/q3/x", nil},
		{"passed on, and widened below", []*Link{
			w.native(w.dan, c, a, "crud/read", aw("w"), nil),
			w.native(w.bob, d, a, "crud", "", nil),
			w.native(w.alice, b, a, "crud", aw("w/reports"), nil),
		}, "crud/read", "w/reports/q3", ErrWidenedResource},
		{"passed on with more ability", []*Link{
			w.native(w.bob, c, a, "crud", "", nil),
			w.native(w.alice, b, a, "crud/read", aw("w/reports"), nil),
		}, "crud/read", "w/reports/q3", ErrWidenedAbility},
		{"passed on under a condition", []*Link{
			w.native(w.bob, c, a, "crud", "", map[string]any{"pol": []any{[]any{"like", ".with", "*/q3"}}}),
			w.native(w.alice, b, a, "crud", aw("w/reports"), nil),
		}, "crud/read", "w/reports/q3", nil},
		{"passed on under another condition", []*Link{
			w.native(w.bob, c, a, "crud", "", map[string]any{"pol": []any{[]any{"like", ".with", "*/q4"}}}),
			w.native(w.alice, b, a, "crud", aw("w/reports"), nil),
		}, "crud/read", "w/reports/q3", ErrPolicy},
		{"passed on by who holds nothing", []*Link{w.native(w.bob, c, a, "crud", "", nil)}, "crud/read", "w/x", ErrForeignRoot},
		{"widened ability", []*Link{
			w.native(w.bob, c, a, "crud", aw("w/reports"), nil),
			w.native(w.alice, b, a, "crud/read", aw("w/reports"), nil),
		}, "crud/read", "w/reports/q3", ErrWidenedAbility},
		{"widened to any ability", []*Link{
			w.native(w.bob, c, a, "*", aw("w/reports"), nil),
			w.native(w.alice, b, a, "crud", aw("w/reports"), nil),
		}, "crud/read", "w/reports/q3", ErrWidenedAbility},
		{"ability prefix without a slash", []*Link{
			w.native(w.bob, c, a, "crudx", aw("w"), nil),
			w.native(w.alice, b, a, "crud", aw("w"), nil),
		}, "crudx", "w/x", ErrWidenedAbility},
		{"widening in a middle hop only", []*Link{
			w.native(w.dan, c, a, "crud/read", aw("w/reports"), nil),
			w.native(w.bob, d, a, "crud", aw("w"), nil),
			w.native(w.alice, b, a, "crud/read", aw("w/reports"), nil),
		}, "crud/read", "w/reports/q3", ErrWidenedResource},
		{"widened ability in a middle hop only", []*Link{
			w.native(w.dan, c, a, "crud/read", aw("w/reports"), nil),
			w.native(w.bob, d, a, "crud", aw("w/reports"), nil),
			w.native(w.alice, b, a, "crud/read", aw("w/reports"), nil),
		}, "crud/read", "w/reports/q3", ErrWidenedAbility},
		{"sibling prefix in a hop", []*Link{
			w.native(w.bob, c, a, "crud", aw("w/vendor-secret"), nil),
			w.native(w.alice, b, a, "crud", aw("w/vendor"), nil),
		}, "crud/read", "w/vendor-secret/x", ErrWidenedResource},
		{"foreign root", []*Link{w.native(w.bob, c, a, "crud", aw("w"), nil)}, "crud/read", "w/x", ErrForeignRoot},
		{"foreign root about itself", []*Link{w.native(w.bob, c, b, "crud", aw("w"), nil)}, "crud/read", "w/x", ErrForeignRoot},
		{"a venue for an owner it does not host", []*Link{w.native(w.host, c, h, "crud", aw("w"), nil)}, "crud/read", "w/x", ErrForeignRoot},
		{"subject changes", []*Link{
			w.native(w.bob, c, b, "crud", aw("w"), nil),
			w.native(w.alice, b, a, "crud", aw("w"), nil),
		}, "crud/read", "w/x", ErrForeignRoot},
		{"subject changes above", []*Link{
			w.native(w.bob, c, a, "crud", aw("w"), nil),
			w.native(w.alice, b, b, "crud", aw("w"), nil),
		}, "crud/read", "w/x", ErrSubject},
		{"expired leaf", []*Link{w.native(w.alice, c, a, "crud", aw("w"), map[string]any{"exp": noon.Unix() - 1})}, "crud/read", "w/x", ErrExpired},
		{"expired root", []*Link{
			w.native(w.bob, c, a, "crud", aw("w"), nil),
			w.native(w.alice, b, a, "crud", aw("w"), map[string]any{"exp": noon.Unix() - 1}),
		}, "crud/read", "w/x", ErrExpired},
		{"last second", []*Link{w.native(w.alice, c, a, "crud", aw("w"), map[string]any{"exp": noon.Unix()})}, "crud/read", "w/x", nil},
		{"not yet valid", []*Link{w.native(w.alice, c, a, "crud", aw("w"), map[string]any{"nbf": noon.Unix() + 1})}, "crud/read", "w/x", ErrNotYetValid},
		{"first second", []*Link{w.native(w.alice, c, a, "crud", aw("w"), map[string]any{"nbf": noon.Unix()})}, "crud/read", "w/x", nil},
		{"life above the maximum", []*Link{w.native(w.alice, c, a, "crud", aw("w"), map[string]any{"exp": noon.AddDate(1, 0, 3).Unix()})}, "crud/read", "w/x", ErrLifetime},
		{"eternal", []*Link{func() *Link {
			l := w.native(w.alice, c, a, "crud", aw("w"), map[string]any{"exp": nilValue{}})
			return l
		}()}, "crud/read", "w/x", ErrLifetime},
		{"empty with outside the issuer's namespace", []*Link{w.native(w.bob, c, b, "crud", "", nil)}, "crud/read", "w/x", ErrNotCovered},
		{"cycle", []*Link{
			w.native(w.bob, c, a, "crud", aw("w"), nil),
			w.native(w.dan, b, a, "crud", aw("w"), nil),
			w.native(w.bob, d, a, "crud", aw("w"), nil),
		}, "crud/read", "w/x", ErrForeignRoot},
		{"a policy that is not satisfied", []*Link{w.native(w.alice, c, a, "crud", "", map[string]any{"pol": []any{[]any{"==", ".status", "draft"}}})}, "crud/read", "w/x", ErrPolicy},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, err := w.ask(w.carol, tc.can, tc.path, nil, tc.chain...)
			wantErr(t, err, tc.want)
			if err == nil && len(g.Chain()) != len(tc.chain) {
				t.Errorf("chain of %d tokens; want %d", len(g.Chain()), len(tc.chain))
			}
			if err != nil && len(g.Chain()) != 0 {
				t.Error("a refusal carries a chain")
			}
			// The order in which proofs are named has no part in the verdict.
			for i, j := 0, len(tc.chain)-1; i < j; i, j = i+1, j-1 {
				tc.chain[i], tc.chain[j] = tc.chain[j], tc.chain[i]
			}
			_, again := w.ask(w.carol, tc.can, tc.path, nil, tc.chain...)
			if (again == nil) != (err == nil) {
				t.Errorf("in reverse order: %v, before: %v", again, err)
			}
			// The store gives the same verdict, named and searched.
			w := newWorld(t)
			cids := w.put(tc.chain...)
			_, byCID := w.ask(w.carol, tc.can, tc.path, cids)
			wantErr(t, byCID, tc.want)
			_, searched := w.ask(w.carol, tc.can, tc.path, nil)
			if (searched == nil) != (err == nil) {
				t.Errorf("searched: %v, named: %v", searched, err)
			}
		})
	}
}

// nilValue writes a null where nil would remove the field.
type nilValue struct{}

func TestAuthorizeJWT(t *testing.T) {
	w := newWorld(t)
	b, c, d := w.bob.DID(), w.carol.DID(), w.dan.DID()
	aw := func(path string) string { return w.url(w.alice, path) }
	root := func(with, can string) string { return w.jwt(w.alice, b, cap1(with, can)) }
	for _, tc := range []struct {
		name  string
		token string
		open  error // refused when read
		want  error // refused when asked crud/read on w/reports/q3
	}{
		{"bare root", w.jwt(w.alice, c, cap1("w/", "crud")), nil, nil},
		{"absolute root", w.jwt(w.alice, c, cap1(aw("w/"), "crud")), nil, nil},
		{"leading slash", w.jwt(w.alice, c, cap1("/w/reports", "crud")), nil, nil},
		{"whole namespace", w.jwt(w.alice, c, cap1("", "*")), nil, nil},
		{"chain", w.jwt(w.bob, c, cap1("w/reports", "crud/read"), root("w/", "crud")), nil, nil},
		{"bare above absolute", w.jwt(w.bob, c, cap1(aw("w/reports"), "crud/read"), root("w/", "crud")), nil, nil},
		{"absolute above bare", w.jwt(w.bob, c, cap1("w/reports", "crud/read"), root(aw("w/"), "crud")), nil, nil},
		{"two proofs, one for each capability", w.jwt(w.bob, c,
			[]any{att{"with": aw("w/reports"), "can": "crud/read"}, att{"with": aw("w/notes"), "can": "crud"}},
			root("w/reports", "crud/read"), root("w/notes", "crud")), nil, nil},
		{"nothing granted", w.jwt(w.alice, c, []any{}), nil, ErrNotCovered},
		{"two halves do not make one", w.jwt(w.bob, c, cap1("w/reports", "crud/read"), root("w/reports", "asset"), root("w/other", "crud")), ErrWidenedAbility, nil},
		{"widened resource", w.jwt(w.bob, c, cap1("w/", "crud/read"), root("w/reports", "crud")), ErrWidenedResource, nil},
		{"widened ability", w.jwt(w.bob, c, cap1("w/reports", "crud"), root("w/reports", "crud/read")), ErrWidenedAbility, nil},
		{"one widened beside a good one", w.jwt(w.bob, c,
			[]any{att{"with": "w/reports", "can": "crud/read"}, att{"with": "s", "can": "secret"}}, root("w/", "crud")), ErrWidenedResource, nil},
		{"widening in a middle hop only", w.jwt(w.dan, c, cap1("w/reports", "crud/read"),
			w.jwt(w.bob, d, cap1("w/", "crud"), root("w/reports", "crud/read"))), ErrWidenedResource, nil},
		{"sibling prefix", w.jwt(w.bob, c, cap1("w/reports-secret", "crud"), root("w/reports", "crud")), ErrWidenedResource, nil},
		{"wrong audience", w.jwt(w.alice, b, cap1("w/", "crud")), nil, ErrAudience},
		{"broken chain", w.jwt(w.dan, c, cap1("w/", "crud"), root("w/", "crud")), ErrBrokenChain, nil},
		{"foreign root", w.jwt(w.bob, c, cap1(aw("w/"), "crud")), nil, ErrForeignRoot},
		{"empty with outside the issuer's namespace", w.jwt(w.bob, c, cap1("", "*")), nil, ErrBareResource},
		{"bare with of a venue", w.jwt(w.host, c, cap1("w/", "crud")), nil, ErrBareResource},
		{"a venue for an owner it does not host", w.jwt(w.host, c, cap1(aw("w/"), "crud")), nil, ErrForeignRoot},
		{"expired", signJWT(t, w.alice, plainHeader, with(w.claims(w.alice, c, cap1("w/", "crud")), "exp", noon.Unix()-1)), nil, ErrExpired},
		{"last second", signJWT(t, w.alice, plainHeader, with(w.claims(w.alice, c, cap1("w/", "crud")), "exp", noon.Unix())), nil, nil},
		{"not yet valid", signJWT(t, w.alice, plainHeader, with(w.claims(w.alice, c, cap1("w/", "crud")), "nbf", noon.Unix()+1)), nil, ErrNotYetValid},
		{"life above the maximum", signJWT(t, w.alice, plainHeader, with(w.claims(w.alice, c, cap1("w/", "crud")), "exp", noon.AddDate(2, 0, 0).Unix())), nil, ErrLifetime},
		{"milliseconds for seconds", signJWT(t, w.alice, plainHeader, with(w.claims(w.alice, c, cap1("w/", "crud")), "exp", noon.UnixMilli())), nil, ErrLifetime},
		{"eternal", signJWT(t, w.alice, plainHeader, with(w.claims(w.alice, c, cap1("w/", "crud")), "exp", nil)), nil, ErrLifetime},
		{"outlives its proof", signJWT(t, w.bob, plainHeader, with(w.claims(w.bob, c, cap1("w/", "crud"), root("w/", "crud")), "exp", w.exp()+1)), ErrTimeBounds, nil},
		{"begins before its proof", w.jwt(w.bob, c, cap1("w/", "crud"), signJWT(t, w.alice, plainHeader, with(w.claims(w.alice, b, cap1("w/", "crud")), "nbf", noon.Unix()-5))), ErrTimeBounds, nil},
		{"bare below proofs of two owners", w.jwt(w.bob, c, cap1("w/reports", "crud/read"), root("w/", "crud"), w.jwt(w.dan, b, cap1("w/", "crud"))), ErrBareResource, nil},
		{"below an eternal proof", w.jwt(w.bob, c, cap1("w/", "crud"), signJWT(t, w.alice, plainHeader, with(w.claims(w.alice, b, cap1("w/", "crud")), "exp", nil))), nil, ErrLifetime},
		{"beside an eternal proof", w.jwt(w.bob, c, cap1("w/", "crud"), root("w/", "crud"), signJWT(t, w.alice, plainHeader, with(w.claims(w.alice, b, cap1("n/", "crud")), "exp", nil))), nil, ErrLifetime},
		{"missing proof", w.jwt(w.bob, c, cap1("w/", "crud"), cidOf(codecRaw, []byte("gone")).String()), nil, ErrMissingProof},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := Open([]byte(tc.token))
			wantErr(t, err, tc.open)
			if err != nil {
				return
			}
			_, err = w.ask(w.carol, "crud/read", "w/reports/q3", nil, l)
			wantErr(t, err, tc.want)
			if tc.want == nil {
				w := newWorld(t)
				w.put(l)
				_, err := w.ask(w.carol, "crud/read", "w/reports/q3", nil)
				wantErr(t, err, nil)
			}
		})
	}
}

func TestProofsByCID(t *testing.T) {
	w := newWorld(t)
	root := mustOpen(t, w.jwt(w.alice, w.bob.DID(), cap1("w/", "crud")))
	child := mustOpen(t, w.jwt(w.bob, w.carol.DID(), cap1("w/reports", "crud/read"), root.CID.String()))
	if err := w.store.Put(t.Context(), child); err == nil {
		t.Error("a token was stored before its proof")
	}
	w.put(root)
	g, err := w.ask(w.carol, "crud/read", "w/reports/x", nil, child)
	wantErr(t, err, nil)
	if got := g.Chain(); len(got) != 2 || got[0] != child.CID || got[1] != root.CID {
		t.Errorf("chain = %v", got)
	}
	w.put(child)
	w.open()
	_, err = w.ask(w.carol, "crud/read", "w/reports/x", nil)
	wantErr(t, err, nil)
	_, err = w.ask(w.carol, "crud/read", "w/reports/x", []CID{child.CID})
	wantErr(t, err, nil)
}

func TestMixedChains(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.alice.DID(), w.bob.DID(), w.carol.DID()
	jwtRoot := mustOpen(t, w.jwt(w.alice, b, cap1("w/", "crud")))
	nativeChild := w.native(w.bob, c, a, "crud/read", w.url(w.alice, "w/reports"), nil)
	_, err := w.ask(w.carol, "crud/read", "w/reports/x", nil, jwtRoot, nativeChild)
	wantErr(t, err, nil)

	nativeRoot := w.native(w.alice, b, a, "crud", w.url(w.alice, "w"), nil)
	jwtChild := mustOpen(t, w.jwt(w.bob, c, cap1("w/reports", "crud/read"), nativeRoot.CID.String()))
	_, err = w.ask(w.carol, "crud/read", "w/reports/x", nil, jwtChild, nativeRoot)
	wantErr(t, err, nil)
	_, err = w.ask(w.carol, "crud/read", "w/reports/x", nil, mustOpen(t, string(jwtChild.Bytes())))
	wantErr(t, err, ErrMissingProof)

	wide := mustOpen(t, w.jwt(w.bob, c, cap1("", "*"), nativeRoot.CID.String()))
	_, err = w.ask(w.carol, "crud/read", "w/reports/x", nil, wide, nativeRoot)
	wantErr(t, err, ErrWidenedResource)

	// The venue for dan, whom it hosts, in both formats and mixed.
	d, h := w.dan.DID(), w.host.DID()
	ask := func(tokens ...*Link) error {
		_, err := w.v.Authorize(t.Context(), Query{Caller: c, Request: caps.Need("crud/read", w.url(w.dan, "w/x")), Tokens: tokens})
		return err
	}
	wantErr(t, ask(w.native(w.host, c, h, "crud", w.url(w.dan, "w"), nil)), nil)
	wantErr(t, ask(mustOpen(t, w.jwt(w.host, c, cap1(w.url(w.dan, "w"), "crud")))), nil)
	wantErr(t, ask(w.native(w.host, b, h, "crud", w.url(w.dan, "w"), nil), w.native(w.bob, c, h, "crud", w.url(w.dan, "w"), nil)), nil)
	wantErr(t, ask(mustOpen(t, w.jwt(w.host, b, cap1(w.url(w.dan, "w"), "crud"))), w.native(w.bob, c, d, "crud", w.url(w.dan, "w"), nil)), nil)
	wantErr(t, ask(w.native(w.host, c, h, "crud", "", nil)), ErrNotCovered)
	// A subject that is neither the owner nor the root, on top of a JWT or alone.
	_, err = w.ask(w.carol, "crud/read", "w/reports/x", nil, jwtRoot, w.native(w.bob, c, w.mallory.DID(), "crud/read", w.url(w.alice, "w/reports"), nil))
	wantErr(t, err, ErrSubject)
	if _, err = w.ask(w.carol, "crud/read", "w/x", nil, w.native(w.alice, c, b, "crud", w.url(w.alice, "w"), nil)); err == nil {
		t.Error("a root about somebody else was believed")
	}
	// Two subjects in one chain, a JWT between them.
	top := w.native(w.host, b, h, "crud", w.url(w.dan, "w"), nil)
	middle := mustOpen(t, w.jwt(w.bob, w.alice.DID(), cap1(w.url(w.dan, "w"), "crud"), top.CID.String()))
	wantErr(t, ask(top, middle, w.native(w.alice, c, d, "crud", w.url(w.dan, "w"), nil)), ErrSubject)
	wantErr(t, ask(top, middle, w.native(w.alice, c, h, "crud", w.url(w.dan, "w"), nil)), nil)
	// In its own namespace, too, a venue says whose it is.
	_, err = w.v.Authorize(t.Context(), Query{Caller: c, Owner: h, Request: caps.Need("crud", "w/x"), Tokens: []*Link{mustOpen(t, w.jwt(w.host, c, cap1("w", "crud")))}})
	wantErr(t, err, ErrBareResource)
	_, err = w.v.Authorize(t.Context(), Query{Caller: c, Owner: h, Request: caps.Need("crud", "w/x"), Tokens: []*Link{mustOpen(t, w.jwt(w.host, c, cap1(w.url(w.host, "w"), "crud")))}})
	wantErr(t, err, nil)
	wantErr(t, ask(w.native(w.host, b, h, "crud", w.url(w.dan, "w"), nil), w.native(w.bob, c, d, "crud", w.url(w.dan, "w"), nil)), ErrSubject)
}

func TestTooDeep(t *testing.T) {
	w := newWorld(t)
	keys := []Key{w.alice}
	for i := range 17 {
		keys = append(keys, testKey(t, "hop"+string(rune('a'+i))))
	}
	var chain []*Link
	for i := range 17 {
		chain = append(chain, w.native(keys[i], keys[i+1].DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), nil))
	}
	w.v.Limits.Proofs = 64
	_, err := w.ask(keys[16], "crud/read", "w/x", nil, chain[:16]...)
	wantErr(t, err, nil)
	_, err = w.ask(keys[17], "crud/read", "w/x", nil, chain...)
	wantErr(t, err, ErrTooDeep)
	w.v.Limits.Proofs = 0
	_, err = w.ask(keys[17], "crud/read", "w/x", nil, chain...)
	wantErr(t, err, ErrBudget)

	token := w.jwt(w.alice, keys[1].DID(), cap1("w/", "crud"))
	for i := 1; i < 8; i++ {
		token = w.jwt(keys[i], keys[i+1].DID(), cap1("w/", "crud"), token)
	}
	_, err = w.ask(keys[8], "crud/read", "w/x", nil, mustOpen(t, token))
	wantErr(t, err, nil)
	_, err = Open([]byte(w.jwt(keys[8], keys[9].DID(), cap1("w/", "crud"), token)))
	wantErr(t, err, ErrTooDeep)

	// By CID the depth is known only when the proofs are.
	var links []*Link
	prf := []string{}
	for i := range 9 {
		l := mustOpen(t, w.jwt(keys[i], keys[i+1].DID(), cap1("w/", "crud"), prf...))
		links, prf = append(links, l), []string{l.CID.String()}
	}
	_, err = w.ask(keys[8], "crud/read", "w/x", nil, links[:8]...)
	wantErr(t, err, nil)
	_, err = w.ask(keys[9], "crud/read", "w/x", nil, links...)
	wantErr(t, err, ErrTooDeep)
}

func TestTooLarge(t *testing.T) {
	w := newWorld(t)
	a, c := w.alice.DID(), w.carol.DID()
	_, err := Open(w.nativeRaw(w.alice, c, a, "crud", "", map[string]any{"meta": map[string]any{"x": strings.Repeat("x", 8<<10)}}))
	wantErr(t, err, ErrTooLarge)
	_, err = Open([]byte(signJWT(t, w.alice, plainHeader, with(w.claims(w.alice, c, cap1("w", "crud")), "fct", []any{att{"x": strings.Repeat("x", 64<<10)}}))))
	wantErr(t, err, ErrTooLarge)
	var many []any
	for range 65 {
		many = append(many, att{"with": "w", "can": "crud"})
	}
	_, err = Open([]byte(w.jwt(w.alice, c, many)))
	wantErr(t, err, ErrTooLarge)
	mustOpen(t, w.jwt(w.alice, c, many[:64]))
	var prf []string
	for i := range 17 {
		prf = append(prf, cidOf(codecRaw, []byte{byte(i)}).String())
	}
	_, err = Open([]byte(w.jwt(w.alice, c, many[:1], prf...)))
	wantErr(t, err, ErrTooLarge)
}

func TestSearchBudget(t *testing.T) {
	w := newWorld(t)
	a := w.alice.DID()
	// Everybody delegates to everybody and nobody is rooted in alice.
	keys := []Key{w.bob, w.carol, w.dan, w.mallory, w.host, testKey(t, "x1"), testKey(t, "x2"), testKey(t, "x3")}
	for _, from := range keys {
		for _, to := range keys {
			if from != to {
				w.put(w.native(from, to.DID(), a, "crud", w.url(w.alice, "w"), nil))
			}
		}
	}
	_, err := w.ask(w.carol, "crud/read", "w/x", nil)
	wantErr(t, err, ErrForeignRoot)
	// What is cut short says so, whatever else it met.
	w.v.Limits.Search = 20
	_, err = w.ask(w.carol, "crud/read", "w/x", nil)
	wantErr(t, err, ErrBudget)
	// A cycle of two ends by itself.
	w = newWorld(t)
	w.put(w.native(w.bob, w.carol.DID(), a, "crud", w.url(w.alice, "w"), nil), w.native(w.carol, w.bob.DID(), a, "crud", w.url(w.alice, "w"), nil))
	_, err = w.ask(w.carol, "crud/read", "w/x", nil)
	wantErr(t, err, ErrForeignRoot)
}

func TestTampered(t *testing.T) {
	w := newWorld(t)
	a, c := w.alice.DID(), w.carol.DID()
	raw := w.nativeRaw(w.alice, c, a, "crud", w.url(w.alice, "w"), nil)
	raw[10] ^= 1
	_, err := Open(raw)
	wantErr(t, err, ErrSignature)
	// The content changes and stays well formed.
	raw = w.nativeRaw(w.alice, c, a, "crud", w.url(w.alice, "w"), nil)
	_, err = Open([]byte(strings.Replace(string(raw), "/crud", "/krud", 1)))
	wantErr(t, err, ErrSignature)

	token := w.jwt(w.alice, c, cap1("w", "crud"))
	parts := strings.Split(token, ".")
	body, _ := base64.RawURLEncoding.DecodeString(parts[1])
	forged := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(body), "crud", "kill", 1)))
	_, err = Open([]byte(parts[0] + "." + forged + "." + parts[2]))
	wantErr(t, err, ErrSignature)
	sig, _ := base64.RawURLEncoding.DecodeString(parts[2])
	sig[0] ^= 1
	_, err = Open([]byte(parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(sig)))
	wantErr(t, err, ErrSignature)
	// Signed by another key than the issuer's.
	_, err = Open([]byte(signJWT(t, w.mallory, plainHeader, w.claims(w.alice, c, cap1("w", "crud")))))
	wantErr(t, err, ErrSignature)
	// Inside, as a proof.
	bad := signJWT(t, w.mallory, plainHeader, w.claims(w.alice, w.bob.DID(), cap1("w", "crud")))
	_, err = Open([]byte(w.jwt(w.bob, c, cap1("w", "crud"), bad)))
	wantErr(t, err, ErrSignature)
}

func TestQueryRefused(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		q    Query
		want error
	}{
		"no caller":       {Query{Owner: w.alice.DID(), Request: caps.Need("crud", "w")}, ErrAudience},
		"bare resource":   {Query{Caller: w.bob.DID(), Request: caps.Need("crud", "w")}, ErrBareResource},
		"bare, no owner":  {Query{Request: caps.Need("crud", "w")}, ErrBareResource},
		"zero request":    {Query{Caller: w.bob.DID(), Owner: w.bob.DID()}, ErrRequest},
		"invalid request": {Query{Caller: w.bob.DID(), Owner: w.bob.DID(), Request: caps.Need("CRUD", "w")}, ErrRequest},
		"path escape":     {Query{Caller: w.bob.DID(), Owner: w.bob.DID(), Request: caps.Need("crud", "w/../s")}, ErrRequest},
		"never":           {Query{Caller: w.bob.DID(), Owner: w.bob.DID(), Request: caps.Never("crud", "v/x", "not here")}, ErrRequest},
		"nothing stored":  {Query{Caller: w.bob.DID(), Owner: w.alice.DID(), Request: caps.Need("crud", "w")}, ErrNotCovered},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.v.Authorize(t.Context(), c.q)
			wantErr(t, err, c.want)
		})
	}
	if _, err := w.ask(w.alice, "crud", "w", nil); err != nil {
		t.Errorf("the owner was refused: %v", err)
	}
	_, err := (&Verifier{}).Authorize(t.Context(), Query{Caller: w.bob.DID(), Owner: w.alice.DID(), Request: caps.Need("crud", "w")})
	wantErr(t, err, ErrMissingProof)
	// An operation without a resource asks for the whole namespace.
	narrow := mustOpen(t, w.jwt(w.alice, w.bob.DID(), cap1("w", "*")))
	whole := mustOpen(t, w.jwt(w.alice, w.bob.DID(), cap1("", "invoke")))
	q := Query{Caller: w.bob.DID(), Owner: w.alice.DID(), Request: caps.NeedAbility("invoke"), Tokens: []*Link{narrow}}
	_, err = w.v.Authorize(t.Context(), q)
	wantErr(t, err, ErrNotCovered)
	q.Tokens = []*Link{whole}
	_, err = w.v.Authorize(t.Context(), q)
	wantErr(t, err, nil)
}

func TestFractions(t *testing.T) {
	w := newWorld(t)
	l := w.native(w.alice, w.carol.DID(), w.alice.DID(), "crud", "", map[string]any{"nbf": noon.Unix(), "exp": noon.Unix() + 10})
	for _, c := range []struct {
		at   time.Duration
		want error
	}{
		{-time.Nanosecond, ErrNotYetValid},
		{0, nil},
		{10 * time.Second, nil},
		{10*time.Second + 1, ErrExpired},
	} {
		w.now = noon.Add(c.at)
		_, err := w.ask(w.carol, "crud", "w", nil, l)
		if wantErr(t, err, c.want); t.Failed() {
			t.Fatalf("at %v", c.at)
		}
	}
}

// TestProofBombs stores proofs by CID that share each other: few tokens, many
// ways. Neither storing nor asking may take the ways one by one.
func TestProofBombs(t *testing.T) {
	w := newWorld(t)
	begin := time.Now()
	var last []string
	refused := false
	for level := range 8 {
		var next []string
		for i := range 4 {
			claims := w.claims(w.bob, w.bob.DID(), cap1(w.url(w.bob, "w"), "crud"), last...)
			claims["nnc"] = string(rune('a'+level)) + string(rune('a'+i))
			l := mustOpen(t, signJWT(t, w.bob, plainHeader, claims))
			if err := w.store.Put(t.Context(), l); err != nil {
				wantErr(t, errors.Unwrap(err), ErrBudget)
				refused = true
				break
			}
			_ = w.v.Revoke(t.Context(), mustRevoke(t, w.bob, l.CID))
			_ = w.v.Check(t.Context(), l)
			next = append(next, l.CID.String())
		}
		if last = next; refused {
			break
		}
	}
	if !refused {
		t.Error("a bomb was stored")
	}
	if spent := time.Since(begin); spent > 5*time.Second {
		t.Errorf("it took %v", spent)
	}

	// A chain by CID ends at the most that any limit allows.
	prf := []string{}
	for i := range maxChain + 1 {
		claims := w.claims(w.bob, w.bob.DID(), cap1(w.url(w.bob, "w"), "crud"), prf...)
		claims["nnc"] = string(rune('a' + i))
		l := mustOpen(t, signJWT(t, w.bob, plainHeader, claims))
		err := w.store.Put(t.Context(), l)
		if i < maxChain {
			wantErr(t, err, nil)
		} else {
			wantErr(t, errors.Unwrap(err), ErrTooDeep)
		}
		prf = []string{l.CID.String()}
	}
}
