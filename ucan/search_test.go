package ucan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"usher/caps"
)

// TestOneLiveAmongDead hides one token behind thousands that lead nowhere, in each
// way in which they can.
func TestOneLiveAmongDead(t *testing.T) {
	for _, tc := range []struct {
		name  string
		count int // in thousands
		bury  func(w *world, i int)
	}{
		{"revoked by their issuer", 10, func(w *world, i int) {
			l := w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), map[string]any{"exp": w.exp() + int64(i)})
			w.put(l)
			w.revoke(w.alice, l)
		}},
		{"expired", 1, func(w *world, i int) {
			w.put(w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), map[string]any{"exp": noon.Unix() - 1 - int64(i%100)}))
		}},
		{"not valid yet", 1, func(w *world, i int) {
			w.put(w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), map[string]any{"nbf": noon.Unix() + 5, "exp": w.exp() + int64(i)}))
		}},
		{"of one who was revoked", 10, func(w *world, i int) {
			if i == 0 {
				l := w.native(w.alice, w.mallory.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), nil)
				w.put(l)
				w.revoke(w.alice, l)
			}
			w.put(w.native(w.mallory, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), map[string]any{"exp": w.exp() + int64(i)}))
		}},
		{"passed on by one who holds nothing", 1, func(w *world, i int) {
			w.put(w.native(w.mallory, w.bob.DID(), w.alice.DID(), "crud", "", map[string]any{"exp": w.exp() + int64(i)}))
		}},
		{"of as many who hold nothing", 1, func(w *world, i int) {
			k := testKey(w.t, fmt.Sprint("puppet ", i))
			w.put(w.native(k, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), nil))
		}},
		{"of a ring", 1, func(w *world, i int) {
			k, next := testKey(w.t, fmt.Sprint("ring ", i%100)), testKey(w.t, fmt.Sprint("ring ", (i+i/100)%100))
			w.put(w.native(k, next.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), map[string]any{"exp": w.exp() + int64(i)}))
			if i < 100 {
				w.put(w.native(k, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), nil))
			}
		}},
		{"JWTs whose proof was revoked", 1, func(w *world, i int) {
			root := w.jwt(w.alice, w.mallory.DID(), cap1("w", "crud"))
			if i == 0 {
				w.first = mustOpen(w.t, root)
				w.put(w.first)
				w.revoke(w.alice, w.first)
			}
			w.rand.n++
			w.put(mustOpen(w.t, w.jwt(w.mallory, w.bob.DID(), cap1("w", "crud"), w.first.CID.String())))
		}},
		{"revoked by who stands above", 1, func(w *world, i int) {
			if i == 0 {
				w.put(w.native(w.alice, w.mallory.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), nil))
				w.put(w.native(w.mallory, w.dan.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), nil))
			}
			l := w.native(w.dan, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), map[string]any{"exp": w.exp() + int64(i)})
			w.put(l)
			w.revoke(w.mallory, l)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			count := tc.count * 1000
			if testing.Short() {
				count /= 50
			}
			for i := range count {
				tc.bury(w, i)
			}
			_, err := w.ask(w.bob, "crud/read", "w/x", nil)
			if err == nil {
				t.Fatal("what is buried gives authority")
			}
			// Through carol, so that the good chain is not the shortest.
			w.put(w.native(w.alice, w.carol.DID(), w.alice.DID(), "crud", w.url(w.alice, "w"), nil))
			w.put(w.native(w.carol, w.bob.DID(), w.alice.DID(), "crud/read", w.url(w.alice, "w"), map[string]any{"exp": noon.Unix() + 60}))
			for _, when := range []string{"in memory", "from the disk"} {
				_, err := w.ask(w.bob, "crud/read", "w/x", nil)
				if err != nil {
					t.Errorf("%s: %v", when, err)
				}
				s := w.v.newSearch(&Query{Caller: w.bob.DID()}, need{owner: w.alice.DID(), path: resource(w.t, "w/x"), can: "crud/read"})
				s.stored = true
				if _, found, err := s.run(t.Context()); !found || err != nil || s.looks > 3*count+100 {
					t.Errorf("%s: %v, %v, %d tokens looked at", when, found, err, s.looks)
				}
				s.release()
				w.open()
			}
		})
	}
}

func (w *world) revoke(k Key, l *Link) {
	w.t.Helper()
	if err := w.v.Revoke(w.t.Context(), mustRevoke(w.t, k, l.CID)); err != nil {
		w.t.Fatal(err)
	}
}

