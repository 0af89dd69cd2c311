package cli_test

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"usher/caps"
	"usher/ucan"
	"usher/venue/cli"
	inmemory "usher/venue/store/memory"
)

// noon is when the tokens of these tests are made.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const shortlyAfter = "2026-11-20T12:10:00Z"

// usher runs the command in this process.
func usher(t interface{ Context() context.Context }, stdin string, args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	p := cli.Program{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &err}
	status = p.Run(t.Context(), args)
	return status, out.String(), err.String()
}

// ruling is what `usher ucan verify` prints.
type ruling struct {
	Decision string
	Reason   string
	Chain    []struct{ CID ucan.CID }
}

func verify(t *testing.T, status int, stdout string) ruling {
	t.Helper()
	var r ruling
	dec := json.NewDecoder(strings.NewReader(stdout))
	if err := dec.Decode(&r); err != nil || dec.More() {
		t.Fatalf("the answer is not one JSON document (%v): %s", err, stdout)
	}
	if (status == cli.ExitOK) != (r.Decision == "allow") {
		t.Fatalf("status %d says otherwise than the decision %q", status, r.Decision)
	}
	return r
}

// counter is a source of bytes that are never the same twice.
type counter struct{ n uint64 }

func (c *counter) Read(b []byte) (int, error) {
	for i := range b {
		if i%8 == 0 {
			c.n++
		}
		b[i] = byte(c.n >> (8 * (i % 8)))
	}
	return len(b), nil
}

