package ucan

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"usher/caps"
)

func (w *world) issuer(k Key) *Issuer { return &Issuer{Key: k, Verifier: w.v, Rand: w.rand} }

func (w *world) delegate(k Key, to DID, format Format, list ...string) ([]*Link, error) {
	w.t.Helper()
	d := Delegation{Audience: to, Owner: w.alice.DID(), Format: format, Expires: noon.Add(time.Hour)}
	for i := 0; i < len(list); i += 2 {
		d.Capabilities = append(d.Capabilities, caps.MustCapability(list[i], list[i+1]))
	}
	return w.issuer(k).Delegate(w.t.Context(), d)
}

func TestDelegate(t *testing.T) {
	for _, format := range []Format{Native, JWT} {
		t.Run(string(format), func(t *testing.T) {
			w := newWorld(t)
			b, c := w.bob.DID(), w.carol.DID()
			links, err := w.delegate(w.alice, b, format, "w/", "crud", "n/", "crud/read")
			if err != nil {
				t.Fatal(err)
			}
			if want := map[Format]int{Native: 2, JWT: 1}[format]; len(links) != want {
				t.Errorf("%d tokens; want %d", len(links), want)
			}
			_, err = w.ask(w.bob, "crud/write", "w/x", nil)
			wantErr(t, err, nil)
			_, err = w.ask(w.bob, "crud/write", "n/x", nil)
			wantErr(t, err, ErrNotCovered)

			_, err = w.delegate(w.bob, c, format, "w/reports", "crud/read", "n", "crud/read")
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.ask(w.carol, "crud/read", "w/reports/x", nil)
			wantErr(t, err, nil)
			// In a third format's chain: the other way of writing on top of this.
			_, err = w.delegate(w.carol, w.dan.DID(), map[Format]Format{Native: JWT, JWT: Native}[format], "w/reports/q3", "crud/read")
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.ask(w.dan, "crud/read", "w/reports/q3", nil)
			wantErr(t, err, nil)
			w.open()
			_, err = w.ask(w.dan, "crud/read", "w/reports/q3", nil)
			wantErr(t, err, nil)
		})
	}
}

// TestIssuedJWTHeader: other libraries read the issuer's key and the version of UCAN
// from the header.
func TestIssuedJWTHeader(t *testing.T) {
	w := newWorld(t)
	links, err := w.delegate(w.alice, w.bob.DID(), JWT, "w/", "crud")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(links[0].Text(), ".")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	var header map[string]string
	if err := json.Unmarshal(raw, &header); err != nil {
		t.Fatal(err)
	}
	key := strings.TrimPrefix(w.alice.DID().String(), "did:key:")
	want := map[string]string{"alg": "EdDSA", "typ": "JWT", "kid": key, "ucv": "0.10.0"}
	if diff := cmp.Diff(want, header); diff != "" {
		t.Errorf("the header (-want +got):\n%s", diff)
	}
}

