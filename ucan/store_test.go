package ucan

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
)

func collect(t *testing.T, seq iter.Seq2[*Link, error]) []CID {
	t.Helper()
	var out []CID
	for l, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l.CID)
	}
	return out
}

var cmpCID = cmp.Comparer(func(a, b CID) bool { return a == b })

func TestStoreIndexes(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.alice.DID(), w.bob.DID(), w.carol.DID()
	late := w.native(w.alice, b, a, "crud", w.url(w.alice, "w"), map[string]any{"exp": w.exp() + 50})
	soon := w.native(w.alice, b, a, "crud", w.url(w.alice, "x"), nil)
	child := w.native(w.bob, c, a, "crud", w.url(w.alice, "w"), nil)
	jwtRoot := mustOpen(t, w.jwt(w.alice, c, cap1("w", "crud")))
	jwtChild := mustOpen(t, w.jwt(w.carol, b, cap1("w", "crud"), jwtRoot.CID.String()))
	w.put(late, soon, child, jwtRoot, jwtChild, jwtChild)

	check := func(when string) {
		t.Helper()
		for _, c := range []struct {
			name string
			got  []CID
			want []CID
		}{
			{"to bob, soonest first", collect(t, w.store.ByAudience(t.Context(), b))[1:], []CID{jwtChild.CID, late.CID}},
			{"by bob", collect(t, w.store.ByIssuer(t.Context(), b)), []CID{child.CID}},
			{"by carol", collect(t, w.store.ByIssuer(t.Context(), w.carol.DID())), []CID{jwtChild.CID}},
			{"to mallory", collect(t, w.store.ByAudience(t.Context(), w.mallory.DID())), nil},
		} {
			if len(c.want) == 2 { // two with one expiry come in the order of their CIDs
				if len(c.got) != 2 || c.got[1] != c.want[1] {
					t.Errorf("%s, %s: %v; want %v last", when, c.name, c.got, c.want[1])
				}
			} else if d := cmp.Diff(c.want, c.got, cmpCID); d != "" {
				t.Errorf("%s, %s: %s", when, c.name, d)
			}
		}
		if n := len(collect(t, w.store.ByIssuer(t.Context(), a))); n != 3 {
			t.Errorf("%s: %d tokens by alice; want 3", when, n)
		}
	}
	check("in memory")
	w.open()
	check("from the disk")

	if _, err := w.store.Get(t.Context(), cidOf(codecRaw, nil)); !errors.Is(err, ErrMissingProof) {
		t.Errorf("a missing token: %v", err)
	}
}

func TestStoreRefuses(t *testing.T) {
	w := newWorld(t)
	l := w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", nil)
	raw := l.Bytes()
	raw[5] ^= 1
	bad, err := Limits{}.decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	wantErr(t, w.store.Put(t.Context(), bad), ErrSignature)
	w.kv.fail = errors.New("disk full")
	if err := w.store.Put(t.Context(), l); err == nil {
		t.Error("a failed write was reported as done")
	}
	if err := w.v.Revoke(t.Context(), mustRevoke(t, w.alice, l.CID)); err == nil {
		t.Error("a failed revocation was reported as done")
	}
	w.kv.fail = nil
	if _, err := w.ask(w.bob, "crud", "w", nil); err == nil {
		t.Error("a token that was not stored is used")
	}
	// What stands under a CID must be that token.
	w.put(l)
	other := w.native(w.alice, w.carol.DID(), w.alice.DID(), "*", "", nil)
	key := keyToken + l.CID.key()
	w.kv.data[key] = memValue{other.raw, 99}
	w.open()
	if _, err := w.store.Get(t.Context(), l.CID); err == nil {
		t.Error("a token was read under another's CID")
	}
	// A token whose signature was damaged on disk is not believed.
	w.kv.data[key] = memValue{raw, 100}
	w.open()
	if _, err := w.ask(w.bob, "crud", "w", nil); err == nil {
		t.Error("a damaged token was believed")
	}
}