func keyOf(t testing.TB, seed byte) ucan.Key {
	t.Helper()
	k, err := ucan.KeyFromSeed(bytes.Repeat([]byte{seed}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// chain makes a token for each hop between the keys, narrower at each, and in
// turns JWT and native.
func chain(t *testing.T, keys ...ucan.Key) []*ucan.Link {
	t.Helper()
	kv := inmemory.Open()
	t.Cleanup(func() { _ = kv.Close() })
	held, err := ucan.OpenStore(t.Context(), kv)
	if err != nil {
		t.Fatal(err)
	}
	random := &counter{}
	path := "w"
	var links []*ucan.Link
	for i, from := range keys[:len(keys)-1] {
		path += fmt.Sprintf("/%d", i)
		is := ucan.Issuer{Key: from, Rand: random, Verifier: &ucan.Verifier{Now: func() time.Time { return noon }, Store: held}}
		made, err := is.Delegate(t.Context(), ucan.Delegation{
			Audience: keys[i+1].DID(), Owner: keys[0].DID(), Capabilities: []caps.Capability{caps.MustCapability(path, "crud")},
			Expires: noon.Add(time.Hour), Format: []ucan.Format{ucan.JWT, ucan.Native}[i%2],
		})
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, made...)
	}
	return links
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUcanForms(t *testing.T) {
	alice, bob := keyOf(t, 1), keyOf(t, 2)
	links := chain(t, alice, bob, keyOf(t, 3))
	native := links[1].Bytes()
	first := links[0].Text() + "\n"
	for name, file := range map[string][]byte{
		"raw CBOR":         native,
		"base64url":        []byte(links[1].Text()),
		"base64url padded": []byte("U" + base64.URLEncoding.EncodeToString(native)),
		"base64":           []byte("m" + base64.RawStdEncoding.EncodeToString(native) + "\r\n"),
		"base64 padded":    []byte("\n  M" + base64.StdEncoding.EncodeToString(native)),
		"base32":           []byte("b" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(native))),
		"hex":              []byte("f" + hex.EncodeToString(native)),
	} {
		t.Run(name, func(t *testing.T) {
			status, out, _ := usher(t, first, "ucan", "verify", "--caller", keyOf(t, 3).DID().String(), "--can", "crud",
				"--with", alice.DID().String()+"/w/0/1", "--at", shortlyAfter, write(t, "token", file), "-")
			r := verify(t, status, out)
			if r.Decision != "allow" || len(r.Chain) != 2 || r.Chain[0].CID != links[1].CID {
				t.Errorf("got %+v, want allow by %s", r, links[1].CID)
			}
		})
	}
}

// However the tokens of a chain are ordered, and whatever good ones lie beside
// them, the answer is the same to the byte. One of those beside names a proof
// that is nowhere.
func TestUcanVerifyAnyOrder(t *testing.T) {
	keys := make([]ucan.Key, 5)
	for i := range keys {
		keys[i] = keyOf(t, byte(i+1))
	}
	links := chain(t, keys...)
	caller, owner := keys[4], keys[0]
	texts := make([]string, 0, len(links)+3)
	for _, l := range links {
		texts = append(texts, l.Text())
	}
	stranger := chain(t, keyOf(t, 9), keyOf(t, 8), caller)
	texts = append(texts, stranger[1].Text(), texts[0], signJWT(keys[3], map[string]any{
		"iss": keys[3].DID(), "aud": caller.DID(), "exp": noon.Add(time.Hour).Unix(), "att": []any{}, "prf": []any{},
	}), signJWT(keys[3], map[string]any{
		"iss": keys[3].DID(), "aud": caller.DID(), "exp": noon.Add(time.Hour).Unix(), "prf": []any{stranger[0].CID},
		"att": []any{map[string]any{"with": owner.DID().String() + "/w", "can": "crud"}},
	}))
	ask := func(t interface{ Context() context.Context }, tokens []string) (int, string) {
		status, out, _ := usher(t, strings.Join(tokens, "\n"), "ucan", "verify", "--caller", caller.DID().String(), "--can", "crud/read",
			"--with", owner.DID().String()+"/w/0/1/2/3/x", "--at", shortlyAfter, "-")
		return status, out
	}
	status, want := ask(t, texts)
	if r := verify(t, status, want); r.Decision != "allow" || len(r.Chain) != 4 {
		t.Fatalf("got %+v, want allow by four tokens", r)
	}
	rapid.Check(t, func(t *rapid.T) {
		if _, got := ask(t, rapid.Permutation(texts).Draw(t, "order")); got != want {
			t.Fatalf("another order, another answer:\n%s", cmp.Diff(want, got))
		}
	})
	for i := range links {
		status, out := ask(t, append(append([]string{}, texts[:i]...), texts[i+1:len(links)]...))
		if r := verify(t, status, out); r.Decision != "deny" {
			t.Errorf("without token %d: %+v, want deny", i, r)
		}
	}
}

// No change of a byte of any token of a chain is allowed, or goes unanswered.
func TestUcanVerifyTampered(t *testing.T) {
	keys := []ucan.Key{keyOf(t, 1), keyOf(t, 2), keyOf(t, 3)}
	links := chain(t, keys...)
	args := []string{
		"ucan", "verify", "--caller", keys[2].DID().String(), "--can", "crud",
		"--with", keys[0].DID().String() + "/w/0/1", "--at", shortlyAfter,
	}
	for i, l := range links {
		other := write(t, "other", links[1-i].Bytes())
		rapid.Check(t, func(rt *rapid.T) {
			raw := l.Bytes()
			raw[rapid.IntRange(0, len(raw)-1).Draw(rt, "at")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "change"))
			status, out, _ := usher(t, string(raw), append(args, "-", other)...)
			if r := verify(t, status, out); r.Decision != "deny" || len(r.Chain) != 0 {
				rt.Fatalf("allowed: %s", out)
			}
		})
	}
}

// signJWT signs claims without asking whether they may be.
func signJWT(by ucan.Key, claims map[string]any) string {
	body, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	enc := base64.RawURLEncoding.EncodeToString
	signed := enc([]byte(`{"alg":"EdDSA","typ":"JWT"}`)) + "." + enc(body)
	return signed + "." + enc(by.Sign([]byte(signed)))
}

// What inspect warns of is what verify refuses, and nothing else: for chains of
// JWTs that anybody may have signed.
func TestUcanInspectAgreesWithVerify(t *testing.T) {
	keys := make([]ucan.Key, 5)
	for i := range keys {
		keys[i] = keyOf(t, byte(i+1))
	}
	owner := keys[0].DID().String()
	allowed, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(rt, "tokens")
		inline := rapid.Bool().Draw(rt, "inline")
		var texts []string
		var last struct{ with, can string }
		proofs := []string{}
		for i := range n {
			// Mostly honest, so that some chains hold.
			from, to := keys[i], keys[i+1]
			if rapid.IntRange(0, 9).Draw(rt, "stranger") == 0 {
				from = keys[rapid.IntRange(0, 4).Draw(rt, "issuer")]
			}
			last.with = owner + rapid.SampledFrom([]string{"", "/w", "/w/", "/w/a", "/w/a", "/w/ab"}).Draw(rt, "with")
			last.can = rapid.SampledFrom([]string{"*", "crud", "crud", "crud/read", "invoke"}).Draw(rt, "can")
			text := signJWT(from, map[string]any{
				"iss": from.DID(), "aud": to.DID(), "nnc": fmt.Sprint(i), "prf": proofs,
				"exp": noon.Add(time.Duration(rapid.IntRange(4, 9-i).Draw(rt, "life")) * 5 * time.Minute).Unix(),
				"att": []any{map[string]any{"with": last.with, "can": last.can}},
			})
			if proofs = []string{text}; inline {
				texts = nil
			} else {
				proofs = []string{cidOf(rt, text)}
			}
			texts = append(texts, text)
		}
		in := strings.Join(texts, "\n")
		at := rapid.SampledFrom([]string{shortlyAfter, shortlyAfter, "2026-11-20T12:31:00Z"}).Draw(rt, "now")
		_, out, _ := usher(t, in, "ucan", "inspect", "--json", "--at", at, "-")
		var seen struct {
			Tokens []struct {
				Issuer   ucan.DID
				Root     bool
				Warnings []string
			}
			Invalid []any
		}
		if err := json.Unmarshal([]byte(out), &seen); err != nil || len(seen.Invalid) > 0 || len(seen.Tokens) != n {
			rt.Fatalf("inspect %v: %s", err, out)
		}
		fine := true
		for _, tok := range seen.Tokens {
			fine = fine && len(tok.Warnings) == 0 && (!tok.Root || tok.Issuer == keys[0].DID())
		}
		status, out2, _ := usher(t, in, "ucan", "verify", "--caller", keys[n].DID().String(), "--can", last.can, "--with", last.with, "--at", at, "-")
		r := verify(t, status, out2)
		if owned := keys[n].DID().String() == owner; !owned && fine != (r.Decision == "allow") {
			rt.Fatalf("inspect finds it fine: %v, verify says %s: %s\n%s", fine, r.Decision, r.Reason, out)
		}
		if fine {
			allowed++
		} else {
			refused++
		}
	})
	if !t.Failed() && (allowed == 0 || refused == 0) {
		t.Errorf("%d chains hold and %d do not: the test sees one side only", allowed, refused)
	}
}

