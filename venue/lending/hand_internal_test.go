package lending

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/lending"
	"usher/tools/toolstest"
	"usher/ucan"
	"usher/venue/config"
	"usher/venue/store/memory"
)

// Nothing is made of a capability that is revoked while it is made.
func TestNothingIsMadeOfWhatIsRevokedMeanwhile(t *testing.T) {
	st := memory.Open()
	t.Cleanup(func() { _ = st.Close() })
	key, err := ucan.KeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	if err != nil {
		t.Fatal(err)
	}
	known, err := ucan.OpenStore(t.Context(), st.Under("u/"))
	if err != nil {
		t.Fatal(err)
	}
	owner := key.DID()
	parent := &record{
		ID: "cap_parent", Grant: "docs", Owner: owner, Maker: owner, Holder: owner, Operations: []string{"read"},
		Things: []thing{{Handle: "rh_1", Name: "one", Path: "w/docs/1"}}, Revocation: "rv_parent", Expires: time.Now().Add(time.Hour).UnixMilli(),
	}
	revoking := false
	r := New(Options{Store: st.Under("lent/"), Now: time.Now, Rand: rand.Reader, Verifier: &ucan.Verifier{Store: known}})
	r.Stands = func(context.Context, ucan.DID, string) error { return nil }
	r.Key = func(ctx context.Context, _ ucan.DID) (ucan.Key, error) {
		if !revoking {
			return key, nil
		}
		gone := *parent
		gone.Revoked = true
		raw, err := json.Marshal(gone)
		if err == nil {
			_, err = r.Store.Apply(ctx, nil, map[string][]byte{capKey(gone.ID): raw}, nil)
		}
		return key, err
	}
	r.Set(owner, config.A2A{Grants: []config.Grant{{ID: "docs", With: "w/docs", Operations: map[string]string{"read": "crud/read"}}}})
	if err := r.sign(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	if err := r.store(t.Context(), []*record{parent}, nil); err != nil {
		t.Fatal(err)
	}
	registry := new(tools.Registry)
	hand := tools.New("test:hand", "Hand on.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(ctx context.Context, call tools.Call, _ struct{}) (lending.Capabilities, error) {
			return r.Attenuate(ctx, call, lending.Attenuate{CapabilityID: parent.ID})
		})
	if err := registry.Register(hand); err != nil {
		t.Fatal(err)
	}
	gate, mint := toolstest.NewGate(registry, nil)
	for _, revoking = range []bool{false, true} {
		_, err := gate.Invoke(t.Context(), mint.User(owner), tools.Invocation{Operation: "test:hand"})
		if (err != nil) != revoking {
			t.Errorf("revoked meanwhile is %v: %v", revoking, err)
		}
	}
}
