package ledger

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"

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
	group := []*draft{l.begin(Batch{}), l.begin(Batch{})}
	for _, p := range group {
		p.body = appendNote(p.body, "note", []byte(`{}`))
	}
	l.write(t.Context(), group)
	for i, p := range group {
		if !errors.Is(p.Err, store.ErrUnknown) {
			t.Errorf("row %d: %v, want its outcome unknown", i, p.Err)
		}
	}
	st.before = nil
}

// oddError is an error that panics where it is looked at.
type oddError struct{ error }

func (oddError) Is(error) bool { panic("inside an error") }

// TestPanicWhileWritten: where the store panics, or what it says does, nobody waits for ever, no row is
// written twice, and later ones are written.
func TestPanicWhileWritten(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(map[string][]byte) error
		after  func() error
		rows   uint64 // of the two that were written together
	}{
		"before it was written": {before: func(map[string][]byte) error { panic("inside") }},
		"after it was written":  {after: func() error { panic("inside") }, rows: 2},
		"in an error":           {before: func(map[string][]byte) error { return oddError{errors.New("odd")} }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, st := fresh(t)
				release := make(chan struct{})
				var first sync.Once
				st.hook(func(map[string][]byte) error { first.Do(func() { <-release }); return nil }, nil)
				var wg sync.WaitGroup
				wg.Go(func() { _, _ = l.RecordDecision(t.Context(), entry(0), Batch{}) })
				synctest.Wait()
				errs := make([]error, 2)
				for i := range errs {
					wg.Go(func() { _, errs[i] = l.RecordDecision(t.Context(), entry(i+1), Batch{}) })
				}
				synctest.Wait()
				st.hook(tt.before, tt.after)
				close(release)
				wg.Wait()
				st.hook(nil, nil)
				for i, err := range errs {
					if !errors.Is(err, store.ErrUnknown) {
						t.Errorf("row %d: %v, want its outcome unknown", i, err)
					}
				}
				if want, seq := 2+tt.rows, call(t, l, 3); seq != want {
					t.Errorf("the next row is %d, want %d", seq, want)
				}
				verify(t, l)
			})
		})
	}
}
