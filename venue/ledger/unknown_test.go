package ledger

import (
	"errors"
	"testing"

	"usher/venue/store"
)

// TestUnknownGroup: where nobody knows whether rows were written, none of them is told as failed since
// a second try was refused.
func TestUnknownGroup(t *testing.T) {
	l, st := fresh(t)
	stopped := errors.New("the store takes no more writes")
	tries := 0
	st.before = func(map[string][]byte) error {
		if tries++; tries == 1 {
			return store.ErrUnknown
		}
		return stopped
	}
	group := []*pending{l.begin(Batch{}), l.begin(Batch{})}
	for _, p := range group {
		p.body = appendNote(p.body, "note", []byte(`{}`))
	}
	l.write(t.Context(), group)
	for i, p := range group {
		if !errors.Is(p.err, store.ErrUnknown) {
			t.Errorf("row %d: %v, want its outcome unknown", i, p.err)
		}
	}
	st.before = nil
}