func cidOf(t *rapid.T, jwt string) string {
	_, out, _ := usher(t, jwt, "ucan", "inspect", "--json", "-")
	var seen struct{ Tokens []struct{ CID string } }
	if err := json.Unmarshal([]byte(out), &seen); err != nil || len(seen.Tokens) == 0 {
		t.Fatalf("inspect %v: %s", err, out)
	}
	return seen.Tokens[len(seen.Tokens)-1].CID
}

// TestUcanInspectPassesOn: of a token that names no resource it shows what its proof
// gives.
func TestUcanInspectPassesOn(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "ucan", "testdata", "chains.json"))
	if err != nil {
		t.Fatal(err)
	}
	type vector struct {
		Name   string
		Tokens []string
	}
	var vectors []vector
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(vectors, func(v vector) bool { return v.Name == "native, passed on" })
	file := write(t, "chain", []byte(strings.Join(vectors[i].Tokens, "\n")))
	status, out, notes := usher(t, "", "ucan", "inspect", "--json", "--at", "2026-11-20T12:00:00Z", file)
	var report struct {
		Tokens []struct {
			Root         bool
			Warnings     []string
			Capabilities []struct{ With, Narrows string }
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || status != 0 || len(report.Tokens) != 2 {
		t.Fatalf("%d, %v: %s%s", status, err, out, notes)
	}
	for _, n := range report.Tokens {
		if len(n.Warnings) > 0 || len(n.Capabilities) != 1 || !strings.HasSuffix(n.Capabilities[0].With, "/w") {
			t.Errorf("it shows %+v", n)
		}
	}
}

// TestUcanInspectIsBounded: tokens that pass on what many others give show each thing once, and
// so many are not drawn that what they can have been made from is without end.
func TestUcanInspectIsBounded(t *testing.T) {
	const levels, each = 4, 3
	random, life := &counter{}, time.Now().Add(time.Hour)
	var proofs []*ucan.Link // one of each level
	level := func(i, tokens int) (texts []string) {
		is := ucan.Issuer{Key: keyOf(t, byte(i+1)), Rand: random, Verifier: &ucan.Verifier{}}
		for range tokens {
			made, err := is.Delegate(t.Context(), ucan.Delegation{
				Audience: keyOf(t, byte(i+2)).DID(), Owner: keyOf(t, 1).DID(), Capabilities: []caps.Capability{caps.MustCapability("", "*")},
				Expires: life, Tokens: proofs[:i],
			})
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, made[0].Text())
			proofs = append(proofs[:i:i], made[0])
		}
		return texts
	}
	var texts []string
	for i := range levels {
		texts = append(texts, level(i, each)...)
	}
	status, out, notes := usher(t, strings.Join(texts, "\n"), "ucan", "inspect", "--json", "-")
	var report struct {
		Tokens []struct{ Capabilities []struct{ With string } }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || status != 0 || len(report.Tokens) != levels*each {
		t.Fatalf("%d, %v: %s", status, err, notes)
	}
	for i, n := range report.Tokens {
		if len(n.Capabilities) != 1 {
			t.Errorf("token %d shows %d capabilities, want 1", i, len(n.Capabilities))
		}
	}
	proofs = nil
	status, _, notes = usher(t, strings.Join(level(0, 1025), "\n"), "ucan", "inspect", "-")
	if status != cli.ExitMisuse || !strings.Contains(notes, "give the chain that you ask about") {
		t.Errorf("1025 tokens: %d, %s", status, notes)
	}
}