func mustRevoke(t testing.TB, k Key, target CID) *Revocation {
	t.Helper()
	r, err := k.Revocation(target, noon)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = openRevocation(r.raw); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestForgedOnDisk puts tokens that nobody signed where the store keeps tokens.
func TestForgedOnDisk(t *testing.T) {
	w := newWorld(t)
	b, c := w.bob.DID(), w.carol.DID()
	forge := func(raw []byte) *Link {
		l, err := Limits{}.decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		w.kv.data[keyToken+l.CID.key()] = memValue{l.raw, 1}
		for _, k := range l.indexKeys() {
			w.kv.data[k] = memValue{nil, 1}
		}
		return l
	}
	raw := w.nativeRaw(w.alice, b, w.alice.DID(), "*", "", nil)
	raw[5] ^= 1
	forge(raw)
	_, err := w.ask(w.bob, "crud", "w", nil)
	wantErr(t, err, ErrSignature)

	root := forge([]byte(signJWT(t, w.mallory, plainHeader, w.claims(w.alice, b, cap1("", "*")))))
	leaf := mustOpen(t, w.jwt(w.bob, c, cap1("w", "crud"), root.CID.String()))
	_, err = w.ask(w.carol, "crud", "w", nil, leaf)
	wantErr(t, err, ErrSignature)
	wantErr(t, w.v.Check(t.Context(), leaf), ErrSignature)
}

// TestSmallMemory finds everything when hardly anything is kept in memory.
func TestSmallMemory(t *testing.T) {
	w := newWorld(t)
	w.store.maxTokens, w.store.maxAudiences = 2, 3
	var keys []Key
	from := w.alice
	for i := range 3 {
		to := testKey(t, "small"+string(rune('a'+i)))
		w.put(w.native(from, to.DID(), w.alice.DID(), "crud", "", nil))
		keys, from = append(keys, to), to
	}
	for range 3 {
		for _, k := range append(keys, w.bob, w.carol) {
			_, err := w.ask(k, "crud", "w", nil)
			if sameKey(k, w.bob) || sameKey(k, w.carol) {
				wantErr(t, err, ErrNotCovered)
			} else {
				wantErr(t, err, nil)
			}
		}
	}
	if len(w.store.tokens) > 2 || len(w.store.audiences) > 3 {
		t.Errorf("%d tokens and %d audiences are in memory", len(w.store.tokens), len(w.store.audiences))
	}
}

// TestRevokeUnsynced: when the disk does not confirm, the caller hears so, and the
// token is refused all the same.
func TestRevokeUnsynced(t *testing.T) {
	w := newWorld(t)
	l := w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", nil)
	w.put(l)
	w.kv.fail = errors.New("no disk")
	if err := w.v.Revoke(t.Context(), mustRevoke(t, w.alice, l.CID)); err == nil {
		t.Error("acknowledged though the store failed")
	}
	_, err := w.ask(w.bob, "crud", "w", nil)
	wantErr(t, err, ErrRevoked)
}

// TestRevokeAnyLink revokes each link of a chain in turn, by each who may.
func TestRevokeAnyLink(t *testing.T) {
	build := map[string]func(w *world) []*Link{
		"native": func(w *world) []*Link {
			a := w.alice.DID()
			return []*Link{
				w.native(w.alice, w.bob.DID(), a, "crud", w.url(w.alice, "w"), nil),
				w.native(w.bob, w.dan.DID(), a, "crud", w.url(w.alice, "w"), nil),
				w.native(w.dan, w.carol.DID(), a, "crud", w.url(w.alice, "w"), nil),
			}
		},
		"jwt": func(w *world) []*Link {
			r := mustOpen(t, w.jwt(w.alice, w.bob.DID(), cap1("w", "crud")))
			m := mustOpen(t, w.jwt(w.bob, w.dan.DID(), cap1("w", "crud"), r.CID.String()))
			return []*Link{r, m, mustOpen(t, w.jwt(w.dan, w.carol.DID(), cap1("w", "crud"), m.CID.String()))}
		},
	}
	for format, make := range build {
		for link := range 3 {
			for _, by := range []string{"alice", "bob", "dan", "carol", "mallory"} {
				w := newWorld(t)
				chain := make(w)
				w.put(chain...)
				keys := map[string]Key{"alice": w.alice, "bob": w.bob, "dan": w.dan, "carol": w.carol, "mallory": w.mallory}
				_, err := w.ask(w.carol, "crud", "w/x", nil)
				wantErr(t, err, nil)
				// Those who issued the token or one above it: alice the first, alice
				// and bob the second, and so on.
				may := map[string]int{"alice": 0, "bob": 1, "dan": 2, "carol": 9, "mallory": 9}[by] <= link
				err = w.v.Revoke(t.Context(), mustRevoke(t, keys[by], chain[link].CID))
				if (err == nil) != may {
					t.Fatalf("%s: %s revokes link %d: %v", format, by, link, err)
				}
				want := error(nil)
				if may {
					want = ErrRevoked
				} else {
					wantErr(t, err, errMayNotRevoke)
				}
				check := func(when string) {
					_, err := w.ask(w.carol, "crud", "w/x", nil)
					wantErr(t, err, want)
					_, err = w.ask(w.carol, "crud", "w/x", []CID{chain[0].CID, chain[1].CID, chain[2].CID})
					if wantErr(t, err, want); t.Failed() {
						t.Fatalf("%s: %s revoked link %d, %s", format, by, link, when)
					}
				}
				check("at once")
				w.open()
				check("after a restart")
			}
		}
	}
}

// TestRevocationFirst revokes a token that arrives later.
func TestRevocationFirst(t *testing.T) {
	w := newWorld(t)
	l := w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", nil)
	wantErr(t, w.v.Revoke(t.Context(), mustRevoke(t, w.mallory, l.CID)), nil)
	_, err := w.ask(w.bob, "crud", "w", nil, l)
	wantErr(t, err, nil) // mallory has no say in the chain
	wantErr(t, w.v.Revoke(t.Context(), mustRevoke(t, w.alice, l.CID)), nil)
	_, err = w.ask(w.bob, "crud", "w", nil, l)
	wantErr(t, err, ErrRevoked)
	if got := w.store.revokersOf(l.CID); len(got) != 2 {
		t.Errorf("Revokers = %v", got)
	}
}

// TestRevocationQuota bounds what one principal can leave behind for ever.
func TestRevocationQuota(t *testing.T) {
	w := newWorld(t)
	w.store.maxUnknown = 3
	for i := range 3 {
		r := mustRevoke(t, w.mallory, cidOf(codecRaw, []byte{byte(i)}))
		wantErr(t, w.v.Revoke(t.Context(), r), nil)
		wantErr(t, w.v.Revoke(t.Context(), r), nil) // again is no more
	}
	size := w.kv.size()
	wantErr(t, w.v.Revoke(t.Context(), mustRevoke(t, w.mallory, cidOf(codecRaw, []byte{9}))), ErrBudget)
	if w.kv.size() != size {
		t.Error("a refused revocation was stored")
	}
	w.open()
	w.store.maxUnknown = 3
	wantErr(t, w.v.Revoke(t.Context(), mustRevoke(t, w.mallory, cidOf(codecRaw, []byte{9}))), ErrBudget)
	// Others are not affected, nor is what is known here.
	wantErr(t, w.v.Revoke(t.Context(), mustRevoke(t, w.alice, cidOf(codecRaw, []byte{9}))), nil)
	l := w.native(w.mallory, w.bob.DID(), w.mallory.DID(), "crud", "", map[string]any{"exp": nilValue{}})
	w.put(l)
	wantErr(t, w.v.Revoke(t.Context(), mustRevoke(t, w.mallory, l.CID)), nil)
}

// TestRevokeInline revokes a proof inside a JWT, and one that its leaf does not
// need.
func TestRevokeInline(t *testing.T) {
	w := newWorld(t)
	r1 := w.jwt(w.alice, w.bob.DID(), cap1("w", "crud"))
	r2 := w.jwt(w.alice, w.bob.DID(), cap1("n", "crud"))
	leaf := mustOpen(t, w.jwt(w.bob, w.carol.DID(), []any{att{"with": "w", "can": "crud"}, att{"with": "n", "can": "crud"}}, r1, r2))
	_, err := w.ask(w.carol, "crud", "w/x", nil, leaf)
	wantErr(t, err, nil)
	wantErr(t, w.v.Revoke(t.Context(), mustRevoke(t, w.alice, mustOpen(t, r2).CID)), nil)
	_, err = w.ask(w.carol, "crud", "w/x", nil, leaf)
	wantErr(t, err, ErrRevoked)
	wantErr(t, w.v.Check(t.Context(), leaf), ErrRevoked)
}

// TestRevokeVenueRooted lets the owner revoke what a venue issued for them.
func TestRevokeVenueRooted(t *testing.T) {
	w := newWorld(t)
	l := w.native(w.host, w.bob.DID(), w.host.DID(), "crud", w.url(w.dan, "w"), nil)
	w.put(l)
	ask := func() error {
		_, err := w.v.Authorize(t.Context(), Query{Caller: w.bob.DID(), Request: caps.Need("crud", w.url(w.dan, "w/x"))})
		return err
	}
	wantErr(t, ask(), nil)
	wantErr(t, w.v.Revoke(t.Context(), mustRevoke(t, w.dan, l.CID)), nil)
	wantErr(t, ask(), ErrRevoked)
	// The same of a token that comes along, and of one below it, whoever began it.
	below := w.native(w.bob, w.carol.DID(), w.host.DID(), "crud", w.url(w.dan, "w"), nil)
	for caller, tokens := range map[Key][]*Link{w.bob: {l}, w.carol: {below, l}} {
		_, err := w.v.Authorize(t.Context(), Query{Caller: caller.DID(), Request: caps.Need("crud", w.url(w.dan, "w/x")), Tokens: tokens})
		wantErr(t, err, ErrRevoked)
	}
}

// TestOneTokenMore: a token that is stored counts at once, and nothing that others made
// out to the same principal is read again for it.
func TestOneTokenMore(t *testing.T) {
	w := newWorld(t)
	for i := range 100 {
		w.put(w.native(w.mallory, w.bob.DID(), w.mallory.DID(), "crud", w.url(w.mallory, fmt.Sprintf("w/%d", i)), nil))
	}
	_, err := w.ask(w.bob, "crud/read", "w/x", nil)
	wantErr(t, err, ErrNotCovered)
	before, err := w.store.audience(t.Context(), w.bob.DID())
	if err != nil {
		t.Fatal(err)
	}
	link := w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "w/x"), nil)
	w.put(link, link)
	after := w.store.audiences[w.bob.DID()]
	if after == nil || len(after.all()) != 101 || len(before.all()) != 100 {
		t.Fatalf("the audience is %v, and was %d tokens, want 101 and 100", after, len(before.all()))
	}
	_, err = w.ask(w.bob, "crud/read", "w/x", nil)
	wantErr(t, err, nil)
	wantErr(t, w.v.Revoke(t.Context(), mustRevoke(t, w.alice, link.CID)), nil)
	_, err = w.ask(w.bob, "crud/read", "w/x", nil)
	wantErr(t, err, ErrRevoked)
}

