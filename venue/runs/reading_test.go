package runs_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"usher/runtime"
	"usher/tools"
	"usher/venue/runs"
	"usher/venue/store"
)

// slow is an engine whose next read of the end of a log takes until something else
// happened.
type slow struct {
	store.Engine
	while func()
}

func (s *slow) Page(w store.Walk) ([]store.Row, string, error) {
	rows, next, err := s.Engine.Page(w)
	if while := s.while; while != nil && next == "" && strings.HasPrefix(w.Prefix, "r/ses/") {
		s.while = nil
		while()
	}
	return rows, next, err
}

// Who reads a session slowly does not go on with it as it was before others wrote, also
// where they have left it and it was forgotten.
func TestASessionIsNotOlderThanItsLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHouse(t)
		engine := new(slow)
		st := h.store.Behind(func(e store.Engine) store.Engine {
			engine.Engine = e
			return engine
		})
		var ids atomic.Int64
		book, err := runs.Open(t.Context(), runs.Options{
			Store: st.Under(""), Ledger: h.ledger, Spending: free{}, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			NewID: func() (string, error) { return fmt.Sprintf("%08d", ids.Add(1)), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer book.Close()
		leave := func(text string) {
			s, release, err := book.Sessions().Open(t.Context(), tools.NewLife(h.alice, "clerk", "1"), "talk", false)
			if err == nil {
				err = s.Leave(t.Context(), time.Now(), runtime.InboxMessage{From: "boss", Text: text})
				release()
			}
			if err != nil {
				t.Errorf("a message of %d bytes is not left: %v", len(text), err)
			}
		}
		for range 16 { // more than stays in memory when nobody uses it
			leave(strings.Repeat("x", 300<<10))
		}
		engine.while = func() {
			go leave("meanwhile")
			synctest.Wait()
		}
		leave("last")
		synctest.Wait()
		head, err := book.Sessions().Head(t.Context(), tools.NewLife(h.alice, "clerk", "1"), "talk")
		if err != nil || head.Waiting != 18 {
			t.Errorf("%d messages wait, %v; want 18", head.Waiting, err)
		}
	})
}
