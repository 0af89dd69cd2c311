package agents

import (
	"errors"
	"testing"

	"usher/caps"
	"usher/tools"
	"usher/ucan"
	"usher/venue/store"
)

// rows is an engine that reads, unless it fails.
type rows struct {
	store.Engine
	of   map[string]string
	fail error
}

func (r *rows) Get(key string) ([]byte, uint64, error) { return []byte(r.of[key]), 1, r.fail }

// What an agent may do while the store cannot say is nothing, and nobody who asks
// under an epoch is told so again once the store can.
func TestAStoreThatFailsOnceIsAskedAgain(t *testing.T) {
	key, err := ucan.KeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	owner := key.DID()
	rec := func(givers string) string {
		return `{"status":"SLEEPING","life":"1","config":{},"caps":[{"with":"w/","can":"crud"}],"givers":[` + givers + `]}`
	}
	life := func(id string) tools.Life { return tools.NewLife(owner, id, "1") }
	r := &rows{of: map[string]string{
		"rec/" + owner.String() + "/boss": rec(""), "rec/" + owner.String() + "/kid": rec(`"` + string(life("boss")) + `"`),
	}}
	b := NewBook(store.New(r).Under(""))
	may := func() bool {
		set, _ := b.Live(t.Context(), life("kid"))
		return set.Check(caps.Need("crud/read", "w/x")).IsAllowed()
	}
	for _, step := range []string{"neither is read", "the giver is not read"} {
		r.fail = errors.New("no descriptors")
		epoch := b.Epoch()
		if may() {
			t.Errorf("%s: it may, though the store cannot say", step)
		}
		if b.Epoch() == epoch {
			t.Errorf("%s: the answer counts for the epoch", step)
		}
		r.fail = nil
		if step == "neither is read" {
			if _, _, err := b.get(t.Context(), keyOf(life("kid"))); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if !may() {
			t.Errorf("%s: it may nothing, though the store can say", step)
		}
	}
}

// A record that is damaged gives nothing, and has nobody else asked again.
func TestADamagedRecordMovesNothing(t *testing.T) {
	key, err := ucan.KeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	b := NewBook(store.New(&rows{of: map[string]string{"rec/" + key.DID().String() + "/kid": "{"}}).Under(""))
	set, _ := b.Live(t.Context(), tools.NewLife(key.DID(), "kid", "1"))
	if !set.IsEmpty() || b.Epoch() != 0 {
		t.Errorf("it may %v under the epoch %d, want nothing under 0", set, b.Epoch())
	}
}
