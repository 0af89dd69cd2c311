package badger

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"usher/venue/store"
)

// Of two batches that wait together and expect the same of a key that both write,
// one is refused.
func TestAGroupKeepsWhatIsExpected(t *testing.T) {
	e, err := openEngine(t.TempDir(), nil, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Apply([]store.Op{{Kind: store.OpPut, Key: "k", Value: []byte("0")}}); err != nil {
		t.Fatal(err)
	}
	_, rev, err := e.Get("k")
	if err != nil {
		t.Fatal(err)
	}
	w := &e.writer
	w.mu.Lock()
	w.leading = true // as if another group were written
	w.mu.Unlock()
	refused := make(chan bool)
	for _, value := range []string{"a", "b"} {
		go func() {
			moved, err := e.Apply([]store.Op{{Kind: store.OpExpect, Key: "k", Rev: rev}, {Kind: store.OpPut, Key: "k", Value: []byte(value)}})
			if err != nil {
				t.Error(err)
			}
			refused <- moved == "k"
		}()
	}
	for waiting := 0; waiting < 2; runtime.Gosched() {
		w.mu.Lock()
		waiting = len(w.queue)
		w.mu.Unlock()
	}
	w.mu.Lock()
	w.queue[0].turn <- true
	w.mu.Unlock()
	if first, second := <-refused, <-refused; first == second {
		t.Errorf("refused: %v and %v, want one of the two", first, second)
	}
}

// What a reader can see is needed until it ends.
func TestReadsAreNeeded(t *testing.T) {
	r := reads{written: 7, open: map[uint64]int{}}
	first, second := r.begin(), r.begin()
	if got := r.advance(8); got != 7 {
		t.Errorf("with readers at 7, all from %d on is needed, want 7", got)
	}
	r.end(first)
	if got := r.advance(9); got != 7 {
		t.Errorf("with one reader left at 7, all from %d on is needed, want 7", got)
	}
	r.end(second)
	if got := r.advance(10); got != 10 {
		t.Errorf("without readers, all from %d on is needed, want 10", got)
	}
}

// A store that fails inside tells everybody whose batch it was writing, and holds
// up nobody after them.
func TestAPanicHoldsUpNobody(t *testing.T) {
	e, err := openEngine(t.TempDir(), nil, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	db := e.db
	e.db = nil
	put := []store.Op{{Kind: store.OpPut, Key: "k", Value: []byte("v")}}
	if _, err := e.Apply(put); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("a write that panics ends with %v, want %v", err, store.ErrUnknown)
	}
	e.db = db
	if moved, err := e.Apply(put); moved != "" || err != nil {
		t.Errorf("the next write: %q, %v, want it applied", moved, err)
	}
}
