package keys

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"usher/tools/secrets"
	"usher/ucan"
	"usher/venue/store/journal"
	"usher/venue/store/memory"
)

func newTestSecrets(t *testing.T, dir string) *Secrets {
	t.Helper()
	st := memory.Open()
	if dir != "" {
		j, err := journal.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		st = j.Store
	}
	t.Cleanup(func() { _ = st.Close() })
	key, err := ucan.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := ucan.NewSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	return &Secrets{space: st.Under("s/"), sealer: sealer, now: time.Now}
}

func testDID(t *testing.T, letter string) ucan.DID {
	t.Helper()
	key, err := ucan.KeyFromSeed([]byte(strings.Repeat(letter, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return key.DID()
}

// A box opens in its own place alone, and what does not open is not given out.
func TestABoxOpensInItsPlaceAlone(t *testing.T) {
	b := newTestSecrets(t, "")
	alice, bob := testDID(t, "a"), testDID(t, "b")
	if err := b.Set(t.Context(), alice, "A", "hunter2"); err != nil {
		t.Fatal(err)
	}
	raw, _, err := b.space.Get(t.Context(), secretKey(alice, "A"))
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
	var sealed secretBox
	if err := json.Unmarshal(raw, &sealed); err != nil {
		t.Fatal(err)
	}
	if _, err := b.sealer.Open(secretKey(alice, "A"), sealed.Box); err == nil {
		t.Error("a secret opens under a name that a key of the keyring may have")
	}
	if _, err := b.Get(t.Context(), testDID(t, "c"), "A"); !errors.As(err, new(*secrets.NoSecretError)) {
		t.Errorf("one that there is not: %v", err)
	}
}

// A secret is on disk when it is said to be kept, and gone from there when it is
// said to be deleted: where that cannot be, it is not said.
func TestSecretsAreSynced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	b, alice := newTestSecrets(t, dir), testDID(t, "a")
	if err := b.Set(t.Context(), alice, "A", "hunter2"); err != nil {
		t.Fatal(err)
	}
	away := dir + ".away" // what is written reaches the open files, and a sync finds none
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	if err := b.Set(t.Context(), alice, "B", "hunter3"); err == nil {
		t.Error("a secret that is not on disk is said to be kept")
	}
	if _, err := b.Delete(t.Context(), alice, "A"); err == nil {
		t.Error("a secret that is on disk yet is said to be deleted")
	}
	if err := os.Rename(away, dir); err != nil {
		t.Fatal(err)
	}
}

// meddled is a context in which something happens before the store is used for
// the second time.
type meddled struct {
	context.Context
	uses   int
	meddle func()
}

func (m *meddled) Err() error {
	if m.uses++; m.uses == 2 {
		m.meddle()
	}
	return m.Context.Err()
}

// Of two who delete a secret at once, one has deleted it; and one that is stored
// meanwhile goes, too.
func TestASecretThatChangesWhileItIsDeleted(t *testing.T) {
	b, alice := newTestSecrets(t, ""), testDID(t, "a")
	for name, tc := range map[string]struct {
		meddle func()
		want   bool
	}{
		"deleted": {func() {
			if deleted, err := b.Delete(t.Context(), alice, "A"); err != nil || !deleted {
				t.Errorf("the first: %t, %v", deleted, err)
			}
		}, false},
		"stored anew": {func() {
			if err := b.Set(t.Context(), alice, "A", "hunter3"); err != nil {
				t.Error(err)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := b.Set(t.Context(), alice, "A", "hunter2"); err != nil {
				t.Fatal(err)
			}
			ctx := &meddled{Context: t.Context(), meddle: tc.meddle}
			if deleted, err := b.Delete(ctx, alice, "A"); err != nil || deleted != tc.want || ctx.uses < 2 {
				t.Errorf("Delete() = %t, %v, want %t", deleted, err, tc.want)
			}
			if _, err := b.Get(t.Context(), alice, "A"); !errors.As(err, new(*secrets.NoSecretError)) {
				t.Errorf("it is still there: %v", err)
			}
		})
	}
}
