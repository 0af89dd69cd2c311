package ucan

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"usher/caps"
)

// noon is when the tests play.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// world is a venue with its users: a store, a verifier and a clock to turn.
type world struct {
	t                                     testing.TB
	kv                                    *memKV
	store                                 *Store
	v                                     *Verifier
	now                                   time.Time
	rand                                  *counter
	alice, bob, carol, dan, mallory, host Key
	first                                 *Link
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

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, kv: newMemKV(), now: noon, rand: &counter{}}
	for name, k := range map[string]*Key{
		"alice": &w.alice, "bob": &w.bob, "carol": &w.carol, "dan": &w.dan, "mallory": &w.mallory, "host": &w.host,
	} {
		*k = testKey(t, name)
	}
	w.v = &Verifier{
		Now: func() time.Time { return w.now }, Self: w.host.DID(),
		Roots: func(owner, issuer DID) bool { return issuer == w.host.DID() && owner == w.dan.DID() },
	}
	w.open()
	return w
}

// open reads the store from the disk again.
func (w *world) open() {
	w.t.Helper()
	s, err := OpenStore(w.t.Context(), w.kv)
	if err != nil {
		w.t.Fatal(err)
	}
	w.store, w.v.Store = s, s
}

func (w *world) exp() int64 { return noon.Add(time.Hour).Unix() }

// native signs a delegation without asking whether it may be; changes replace
// fields of the payload, and nil removes one.
func (w *world) native(iss Key, aud, sub DID, can, with string, changes map[string]any) *Link {
	w.t.Helper()
	l, err := Open(w.nativeRaw(iss, aud, sub, can, with, changes))
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) nativeRaw(iss Key, aud, sub DID, can, with string, changes map[string]any) []byte {
	w.t.Helper()
	nonce, _ := nonceOr(nil, w.rand)
	pol := []any{}
	if with != "" {
		owner, path, err := splitAbsolute(with)
		if err != nil {
			w.t.Fatal(err)
		}
		pol = policyOf(owner, path, sub)
	}
	payload := map[string]any{
		"iss": iss.DID().s, "aud": aud.s, "sub": sub.s, "cmd": commandOf(caps.Ability(can)),
		"pol": pol, "nonce": nonce, "exp": w.exp(),
	}
	tag := tagDelegation
	if v, ok := changes["tag"].(string); ok {
		tag = v
	}
	for k, v := range changes {
		payload[k] = v
		if _, null := v.(nilValue); null {
			payload[k] = nil
		} else if v == nil {
			delete(payload, k)
		}
	}
	delete(payload, "tag")
	raw, err := iss.seal(tag, payload)
	if err != nil {
		w.t.Fatal(err)
	}
	return raw
}

// policyOf is the policy of a resource, in plain values.
func policyOf(owner DID, path caps.Resource, sub DID) []any {
	if path.IsRoot() && owner == sub {
		return []any{}
	}
	r := absolute(owner, path)
	return []any{[]any{"or", []any{
		[]any{"==", withSelector, r},
		[]any{"like", withSelector, r + "/*"},
	}}}
}

// payloadOf reads the payload of a sealed token.
func payloadOf(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	v, err := decodeCBOR(raw)
	if err != nil {
		t.Fatal(err)
	}
	for key, payload := range v.([]any)[1].(map[string]any) {
		if key != "h" {
			return payload.(map[string]any)
		}
	}
	return nil
}

// sameKey reports whether two keys sign, and alike.
func sameKey(a, b Key) bool {
	sig := a.Sign([]byte("m"))
	return sig != nil && bytes.Equal(sig, b.Sign([]byte("m")))
}

// put stores links and returns their CIDs.
func (w *world) put(links ...*Link) []CID {
	w.t.Helper()
	var cids []CID
	for _, l := range links {
		if err := w.store.Put(w.t.Context(), l); err != nil {
			w.t.Fatal(err)
		}
		cids = append(cids, l.CID)
	}
	return cids
}

// plainHeader is the least that a JWT says.
const plainHeader = `{"alg":"EdDSA","typ":"JWT"}`

type att = map[string]any

func cap1(with, can string) []any { return []any{att{"with": with, "can": can}} }

// claims are those of a JWT; proofs are inline texts or CIDs.
func (w *world) claims(iss Key, aud DID, list []any, proofs ...string) map[string]any {
	prf := []any{}
	for _, p := range proofs {
		prf = append(prf, p)
	}
	return map[string]any{"iss": iss.DID().s, "aud": aud.s, "exp": w.exp(), "att": list, "prf": prf, "nnc": fmt.Sprint(w.rand.n)}
}

func signJWT(t testing.TB, k Key, header string, claims any) string {
	t.Helper()
	body, ok := claims.([]byte)
	if !ok {
		var err error
		if body, err = json.Marshal(claims); err != nil {
			t.Fatal(err)
		}
	}
	signed := b64.EncodeToString([]byte(header)) + "." + b64.EncodeToString(body)
	return signed + "." + b64.EncodeToString(k.Sign([]byte(signed)))
}

func (w *world) jwt(iss Key, aud DID, list []any, proofs ...string) string {
	return signJWT(w.t, iss, jwtHeader(iss.DID()), w.claims(iss, aud, list, proofs...))
}

func with(m map[string]any, key string, v any) map[string]any {
	m = maps.Clone(m)
	m[key] = v
	return m
}

func mustOpen(t testing.TB, raw string) *Link {
	t.Helper()
	l, err := Open([]byte(raw))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return l
}

// ask authorises can on path in alice's namespace.
func (w *world) ask(caller Key, can, path string, proofs []CID, tokens ...*Link) (Grant, error) {
	w.t.Helper()
	return w.v.Authorize(w.t.Context(), Query{
		Caller: caller.DID(), Owner: w.alice.DID(), Request: caps.Need(can, path), Proofs: proofs, Tokens: tokens,
	})
}

func (w *world) url(k Key, path string) string {
	if path == "" {
		return k.DID().s
	}
	return k.DID().s + "/" + path
}

// wantErr fails unless err is want (nil is success), and, for the refusals of a
// chain, no other sentinel.
func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if want == nil && err != nil || want != nil && !errors.Is(err, want) {
		t.Errorf("error = %v; want %v", err, want)
		return
	}
	var v *VerifyError
	if errors.As(err, &v) && v.Cause == nil && !errors.Is(v.Err, want) {
		t.Errorf("sentinel = %v; want %v", v.Err, want)
	}
}

// shared is the folder of the conformance data that several projects share; it is
// empty on a clone without it.
func shared(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		at := filepath.Join(dir, "shared", "conformance", "ucan")
		if _, err := os.Stat(at); err == nil {
			return at
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// conformance returns a file of the shared data.
func conformance(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(shared(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func loadJSON(t testing.TB, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(conformance(t, name), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func verifySignature(l *Link) bool { return ed25519.Verify(l.issKey, l.signed, l.sig) }
