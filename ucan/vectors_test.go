package ucan

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"usher/caps"
)

var writeVectors = flag.Bool("write-vectors", false, "write testdata/chains.json anew")

// vector is a question about tokens and its answer.
type vector struct {
	Name     string   `json:"name"`
	Tokens   []string `json:"tokens"`
	Caller   string   `json:"caller"`
	Can      string   `json:"can"`
	With     string   `json:"with"`
	At       int64    `json:"at"`
	Decision string   `json:"decision"`
	Reason   string   `json:"reason,omitempty"` // of a denial
}

// ask decides a vector as a stranger would: by its tokens alone.
func (c *vector) ask(t *testing.T) error {
	var links []*Link
	for _, text := range c.Tokens {
		l, err := OpenText(text)
		if err != nil {
			return err
		}
		links = append(links, l)
	}
	caller, err := ParseDID(c.Caller)
	if err != nil {
		t.Fatal(err)
	}
	v := Verifier{Now: func() time.Time { return time.Unix(c.At, 0) }}
	_, err = v.Authorize(t.Context(), Query{Caller: caller, Request: caps.Need(c.Can, c.With), Tokens: links})
	return err
}

func (c *vector) check(t *testing.T) {
	err := c.ask(t)
	if (err == nil) != (c.Decision == "allow") || err != nil && !strings.HasPrefix(err.Error(), c.Reason) {
		t.Errorf("%v; want %s %s", err, c.Decision, c.Reason)
	}
}

