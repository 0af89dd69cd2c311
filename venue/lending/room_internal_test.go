package lending

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"testing"
	"time"

	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/store/memory"
)

// What is handed on counts against whoever makes it: nobody fills another's bound.
func TestWhatIsHandedOnCountsAgainstItsMaker(t *testing.T) {
	st := memory.Open()
	t.Cleanup(func() { _ = st.Close() })
	r := New(Options{Store: st.Under("lent/"), Now: time.Now})
	var maker, holder ucan.DID
	for i, who := range []*ucan.DID{&maker, &holder} {
		key, err := ucan.KeyFromSeed(bytes.Repeat([]byte{byte(i + 1)}, ed25519.SeedSize))
		if err != nil {
			t.Fatal(err)
		}
		*who = key.DID()
	}
	var made []*record
	for i := range maxLent {
		id := fmt.Sprint("cap_", i)
		made = append(made, &record{ID: id, Owner: maker, Maker: maker, Holder: holder, Revocation: "rv_" + id, Expires: r.Now().Add(time.Hour).UnixMilli()})
	}
	if err := r.store(t.Context(), made, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.room(t.Context(), holder, 1); err != nil {
		t.Errorf("who was given much may have no more made: %v", err)
	}
	if err := r.room(t.Context(), maker, 1); fault.Of(err) != fault.LimitReached {
		t.Errorf("who has given as much as one may makes more: %v", err)
	}
}
