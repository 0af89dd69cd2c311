package tools_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/toolstest"
	"usher/ucan"
)

// The proofs that a caller brought are stored with its authority.
func TestStoredProofs(t *testing.T) {
	key, err := ucan.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	issuer := ucan.Issuer{Key: key, Verifier: &ucan.Verifier{}, Rand: rand.Reader}
	var brought []*ucan.Link
	for _, format := range []ucan.Format{ucan.Native, ucan.JWT} {
		links, err := issuer.Delegate(t.Context(), ucan.Delegation{
			Audience: owner(t, 1), Capabilities: []caps.Capability{caps.MustCapability("w/", "crud")}, Expires: time.Now().Add(time.Hour), Format: format,
		})
		if err != nil {
			t.Fatal(err)
		}
		brought = append(brought, links...)
	}
	_, mint := toolstest.NewGate(new(tools.Registry), &tools.GateOptions{Ledger: new(memoryLedger), Key: []byte("of the seal")})
	stored, err := json.Marshal(mint.User(owner(t, 1)).WithProofs(brought...))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range brought {
		if !bytes.Contains(stored, []byte(l.Text())) {
			t.Errorf("the proof %s is not in %s", l.CID, stored)
		}
	}
	back, err := mint.Open(stored)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(back); err != nil || !bytes.Equal(again, stored) {
		t.Errorf("opened and stored again it is %s, %v; was %s", again, err, stored)
	}
}