func readVectors(t *testing.T, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// TestInterop runs what testdata/interop made: tokens that other libraries read and
// wrote, and those of the reference venue.
func TestInterop(t *testing.T) {
	var list []struct {
		vector
		Token string `json:"token"`
	}
	readVectors(t, "interop.json", &list)
	if len(list) < 15 {
		t.Fatalf("%d vectors", len(list))
	}
	for _, c := range list {
		t.Run(c.Name, func(t *testing.T) {
			c.Tokens = []string{c.Token}
			c.check(t)
		})
	}
}

// TestVectors runs the chains of our own.
func TestVectors(t *testing.T) {
	if *writeVectors {
		raw, err := json.MarshalIndent(makeVectors(t), "", " ")
		if err == nil {
			err = os.WriteFile("testdata/chains.json", append(raw, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var list []vector
	readVectors(t, "chains.json", &list)
	if len(list) < 20 {
		t.Fatalf("%d vectors", len(list))
	}
	for _, c := range list {
		t.Run(c.Name, c.check)
	}
}

// TestPolicyVectors runs policies of our own.
func TestPolicyVectors(t *testing.T) {
	var list []struct {
		Policy []any          `json:"policy"`
		Args   map[string]any `json:"args"`
		Holds  bool           `json:"holds"`
	}
	readVectors(t, "policies.json", &list)
	if len(list) < 20 {
		t.Fatalf("%d policies", len(list))
	}
	for _, c := range list {
		got := true
		for _, item := range c.Policy {
			s, err := parseStatement(intify(item), maxNesting)
			if err != nil {
				t.Errorf("%v: %v", c.Policy, err)
				continue
			}
			got = got && s(intify(c.Args)) == isTrue
		}
		if got != c.Holds {
			t.Errorf("%v of %v: %v, want %v", c.Policy, c.Args, got, c.Holds)
		}
	}
}

// TestConformance runs the data of the specifications and of other libraries, as
// far as it is there: the tests above need none of it.
func TestConformance(t *testing.T) {
	if shared(t) == "" {
		return
	}
	for name, run := range map[string]func(*testing.T){
		"go-ucan's chains": goUCANChains, "delegation": interopDelegation, "invocations": specInvocations,
		"policies": policyFixtures, "0.8.1": spec081, "0.10.0": conformance0100, "golden encodings": goldenEncodings,
	} {
		t.Run(name, run)
	}
}

// makeVectors signs chains, good and bad in one part each.
func makeVectors(t *testing.T) []vector {
	w := newWorld(t)
	a, b, c := w.alice.DID(), w.bob.DID(), w.carol.DID()
	var list []vector
	add := func(name, can, path string, want error, links ...any) {
		v := vector{Name: name, Caller: c.s, Can: can, With: w.url(w.alice, path), At: noon.Unix(), Decision: "allow"}
		for _, l := range links {
			switch l := l.(type) {
			case *Link:
				v.Tokens = append(v.Tokens, l.Text())
			case string:
				v.Tokens = append(v.Tokens, l)
			}
		}
		if want != nil {
			v.Decision, v.Reason = "deny", want.Error()
		}
		list = append(list, v)
	}
	root := w.native(w.alice, b, a, "crud", w.url(w.alice, "w"), nil)
	leaf := func(can, with string, changes map[string]any) *Link {
		if with != "" {
			with = w.url(w.alice, with)
		}
		return w.native(w.bob, c, a, can, with, changes)
	}
	add("native", "crud/read", "w/x/y", nil, leaf("crud/read", "w/x", nil), root)
	add("native, released tag", "crud/read", "w/x/y", nil, leaf("crud/read", "w/x", map[string]any{"tag": tagDelegation1}), root)
	add("native, passed on", "crud/read", "w/x", nil, leaf("crud", "", nil), root)
	add("native, passed on too far", "crud/read", "s/x", ErrWidenedResource, leaf("crud", "", nil), root)
	add("native, a condition", "crud/read", "w/x", nil, leaf("crud", "", map[string]any{"pol": []any{[]any{"like", ".with", "*/x"}}}), root)
	add("native, a condition that fails", "crud/read", "w/y", ErrPolicy, leaf("crud", "", map[string]any{"pol": []any{[]any{"like", ".with", "*/x"}}}), root)
	add("native, another path", "crud/read", "w/z", ErrNotCovered, leaf("crud/read", "w/x", nil), root)
	add("native, another ability", "crud/write", "w/x", ErrNotCovered, leaf("crud/read", "w/x", nil), root)
	add("native, sibling", "crud/read", "w/xy", ErrNotCovered, leaf("crud/read", "w/x", nil), root)
	add("native, wider in the ability", "crud/read", "w/x", ErrWidenedAbility, leaf("*", "w/x", nil), root)
	add("native, wider in the resource", "crud/read", "s/x", ErrWidenedResource, leaf("crud", "s", nil), root)
	add("native, expired", "crud/read", "w/x", ErrExpired, leaf("crud", "w/x", map[string]any{"exp": noon.Unix() - 1}), root)
	add("native, last second", "crud/read", "w/x", nil, leaf("crud", "w/x", map[string]any{"exp": noon.Unix()}), root)
	add("native, not yet valid", "crud/read", "w/x", ErrNotYetValid, leaf("crud", "w/x", map[string]any{"nbf": noon.Unix() + 1}), root)
	add("native, for ever", "crud/read", "w/x", ErrLifetime, leaf("crud", "w/x", map[string]any{"exp": nilValue{}}), root)
	add("native, without the root", "crud/read", "w/x", ErrForeignRoot, leaf("crud", "w/x", nil))
	add("native, made out to another", "crud/read", "w/x", ErrAudience, root)
	add("native, of a stranger", "crud/read", "w/x", ErrForeignRoot, w.native(w.mallory, c, w.mallory.DID(), "crud", w.url(w.alice, "w"), nil))
	add("native, another subject", "crud/read", "w/x", ErrSubject, w.native(w.bob, c, w.dan.DID(), "crud", w.url(w.alice, "w"), nil), root)
	jwt := w.jwt(w.alice, b, cap1("w/", "crud"))
	add("JWT", "crud/read", "w/x", nil, w.jwt(w.bob, c, cap1("w/x", "crud/read"), jwt))
	add("JWT, by CID", "crud/read", "w/x", nil, w.jwt(w.bob, c, cap1("w/x", "crud/read"), mustOpen(t, jwt).CID.String()), jwt)
	add("JWT, without its proof", "crud/read", "w/x", ErrMissingProof, w.jwt(w.bob, c, cap1("w/x", "crud/read"), mustOpen(t, jwt).CID.String()))
	add("JWT, wider in the resource", "crud/read", "s/x", ErrWidenedResource, w.jwt(w.bob, c, cap1("s", "crud/read"), jwt))
	add("JWT, wider in the ability", "crud/read", "w/x", ErrWidenedAbility, w.jwt(w.bob, c, cap1("w", "*"), jwt))
	add("JWT, another key id", "crud/read", "w/x", ErrKeyID, signJWT(t, w.alice, jwtHeader(b), w.claims(w.alice, c, cap1("w", "crud"))))
	add("JWT, forged", "crud/read", "w/x", ErrSignature, signJWT(t, w.mallory, plainHeader, w.claims(w.alice, c, cap1("w", "crud"))))
	add("JWT on a native root", "crud/read", "w/x", nil, w.jwt(w.bob, c, cap1("w/x", "crud/read"), root.CID.String()), root)
	return list
}