// TestDelegateShortens: what may be shortened ends with its proofs, the longest
// that there are, whatever their order in the store; what may not is refused.
func TestDelegateShortens(t *testing.T) {
	minutes := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	for _, format := range []Format{Native, JWT} {
		for _, tc := range []struct {
			name     string
			proofs   []int // how long Bob's tokens live
			ask      int
			shorten  time.Duration
			notAfter int // 0: refused
		}{
			{"longer than its proof", []int{60}, 61, 0, 0},
			{"a second ticked", []int{60}, 61, time.Minute, 60},
			{"too much later", []int{60}, 62, time.Minute, 0},
			{"shortened", []int{60}, 61, -1, 60},
			{"not longer than was asked", []int{60}, 30, -1, 30},
			{"the longer proof came first", []int{60, 10}, 60, 0, 60},
			{"the longer proof came last", []int{10, 60}, 60, 0, 60},
			{"shortened to the first that is long enough", []int{10, 60}, 45, -1, 45},
		} {
			t.Run(string(format)+"/"+tc.name, func(t *testing.T) {
				w := newWorld(t)
				hand := func(k Key, to DID, ends time.Time, shorten time.Duration) ([]*Link, error) {
					return w.issuer(k).Delegate(t.Context(), Delegation{
						Audience: to, Owner: w.alice.DID(), Format: format, Expires: ends, Shorten: shorten,
						Capabilities: []caps.Capability{caps.MustCapability("w/", "crud")},
					})
				}
				for _, n := range tc.proofs {
					if _, err := hand(w.alice, w.bob.DID(), minutes(n), 0); err != nil {
						t.Fatal(err)
					}
				}
				links, err := hand(w.bob, w.carol.DID(), minutes(tc.ask), tc.shorten)
				if tc.notAfter == 0 {
					if links != nil || !errors.Is(err, ErrNotHeld) || !errors.Is(err, ErrTimeBounds) {
						t.Fatalf("Delegate = %v, %v; want ErrNotHeld for ErrTimeBounds", links, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if ends := links[0].Expires(); !ends.Equal(minutes(tc.notAfter)) {
					t.Errorf("it ends at %v; want %v", ends, minutes(tc.notAfter))
				}
				_, err = w.ask(w.carol, "crud/read", "w/x", nil)
				wantErr(t, err, nil)
			})
		}
	}
}

// What may be shortened is never lengthened, also where a proof begins between
// the two looks for one.
func TestShortenNeverLengthens(t *testing.T) {
	made := 0
	for late := 1; late < 9; late++ {
		for _, format := range []Format{Native, JWT} {
			w := newWorld(t)
			_, err := w.issuer(w.alice).Delegate(t.Context(), Delegation{
				Audience: w.bob.DID(), NotBefore: noon.Add(time.Second), Expires: noon.Add(20 * 24 * time.Hour),
				Capabilities: []caps.Capability{caps.MustCapability("w", "crud")},
			})
			if err != nil {
				t.Fatal(err)
			}
			asked, looks := noon.Add(24*time.Hour), 0
			w.v.Now = func() time.Time {
				if looks++; looks <= late {
					return noon.Add(999 * time.Millisecond)
				}
				return noon.Add(time.Second)
			}
			links, err := w.issuer(w.bob).Delegate(t.Context(), Delegation{
				Audience: w.carol.DID(), Owner: w.alice.DID(), Format: format, Expires: asked, Shorten: -1,
				Capabilities: []caps.Capability{caps.MustCapability("w", "crud/read")},
			})
			if err != nil {
				continue
			}
			made++
			if ends := links[0].Expires(); ends.After(asked) {
				t.Errorf("%v, look %d: it ends at %v, and %v at most was asked for", format, late, ends, asked)
			}
		}
	}
	if made == 0 {
		t.Fatal("none was made: the test is no test")
	}
}

// A delegation for ever rests on proofs that never end.
func TestDelegateForEver(t *testing.T) {
	w := newWorld(t)
	w.v.Limits.Life = -1
	d := Delegation{Audience: w.carol.DID(), Owner: w.alice.DID(), Capabilities: []caps.Capability{caps.MustCapability("w/", "crud/read")}}
	if _, err := w.delegate(w.alice, w.bob.DID(), Native, "w/", "crud"); err != nil {
		t.Fatal(err)
	}
	if links, err := w.issuer(w.bob).Delegate(t.Context(), d); !errors.Is(err, ErrTimeBounds) {
		t.Errorf("on a proof that ends: %v, %v; want ErrTimeBounds", links, err)
	}
	up := d
	up.Audience = w.bob.DID()
	if _, err := w.issuer(w.alice).Delegate(t.Context(), up); err != nil {
		t.Fatal(err)
	}
	if _, err := w.issuer(w.bob).Delegate(t.Context(), d); err != nil {
		t.Errorf("on a proof that never ends: %v", err)
	}
}

// TestDelegateRefused shows that nothing is signed beyond what is held: the store
// and the source of nonces stay as they were.
func TestDelegateRefused(t *testing.T) {
	for _, format := range []Format{Native, JWT} {
		w := newWorld(t)
		b, c := w.bob.DID(), w.carol.DID()
		if _, err := w.delegate(w.alice, b, Native, "w/", "crud/read", "n", "crud"); err != nil {
			t.Fatal(err)
		}
		base := Delegation{Audience: c, Owner: w.alice.DID(), Format: format, Expires: noon.Add(time.Minute), Capabilities: []caps.Capability{caps.MustCapability("w/", "crud/read")}}
		can := func(list ...string) func(*Delegation) {
			return func(d *Delegation) {
				d.Capabilities = nil
				for i := 0; i < len(list); i += 2 {
					d.Capabilities = append(d.Capabilities, caps.MustCapability(list[i], list[i+1]))
				}
			}
		}
		for _, tc := range []struct {
			name   string
			change func(*Delegation)
			want   error
		}{
			{"more ability", can("w/", "crud"), ErrNotHeld},
			{"any ability", can("w/", "*"), ErrNotHeld},
			{"more resource", can("", "crud/read"), ErrNotHeld},
			{"sibling", can("wx", "crud/read"), ErrNotHeld},
			{"joined from two", can("w/", "crud/write"), ErrNotHeld},
			{"one of several", can("w/", "crud/read", "s", "secret"), ErrNotHeld},
			{"another owner", can(w.url(w.dan, "w"), "crud/read"), ErrNotHeld},
			{"longer", func(d *Delegation) { d.Expires = noon.Add(2 * time.Hour) }, ErrNotHeld},
			{"unknown proof", func(d *Delegation) { d.Proofs = []CID{cidOf(codecRaw, nil)} }, ErrNotHeld},
			{"proofs that nothing rests on", func(d *Delegation) {
				d.Owner, d.Proofs = DID{}, []CID{collect(t, w.store.ByAudience(t.Context(), b))[0]}
			}, ErrUnusedProofs},
			{"for ever", func(d *Delegation) { d.Expires = time.Time{} }, ErrLifetime},
			{"too long", func(d *Delegation) { d.Expires = noon.AddDate(2, 0, 0) }, ErrLifetime},
			{"in the past", func(d *Delegation) { d.Expires = noon.Add(-time.Second) }, ErrExpired},
			{"backwards", func(d *Delegation) { d.NotBefore = noon.Add(time.Hour) }, ErrTimeBounds},
			{"nothing", can(), nil},
			{"to nobody", func(d *Delegation) { d.Audience = DID{} }, nil},
		} {
			t.Run(string(format)+"/"+tc.name, func(t *testing.T) {
				d := base
				tc.change(&d)
				size, drawn := w.kv.size(), w.rand.n
				links, err := w.issuer(w.bob).Delegate(t.Context(), d)
				if err == nil || links != nil || tc.want != nil && !errors.Is(err, tc.want) {
					t.Errorf("Delegate = %v, %v; want %v", links, err, tc.want)
				}
				if w.kv.size() != size || w.rand.n != drawn {
					t.Error("something was signed or stored")
				}
			})
		}
		// And the good one is issued.
		if _, err := w.issuer(w.bob).Delegate(t.Context(), base); err != nil {
			t.Errorf("%v: %v", format, err)
		}
		// Revoked at the next call, in issuing too.
		for _, root := range collect(t, w.store.ByAudience(t.Context(), b)) {
			wantErr(t, w.v.Revoke(t.Context(), mustRevoke(t, w.alice, root)), nil)
		}
		_, err := w.issuer(w.bob).Delegate(t.Context(), base)
		wantErr(t, errors.Unwrap(err), ErrNotHeld)
		if !errors.Is(err, ErrRevoked) {
			t.Errorf("the reason is missing: %v", err)
		}
	}
}

func TestDelegateByVenue(t *testing.T) {
	for _, format := range []Format{Native, JWT} {
		w := newWorld(t)
		d := Delegation{Audience: w.bob.DID(), Format: format, Expires: noon.Add(time.Hour), Capabilities: []caps.Capability{caps.MustCapability("w", "crud")}}
		_, err := w.issuer(w.host).Delegate(t.Context(), d)
		if !errors.Is(err, ErrBareResource) {
			t.Errorf("a venue left the owner out: %v", err)
		}
		d.Owner = w.dan.DID()
		if _, err := w.issuer(w.host).Delegate(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		_, err = w.v.Authorize(t.Context(), Query{Caller: w.bob.DID(), Owner: w.dan.DID(), Request: caps.Need("crud", "w/x")})
		wantErr(t, err, nil)
		// What was received goes on.
		d.Audience = w.carol.DID()
		if _, err := w.issuer(w.bob).Delegate(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		_, err = w.v.Authorize(t.Context(), Query{Caller: w.carol.DID(), Owner: w.dan.DID(), Request: caps.Need("crud", "w/x")})
		wantErr(t, err, nil)
		d.Owner = w.alice.DID() // not hosted
		_, err = w.issuer(w.host).Delegate(t.Context(), d)
		if !errors.Is(err, ErrNotHeld) {
			t.Errorf("a venue issued for somebody else: %v", err)
		}
	}
}

// TestIssuedHeader: other libraries ask a JWT for the issuer's key and a version.
func TestIssuedHeader(t *testing.T) {
	w := newWorld(t)
	links, err := w.delegate(w.alice, w.bob.DID(), JWT, "w", "crud")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(links[0].Bytes()), ".")
	raw, err := b64.DecodeString(head)
	want := `{"alg":"EdDSA","typ":"JWT","kid":"` + strings.TrimPrefix(w.alice.DID().String(), "did:key:") + `","ucv":"0.10.0"}`
	if err != nil || string(raw) != want {
		t.Errorf("the header is %s, %v; want %s", raw, err, want)
	}
}

func TestDelegateInline(t *testing.T) {
	w := newWorld(t)
	if _, err := w.delegate(w.alice, w.bob.DID(), JWT, "w", "crud"); err != nil {
		t.Fatal(err)
	}
	links, err := w.issuer(w.bob).Delegate(t.Context(), Delegation{
		Audience: w.carol.DID(), Owner: w.alice.DID(), Format: JWT, Inline: true, Expires: noon.Add(time.Minute),
		Capabilities: []caps.Capability{caps.MustCapability("w/x", "crud/read")}, Agents: []string{"did:key:z/a#1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	// It stands on its own, at a venue that has never seen the proof.
	other := Verifier{Now: w.v.Now}
	_, err = other.Authorize(t.Context(), Query{Caller: w.carol.DID(), Request: caps.Need("crud/read", w.url(w.alice, "w/x")), Tokens: []*Link{mustOpen(t, string(links[0].Bytes()))}})
	wantErr(t, err, nil)
}

// TestDelegateBounds hands on what begins later, goes deep, or is a URI.
func TestDelegateBounds(t *testing.T) {
	w := newWorld(t)
	c := []caps.Capability{caps.MustCapability("w", "crud")}
	root := w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", map[string]any{"nbf": noon.Unix() - 60})
	w.put(root)
	d := Delegation{Audience: w.carol.DID(), Owner: w.alice.DID(), Capabilities: c, Format: JWT, Expires: noon.Add(time.Minute)}
	links, err := w.issuer(w.bob).Delegate(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if nbf := links[0].NotBefore(); nbf.Unix() != noon.Unix()-60 {
		t.Errorf("a JWT begins at %v, before its proof", nbf)
	}
	if got := links[0].Proofs; len(got) != 1 || got[0] != root.CID || len(links[0].Inline) != 0 {
		t.Errorf("Proofs = %v", got)
	}

	from := w.carol
	for i := 2; i <= 8; i++ {
		to := testKey(t, "deep"+string(rune('0'+i)))
		d.Audience = to.DID()
		drawn := w.rand.n
		_, err := w.issuer(from).Delegate(t.Context(), d)
		if i < 8 && err != nil {
			t.Fatalf("token %d: %v", i+1, err)
		}
		if i == 8 && (!errors.Is(err, ErrTooDeep) || w.rand.n != drawn) {
			t.Errorf("token %d: %v", i+1, err)
		}
		from = to
	}

	uri := Delegation{Audience: w.bob.DID(), Capabilities: []caps.Capability{caps.MustCapability("https://api.example.com/v1", "net/get")}, Expires: noon.Add(time.Minute)}
	if _, err := w.issuer(w.alice).Delegate(t.Context(), uri); err == nil {
		t.Error("a URI was delegated natively")
	}
	uri.Format = JWT
	if links, err = w.issuer(w.alice).Delegate(t.Context(), uri); err != nil {
		t.Fatal(err)
	}
	if links[0].Namespace() != w.alice.DID() {
		t.Errorf("Namespace = %v", links[0].Namespace())
	}
	_, err = w.ask(w.bob, "net/get", "https://api.example.com/v1/x", nil)
	wantErr(t, err, nil)
	_, err = w.ask(w.bob, "net/get", "https://api.example.com/v2", nil)
	wantErr(t, err, ErrNotCovered)
	uri.Audience, uri.Owner = w.carol.DID(), w.alice.DID()
	if _, err = w.issuer(w.bob).Delegate(t.Context(), uri); err != nil {
		t.Fatal(err)
	}
	_, err = w.ask(w.carol, "net/get", "https://api.example.com/v1/x", nil)
	wantErr(t, err, nil)
	uri.Owner = w.dan.DID()
	if _, err = w.issuer(w.host).Delegate(t.Context(), uri); err == nil {
		t.Error("a venue delegated a URI without an owner")
	}
}

func TestHeld(t *testing.T) {
	w := newWorld(t)
	if _, err := w.delegate(w.alice, w.bob.DID(), JWT, "w/", "crud", "n", "crud/read"); err != nil {
		t.Fatal(err)
	}
	links, err := w.delegate(w.alice, w.bob.DID(), Native, "s", "secret")
	if err != nil {
		t.Fatal(err)
	}
	w.put(
		w.native(w.mallory, w.bob.DID(), w.alice.DID(), "*", "", nil),
		w.native(w.alice, w.bob.DID(), w.alice.DID(), "asset", "", map[string]any{"pol": []any{[]any{"==", ".x", "y"}}}),
		w.native(w.dan, w.bob.DID(), w.dan.DID(), "*", "", nil),
	)
	want := func(can ...caps.Capability) {
		t.Helper()
		list, err := w.v.Delegations(t.Context(), w.bob.DID(), w.alice.DID())
		got := caps.Of(list...)
		if err != nil || !got.In(w.alice.DID().s).Equal(caps.Of(can...)) {
			t.Errorf("Held = %v, %v; want %v", list, err, caps.Of(can...))
		}
	}
	wk, n, s := caps.MustCapability("w", "crud"), caps.MustCapability("n", "crud/read"), caps.MustCapability("s", "secret")
	want(wk, n, s)
	wantErr(t, w.v.Revoke(t.Context(), mustRevoke(t, w.alice, links[0].CID)), nil)
	want(wk, n)
	w.now = noon.Add(2 * time.Hour)
	want()
}

// TestHeldAmongMany: what others make out to a principal is not gathered where nobody
// asks about them, and without a bound nowhere.
func TestHeldAmongMany(t *testing.T) {
	w := newWorld(t)
	for i := range 3 * maxAsked {
		w.put(w.native(w.mallory, w.bob.DID(), w.mallory.DID(), "crud", w.url(w.mallory, fmt.Sprintf("w/%d", i)), nil))
	}
	w.put(w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", w.url(w.alice, "w/x"), map[string]any{"exp": w.exp() - 60}))
	for owner, want := range map[DID]int{w.alice.DID(): 1, w.mallory.DID(): maxAsked} {
		grants, err := w.v.claims(t.Context(), w.bob.DID(), owner)
		if err != nil || len(grants) != want || cap(grants) > 2*want {
			t.Errorf("%d claims in the room of %d, %v, want %d", len(grants), cap(grants), err, want)
		}
		if list, err := w.v.Delegations(t.Context(), w.bob.DID(), owner); err != nil || len(list) != want {
			t.Errorf("Delegated lists %d, %v, want %d", len(list), err, want)
		}
	}
}

// TestAuthorityNeverGrows builds random chains hop by hop, whatever Delegate
// allows, and asks at each end: nobody can do what the one before could not.
func TestAuthorityNeverGrows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		people := []Key{w.alice, w.bob, w.carol, w.dan, w.mallory}
		resource := rapid.SampledFrom([]string{"", "w", "w/a", "w/a/b", "w/ab", "s"})
		ability := rapid.SampledFrom([]string{"*", "crud", "crud/read", "crud/write", "crudx"})
		for range rapid.IntRange(1, 6).Draw(rt, "hops") {
			from := rapid.SampledFrom(people).Draw(rt, "from")
			to := rapid.SampledFrom(people).Draw(rt, "to")
			with, can := resource.Draw(rt, "with"), ability.Draw(rt, "can")
			format := rapid.SampledFrom([]Format{Native, JWT}).Draw(rt, "format")
			_, held := w.ask(from, can, with, nil)
			_, err := w.delegate(from, to.DID(), format, with, can)
			if (err == nil) != (held == nil) {
				rt.Fatalf("holds it: %v; delegated it: %v", held, err)
			}
			for _, p := range people {
				for _, r := range []string{"w", "w/a/x", "w/abc", "s/k"} {
					g, err := w.ask(p, "crud/read", r, nil)
					if err != nil {
						continue
					}
					for _, c := range g.Chain() {
						l, err := w.store.Get(t.Context(), c)
						if err != nil {
							rt.Fatal(err)
						}
						if _, err := w.ask(people[indexOf(people, l.Issuer)], "crud/read", r, nil); err != nil {
							rt.Fatalf("%v may read %s, and the issuer of %v may not: %v", p.DID(), r, l, err)
						}
					}
				}
			}
		}
	})
}

func indexOf(people []Key, d DID) int {
	for i, p := range people {
		if p.DID() == d {
			return i
		}
	}
	return -1
}
