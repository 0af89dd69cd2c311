package lending

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/store/memory"
)

// What is handed on counts against whoever makes it: nobody fills another's bound. Of many who ask
// at once, none gets past the bound.
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
	made := func(id string) *record {
		return &record{ID: id, Owner: maker, Maker: maker, Holder: holder, Revocation: "rv_" + id, Expires: r.Now().Add(time.Hour).UnixMilli()}
	}
	var first []*record
	for i := range maxLent - 2 {
		first = append(first, made(fmt.Sprint("cap_", i)))
	}
	if _, err := r.keep(t.Context(), maker, first, nil); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var kept atomic.Int32
	for i := range 16 {
		all.Go(func() {
			_, err := r.keep(t.Context(), maker, []*record{made(fmt.Sprint("late_", i))}, nil)
			if err == nil {
				kept.Add(1)
			} else if fault.Of(err) != fault.LimitReached {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if kept.Load() != 2 {
		t.Errorf("%d were kept where 2 had room", kept.Load())
	}
	if err := r.room(t.Context(), holder, 1); err != nil {
		t.Errorf("who was given much may have no more made: %v", err)
	}
}
