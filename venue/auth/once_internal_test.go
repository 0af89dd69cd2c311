package auth

import (
	"context"
	"fmt"
	"testing"
	"time"

	"usher/ucan"
	"usher/venue/store/memory"
)

// Of what worked once and has ended nothing stays: its marks go with those that come.
func TestMarksGo(t *testing.T) {
	st := memory.Open()
	t.Cleanup(func() { _ = st.Close() })
	now := time.Unix(1_800_000_000, 0)
	r := &Room{Options: Options{Store: st.Under("i/"), Sure: func(context.Context) (time.Time, bool) { return now, true }}}
	for i := range 20 {
		if i == 10 {
			now = now.Add(time.Hour)
		}
		fresh, err := r.Once(t.Context(), ucan.DID{}, fmt.Sprint(i), now.Add(time.Minute))
		again, err2 := r.Once(t.Context(), ucan.DID{}, fmt.Sprint(i), now.Add(2*time.Minute))
		if !fresh || again || err != nil || err2 != nil {
			t.Errorf("%d: %v, %v, then %v, %v", i, fresh, err, again, err2)
		}
	}
	for _, prefix := range []string{oncePrefix, usedPrefix} {
		keys, _, err := r.Store.PageKeys(t.Context(), prefix, "", 100)
		if err != nil || len(keys) != 10 {
			t.Errorf("%d marks below %s stay of 10 that have not ended, %v", len(keys), prefix, err)
		}
	}
}
