package ucan

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func testKey(t testing.TB, name string) Key {
	t.Helper()
	seed := make([]byte, 32)
	copy(seed, name)
	k, err := KeyFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeyNeverPrints(t *testing.T) {
	seed := []byte("0123456789abcdefghijklmnopqrstuv")
	k, err := KeyFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := NewSealer(k)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	log := slog.New(slog.NewJSONHandler(&out, nil))
	log.Info("m", "key", k, "in", struct{ K Key }{k}, "sealer", sealer)
	log.Info("m", "any", slog.AnyValue(&k))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b", "%T %v"} {
		fmt.Fprintf(&out, verb, k)
		fmt.Fprintf(&out, verb, []any{&k, struct{ K Key }{k}, map[string]Key{"k": k}, sealer})
	}
	for _, v := range []any{k, &k, []Key{k}, struct{ K *Key }{&k}, map[string]Key{"k": k}, sealer} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(b)
	}
	got := out.String()
	for _, secret := range []string{string(seed), hex.EncodeToString(seed), strings.ToUpper(hex.EncodeToString(seed)), "48 49 50", "MDEyMzQ1"} {
		if strings.Contains(got, secret) {
			t.Errorf("the seed was printed as %q", secret)
		}
	}
	if !strings.Contains(got, "[redacted]") {
		t.Error("nothing was redacted")
	}
}

func TestKeyZero(t *testing.T) {
	k, other := testKey(t, "k"), testKey(t, "other")
	same := testKey(t, "k")
	if !sameKey(k, same) || sameKey(k, other) || sameKey(k, Key{}) || sameKey(Key{}, Key{}) {
		t.Error("two keys sign alike, or one does not sign as itself")
	}
	copied := k
	k.Zero()
	if copied.Sign([]byte("m")) != nil || sameKey(copied, same) || copied.DID() != same.DID() {
		t.Error("a copy still signs after Zero, or lost its DID")
	}
	if (Key{}).Sign([]byte("m")) != nil || !(Key{}).DID().IsZero() {
		t.Error("the zero key signs or has a DID")
	}
}

func TestKeyRefused(t *testing.T) {
	for name, seed := range map[string][]byte{"short": make([]byte, 31), "zeros": make([]byte, 32), "none": nil} {
		if k, err := KeyFromSeed(seed); err == nil || !k.IsZero() {
			t.Errorf("KeyFromSeed(%s) succeeded", name)
		}
	}
	if _, err := NewKey(bytes.NewReader(make([]byte, 16))); err == nil {
		t.Error("NewKey took 16 bytes of randomness")
	}
	a, err := NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := NewKey(rand.Reader); sameKey(a, b) {
		t.Error("two new keys are equal")
	}
}