// TestSearchAgreesWithEveryChain compares the search with the slow, obvious twin:
// every chain of the tokens there are, one after the other.
func TestSearchAgreesWithEveryChain(t *testing.T) {
	allowed, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		people := []Key{w.alice, w.bob, w.carol, w.mallory, w.host}
		person := rapid.SampledFrom(people)
		var links []*Link
		for range rapid.IntRange(1, 7).Draw(rt, "tokens") {
			iss, aud := person.Draw(rt, "iss"), person.Draw(rt, "aud")
			with := rapid.SampledFrom([]string{"", "w", "w/a", "s"}).Draw(rt, "with")
			if with != "" || rapid.IntRange(0, 3).Draw(rt, "root") == 0 && iss.DID() == w.alice.DID() {
				with = w.url(w.alice, with)
			}
			changes := map[string]any{}
			if rapid.IntRange(0, 9).Draw(rt, "expired") == 0 {
				changes["exp"] = noon.Unix() - 1
			}
			if rapid.IntRange(0, 9).Draw(rt, "condition") == 0 {
				changes["pol"] = []any{[]any{"like", ".with", "*/b"}}
			}
			sub := w.alice
			if rapid.IntRange(0, 9).Draw(rt, "sub") == 0 {
				sub = person.Draw(rt, "other sub")
			}
			can := rapid.SampledFrom([]string{"*", "crud", "crud/read"}).Draw(rt, "can")
			links = append(links, w.native(iss, aud.DID(), sub.DID(), can, with, changes))
		}
		w.put(links...)
		for range rapid.IntRange(0, 3).Draw(rt, "revocations") {
			l := rapid.SampledFrom(links).Draw(rt, "target")
			r := mustRevoke(t, person.Draw(rt, "revoker"), l.CID)
			if err := w.store.revoke(t.Context(), r, r.Issuer, l); err != nil {
				rt.Fatal(err)
			}
		}
		if rapid.Bool().Draw(rt, "reopen") {
			w.open()
		}
		for _, path := range []string{"w/a/b", "w/x", "s"} {
			caller := person.Draw(rt, "caller")
			if caller.DID() == w.alice.DID() {
				continue
			}
			want := w.someChain(caller.DID(), path, nil, links)
			g, err := w.ask(caller, "crud/read", path, nil)
			_, given := w.ask(caller, "crud/read", path, nil, links...)
			if (err == nil) != want || (given == nil) != want {
				rt.Fatalf("%s: searched %v, given %v; the twin says %v", path, err, given, want)
			}
			if !want {
				refused++
				continue
			}
			allowed++
			if chain := g.Links(); !w.goodChain(caller.DID(), path, chain) {
				rt.Fatalf("%s: the chain %v does not hold", path, chain)
			}
		}
	})
	if !testing.Short() && (allowed == 0 || refused == 0) { // a few rounds can miss one side
		t.Errorf("%d allowed, %d refused: nothing was compared", allowed, refused)
	}
}

// someChain reports whether any way of putting tokens on chain, which begins with
// the caller's, makes a good one.
func (w *world) someChain(caller DID, path string, chain, links []*Link) bool {
	if len(chain) > 0 && w.goodChain(caller, path, chain) {
		return true
	}
	for _, l := range links {
		aud := caller
		if len(chain) > 0 {
			aud = chain[len(chain)-1].Issuer
		}
		if l.Audience == aud && !slices.Contains(chain, l) && w.someChain(caller, path, append(slices.Clip(chain), l), links) {
			return true
		}
	}
	return false
}

// goodChain is what makes a chain in alice's namespace good, said plainly.
func (w *world) goodChain(caller DID, path string, chain []*Link) bool {
	alice, aud := w.alice.DID(), caller
	at, can := resource(w.t, path), caps.Ability("crud/read")
	for i, l := range chain {
		g := l.grants[0]
		if l.Audience != aud || l.Subject != alice || w.now.After(time.Unix(l.exp, 0)) || !g.can.Covers(can) {
			return false
		}
		if states := len(l.policy) == 0 && !g.passes; states && (g.owner != alice || !g.path.Covers(at)) {
			return false
		} else if states {
			at = g.path
		}
		if len(l.policy) > 0 && path != "w/a/b" {
			return false
		}
		for _, d := range w.store.revokersOf(l.CID) {
			if d == alice || slices.ContainsFunc(chain[i:], func(above *Link) bool { return above.Issuer == d }) {
				return false
			}
		}
		aud, can = l.Issuer, g.can
	}
	return aud == alice
}

func resource(t testing.TB, text string) caps.Resource {
	t.Helper()
	r, err := caps.ParseResource(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