// TestDelegatedRevocation lets the holder of ucan/revoke revoke for the owner.
func TestDelegatedRevocation(t *testing.T) {
	w := newWorld(t)
	l := w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", nil)
	w.put(l)
	r := mustRevoke(t, w.carol, l.CID)
	wantErr(t, w.v.Revoke(t.Context(), r), errMayNotRevoke)
	w.put(w.native(w.alice, w.carol.DID(), w.alice.DID(), "ucan/revoke", w.url(w.alice, "u"), nil))
	wantErr(t, w.v.Revoke(t.Context(), r), nil)
	_, err := w.ask(w.bob, "crud", "w", nil)
	wantErr(t, err, ErrRevoked)
}

func TestOpenRevocationRefuses(t *testing.T) {
	w := newWorld(t)
	one, two := cidOf(codecRaw, nil), cidOf(codecRaw, []byte{1})
	for name, c := range map[string]Call{
		"another command": {Can: "crud", Args: map[string]any{revokeArg: cidOf(codecRaw, nil)}},
		"no target":       {Can: revokeAbility},
		"target a text":   {Can: revokeAbility, Args: map[string]any{revokeArg: "bafy"}},
		"target a list":   {Can: revokeAbility, Args: map[string]any{revokeArg: []any{"bafy"}, olderArg: []any{}}},
		"two targets":     {Can: revokeAbility, Args: map[string]any{revokeArg: one, olderArg: two}},
	} {
		c.Subject, c.Expires = w.alice.DID(), noon
		i, err := w.alice.Invoke(c, w.rand)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openRevocation(i.Raw); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRevocationForms: the target stands under "revoke", or under "ucan" as in
// earlier drafts, and the nonce of what does the same each time may be empty.
func TestRevocationForms(t *testing.T) {
	w := newWorld(t)
	target := cidOf(codecRaw, nil)
	r, err := w.alice.Revocation(target, noon)
	if err != nil {
		t.Fatal(err)
	}
	if got := payloadOf(t, r.raw)["args"]; !reflect.DeepEqual(got, map[string]any{"revoke": link(target.Bytes())}) {
		t.Errorf("it is written with %v", got)
	}
	for name, args := range map[string]map[string]any{
		"written here": {"revoke": target}, "earlier drafts": {"ucan": target}, "both": {"revoke": target, "ucan": target},
		"with a path": {"revoke": target, "path": []any{target}},
	} {
		for _, nonce := range [][]byte{{}, make([]byte, 12)} {
			raw, err := w.alice.seal(tagInvocation, map[string]any{
				"iss": w.alice.DID().s, "sub": w.alice.DID().s, "cmd": "/ucan/revoke", "args": args,
				"prf": []any{}, "nonce": nonce, "exp": noon.Unix(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if r, err := openRevocation(raw); err != nil || r.Target != target {
				t.Errorf("%s, a nonce of %d bytes: %v, %v", name, len(nonce), r, err)
			}
		}
	}
	raw, err := w.alice.seal(tagInvocation, map[string]any{
		"iss": w.alice.DID().s, "sub": w.alice.DID().s, "cmd": "/crud", "args": map[string]any{},
		"prf": []any{}, "nonce": []byte{}, "exp": noon.Unix(),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenInvocation(raw)
	wantErr(t, err, ErrMalformed)
}

// TestNewTokenIsSeen issues after a search found nothing.
func TestNewTokenIsSeen(t *testing.T) {
	w := newWorld(t)
	_, err := w.ask(w.carol, "crud/read", "w/reports/x", nil)
	wantErr(t, err, ErrNotCovered)
	chain := w.chain3()
	w.put(chain[0])
	_, err = w.ask(w.carol, "crud/read", "w/reports/x", nil)
	wantErr(t, err, ErrForeignRoot)
	w.put(chain[1])
	g, err := w.ask(w.carol, "crud/read", "w/reports/x", nil)
	wantErr(t, err, nil)
	if d := cmp.Diff([]CID{chain[0].CID, chain[1].CID}, g.Chain(), cmpCID); d != "" {
		t.Error(d)
	}
	if by, ok := g.By(); !ok || by.Can() != "crud/read" || g.root() != w.alice.DID() || g.owner != w.alice.DID() {
		t.Errorf("By = %v, Root = %v", by, g.root())
	}
	if e := g.expires(); e.Unix() != w.exp() {
		t.Errorf("Expires = %v", e)
	}
}

// TestChangesWhileAnAudienceIsRead: what is stored or revoked while it is read from the
// disk is not overlooked afterwards.
func TestChangesWhileAnAudienceIsRead(t *testing.T) {
	for name, live := range map[string]int{"stored": 2, "revoked": 0} {
		w := newWorld(t)
		old := w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), nil)
		fresh := w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "n"), nil)
		w.put(old)
		w.open()
		w.kv.listed = func() {
			if name == "stored" {
				w.put(fresh)
			} else {
				w.revoke(w.alice, old)
			}
		}
		for range 2 {
			_, _ = w.ask(w.bob, "crud", "x", nil)
		}
		if held := w.store.audiences[w.bob.DID()]; held == nil || len(held.all()) != live {
			t.Errorf("%s: in memory is %+v, want %d tokens that live", name, held, live)
		}
	}
}

// TestSearchAmongMany finds the one token that matters among thousands.
func TestSearchAmongMany(t *testing.T) {
	w := newWorld(t)
	n := 2000
	if testing.Short() {
		n = 200 // each is signed
	}
	for i := range n {
		path := "w/f" + string(rune('a'+i%26)) + "/" + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
		w.put(w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud/read", w.url(w.alice, path), nil))
	}
	w.open()
	_, err := w.ask(w.bob, "crud/read", "w/fb/ca/deep/below", nil)
	wantErr(t, err, nil)
	_, err = w.ask(w.bob, "crud/read", "w/fb/zzz", nil)
	wantErr(t, err, ErrNotCovered)
}

// TestReplayRace sends one invocation sixteen times at once.
func TestReplayRace(t *testing.T) {
	w := newWorld(t)
	l := w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", nil)
	w.put(l)
	for range 50 {
		i, err := w.bob.Invoke(Call{Subject: w.alice.DID(), Audience: w.host.DID(), Can: "crud/read", Proofs: []CID{l.CID}, Expires: noon.Add(time.Minute)}, w.rand)
		if err != nil {
			t.Fatal(err)
		}
		var won, replayed atomic.Int32
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				_, err := w.v.Invoke(context.Background(), i, caps.Need("crud/read", w.url(w.alice, "w")))
				switch {
				case err == nil:
					won.Add(1)
				case errors.Is(err, ErrReplayed):
					replayed.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 || replayed.Load() != 15 {
			t.Fatalf("%d were allowed and %d refused", won.Load(), replayed.Load())
		}
	}
}

// TestReplayByNonce signs one call twice: other bytes, the same nonce.
func TestReplayByNonce(t *testing.T) {
	w := newWorld(t)
	call := Call{Subject: w.alice.DID(), Audience: w.host.DID(), Can: "crud", Expires: noon.Add(time.Minute), Nonce: []byte("0123456789ab")}
	first, _ := w.alice.Invoke(call, nil)
	call.Args = map[string]any{"more": true}
	second, _ := w.alice.Invoke(call, nil)
	request := caps.Need("crud", w.url(w.alice, "w"))
	_, err := w.v.Invoke(t.Context(), first, request)
	wantErr(t, err, nil)
	_, err = w.v.Invoke(t.Context(), second, request)
	wantErr(t, err, ErrReplayed)
	w.open()
	_, err = w.v.Invoke(t.Context(), first, request)
	wantErr(t, err, ErrReplayed)
	// A refusal leaves no mark: the caller can come back with what was missing.
	call.Nonce = []byte("another nonce")
	call.Proofs = nil
	third, _ := w.bob.Invoke(call, nil)
	_, err = w.v.Invoke(t.Context(), third, request)
	wantErr(t, err, ErrMissingProof)
	size := w.kv.size()
	_, _ = w.v.Invoke(t.Context(), third, request)
	if w.kv.size() != size {
		t.Error("a refused invocation was marked as used")
	}
}

func TestInvokeRefused(t *testing.T) {
	w := newWorld(t)
	a, h := w.alice.DID(), w.host.DID()
	l := w.native(w.alice, w.bob.DID(), a, "crud/read", w.url(w.alice, "w"), nil)
	extra := w.native(w.alice, w.dan.DID(), a, "crud/read", w.url(w.alice, "w"), nil)
	w.put(l, extra)
	base := Call{Subject: a, Audience: h, Can: "crud/read", Proofs: []CID{l.CID}, Expires: noon.Add(time.Minute)}
	for _, c := range []struct {
		name   string
		change func(c *Call)
		need   string
		on     string
		want   error
	}{
		{"good", func(*Call) {}, "crud/read", "w/x", nil},
		{"with the resource", func(c *Call) { c.Args = map[string]any{"with": w.url(w.alice, "w/x")} }, "crud/read", "w/x", nil},
		{"another resource", func(c *Call) { c.Args = map[string]any{"with": w.url(w.alice, "w/y")} }, "crud/read", "w/x", ErrNotCovered},
		{"a resource that is no text", func(c *Call) { c.Args = map[string]any{"with": int64(1)} }, "crud/read", "w/x", ErrNotCovered},
		{"another ability", func(*Call) {}, "crud/write", "w/x", ErrNotCovered},
		{"more than the chain carries", func(c *Call) { c.Can = "crud" }, "crud/read", "w/x", ErrNotCovered},
		{"another venue", func(c *Call) { c.Audience = w.dan.DID() }, "crud/read", "w/x", ErrAudience},
		{"no venue", func(c *Call) { c.Audience = DID{} }, "crud/read", "w/x", ErrAudience},
		{"another subject", func(c *Call) { c.Subject = w.dan.DID() }, "crud/read", "w/x", ErrSubject},
		{"expired", func(c *Call) { c.Expires = noon.Add(-time.Second) }, "crud/read", "w/x", ErrExpired},
		{"lives too long", func(c *Call) { c.Expires = noon.Add(6 * time.Minute) }, "crud/read", "w/x", ErrLifetime},
		{"no proof", func(c *Call) { c.Proofs = nil }, "crud/read", "w/x", ErrMissingProof},
		{"unknown proof", func(c *Call) { c.Proofs = []CID{cidOf(codecRaw, nil)} }, "crud/read", "w/x", ErrMissingProof},
		{"a proof too many", func(c *Call) { c.Proofs = append(c.Proofs, extra.CID) }, "crud/read", "w/x", ErrBrokenChain},
		{"outside the token", func(*Call) {}, "crud/read", "s/x", ErrNotCovered},
	} {
		t.Run(c.name, func(t *testing.T) {
			call := base
			call.Proofs = append([]CID(nil), base.Proofs...)
			c.change(&call)
			i, err := w.bob.Invoke(call, w.rand)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.v.Invoke(t.Context(), i, caps.Need(c.need, w.url(w.alice, c.on)))
			wantErr(t, err, c.want)
		})
	}
	// The chain would carry more than the caller signed for.
	wide := w.native(w.alice, w.bob.DID(), a, "crud", w.url(w.alice, "w"), nil)
	call := base
	call.Proofs = []CID{wide.CID}
	narrow, _ := w.bob.Invoke(call, w.rand)
	_, err := w.v.Invoke(t.Context(), narrow, caps.Need("crud/write", w.url(w.alice, "w/x")), wide)
	wantErr(t, err, ErrNotCovered)
	// The subject is the chain's own, and a chain without one is about the owner.
	hosted := w.native(w.host, w.bob.DID(), h, "crud", w.url(w.dan, "w"), nil)
	jwt := mustOpen(t, w.jwt(w.alice, w.bob.DID(), cap1("w", "crud")))
	for _, c := range []struct {
		sub   DID
		proof *Link
		on    string
		want  error
	}{
		{h, hosted, w.url(w.dan, "w/x"), nil},
		{w.dan.DID(), hosted, w.url(w.dan, "w/x"), ErrSubject},
		{a, jwt, w.url(w.alice, "w/x"), nil},
		{w.mallory.DID(), jwt, w.url(w.alice, "w/x"), ErrSubject},
	} {
		call.Subject, call.Proofs = c.sub, []CID{c.proof.CID}
		i, _ := w.bob.Invoke(call, w.rand)
		_, err := w.v.Invoke(t.Context(), i, caps.Need("crud/read", c.on), c.proof)
		wantErr(t, err, c.want)
	}
	// Tampered, or signed by another.
	i, _ := w.bob.Invoke(base, w.rand)
	raw := i.Raw
	raw[len(raw)-1] ^= 1
	if _, err := OpenInvocation(raw); err == nil {
		t.Error("a tampered invocation was opened")
	}
	v := *w.v
	v.Store = nil
	_, err = v.Invoke(t.Context(), i, caps.Need("crud/read", w.url(w.alice, "w/x")))
	wantErr(t, err, errNoStore)
}

// TestConcurrentUse revokes, issues and asks at once; run it with -race.
func TestConcurrentUse(t *testing.T) {
	w := newWorld(t)
	chain := w.chain3()
	w.put(chain...)
	fresh := make([]*Link, 30)
	revocations := make([]*Revocation, len(fresh))
	for i := range fresh {
		fresh[i] = w.native(w.alice, w.carol.DID(), w.alice.DID(), "crud", w.url(w.alice, "n"), nil)
		revocations[i] = mustRevoke(t, w.alice, fresh[i].CID)
	}
	ask := func(path string) error {
		_, err := w.v.Authorize(context.Background(), Query{Caller: w.carol.DID(), Owner: w.alice.DID(), Request: caps.Need("crud/read", path)})
		return err
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 300 {
				if err := ask("w/reports/x"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for i, l := range fresh {
			if err := w.store.Put(context.Background(), l); err != nil {
				t.Error(err)
			}
			if err := ask("n/x"); err != nil {
				t.Errorf("the new token is not seen: %v", err)
			}
			if err := w.v.Revoke(context.Background(), revocations[i]); err != nil {
				t.Error(err)
			}
			if err := ask("n/x"); err == nil {
				t.Error("a revoked token is still good")
			}
		}
	})
	wg.Go(func() {
		for range 20 {
			if _, err := w.store.Sweep(context.Background(), noon); err != nil {
				t.Error(err)
			}
			if _, err := OpenStore(context.Background(), w.kv); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
}
