package venue

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"usher/tools/secrets"
	"usher/ucan"
	"usher/venue/store"
)

// A box opens in its own place alone, and what does not open is not given out.
func TestABoxOpensInItsPlaceAlone(t *testing.T) {
	st, err := store.Open("", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	sealer, err := ucan.NewSealer(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	did := func(letter string) ucan.DID {
		key, err := ucan.KeyFromSeed([]byte(strings.Repeat(letter, 32)))
		if err != nil {
			t.Fatal(err)
		}
		return key.DID()
	}
	alice, bob := did("a"), did("b")
	b := &secretBook{space: st.Under("s/"), sealer: sealer, now: time.Now}
	if err := b.Set(t.Context(), alice, "A", "hunter2"); err != nil {
		t.Fatal(err)
	}
	raw, _, err := b.space.Get(t.Context(), []byte(secretKey(alice, "A")))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		owner ucan.DID
		as    string
		raw   []byte
		want  string // of the error; empty is the value
	}{
		{"its own", alice, "A", raw, ""},
		{"another's", bob, "A", raw, "store it anew"},
		{"another name", alice, "B", raw, "store it anew"},
		{"damaged", alice, "C", []byte(`{"box":"AAAA"}`), "store it anew"},
		{"no record", alice, "D", []byte(`{`), "read secret D"},
		{"no name", alice, "../A", raw, "name is no name of a secret"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := b.space.Apply(t.Context(), nil, map[string][]byte{secretKey(tc.owner, tc.as): tc.raw}, nil); err != nil {
				t.Fatal(err)
			}
			got, err := b.Get(t.Context(), tc.owner, tc.as)
			if tc.want == "" && (err != nil || got != "hunter2") || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || got != "") {
				t.Errorf("got a value: %t, %v, want %q", got != "", err, tc.want)
			}
		})
	}
	var sealed sealedSecret
	if err := json.Unmarshal(raw, &sealed); err != nil {
		t.Fatal(err)
	}
	if _, err := b.sealer.Open(secretKey(alice, "A"), sealed.Box); err == nil {
		t.Error("a secret opens under a name that a key of the keyring may have")
	}
	if _, err := b.Get(t.Context(), did("c"), "A"); !errors.As(err, new(*secrets.NoSecretError)) {
		t.Errorf("one that there is not: %v", err)
	}
}
