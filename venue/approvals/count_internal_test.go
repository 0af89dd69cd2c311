package approvals

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/store/memory"
)

// However many requests are filed at once, and by however many processes, no more wait than may: of a
// person, and of one agent.
func TestRequestsFiledAtOnceAreBounded(t *testing.T) {
	key, err := ucan.KeyFromSeed([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	owner := key.DID().String()
	for _, tt := range []struct{ agents, want int }{{1, 2}, {3, 6}, {20, 8}} {
		st := memory.Open()
		defer st.Close()
		var all sync.WaitGroup
		for process := range 2 {
			r := New(Options{Store: st.Under(""), Now: time.Now, Logger: slog.New(slog.DiscardHandler), Most: 8})
			for n := range 20 {
				all.Go(func() {
					id := fmt.Sprintf("%d-%d", process, n)
					rec := record{Runner: owner, Request: approvals.Request{
						ID: id, Status: approvals.Pending, Owner: owner, Digest: id, Agent: fmt.Sprint("a", n%tt.agents), Expires: time.Now().Add(time.Hour).UnixMilli(),
					}}
					if code := fault.Of(r.store(t.Context(), &rec, 0)); code != fault.Waiting && code != fault.Refused {
						t.Errorf("request %s is %s", id, code)
					}
				})
			}
		}
		all.Wait()
		marks, _, err := st.Under("").PageKeys(t.Context(), openKey(owner, ""), "", 100)
		if err != nil || len(marks) != tt.want {
			t.Errorf("of %d agents %d requests wait, %v; want %d", tt.agents, len(marks), err, tt.want)
		}
	}
}
