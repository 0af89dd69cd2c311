package approvals

import (
	"encoding/json"
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

// Who is told of a request may have another one filed.
func TestToldUnderNoLock(t *testing.T) {
	key, err := ucan.KeyFromSeed([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	st := memory.Open()
	defer st.Close()
	told := 0
	r := New(Options{Store: st.Under(""), Now: time.Now})
	r.Told = func(approvals.Request) {
		if told++; !r.filing.TryLock() {
			t.Error("it is told while others wait to file theirs")
			return
		}
		r.filing.Unlock()
	}
	rec := record{Runner: key.DID().String(), Request: approvals.Request{
		ID: "a", Status: approvals.Pending, Owner: key.DID().String(), Digest: "a", Expires: time.Now().Add(time.Hour).UnixMilli(),
	}}
	if err := r.store(t.Context(), &rec, 0); fault.Of(err) != fault.Waiting || told != 1 {
		t.Errorf("store = %v, told %d times; want one that waits, told once", err, told)
	}
}

// A batch that was made while there was room is written no more once another request is filed.
func TestABatchFilesNoRequestTooMany(t *testing.T) {
	key, err := ucan.KeyFromSeed([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	owner := key.DID()
	file := func(agent string) Swap {
		return Swap{Owner: owner, File: &Filing{Agent: agent, Operation: "x", Input: json.RawMessage("{}"), Expires: time.Now().Add(time.Hour)}}
	}
	for name, files := range map[string]func(*Room) error{
		"another batch": func(r *Room) error {
			out, err := r.Swap(t.Context(), file("b"))
			if err == nil {
				_, err = r.Store.Apply(t.Context(), out.Expect, out.Put, out.Del)
			}
			return err
		},
		"a call": func(r *Room) error {
			rec := record{Runner: owner.String(), Request: approvals.Request{
				ID: "b", Status: approvals.Pending, Owner: owner.String(), Digest: "b", Agent: "b", Expires: time.Now().Add(time.Hour).UnixMilli(),
			}}
			if err := r.store(t.Context(), &rec, 0); fault.Of(err) != fault.Waiting {
				return err
			}
			return nil
		},
	} {
		st := memory.Open()
		defer st.Close()
		ids := 0
		r := New(Options{Store: st.Under(""), Now: time.Now, Most: 1, NewID: func() (string, error) { ids++; return fmt.Sprint("id", ids), nil }})
		first, err := r.Swap(t.Context(), file("a"))
		if err == nil {
			err = files(r)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if moved, err := r.Store.Apply(t.Context(), first.Expect, first.Put, first.Del); err != nil || moved != countKey(owner.String()) {
			t.Errorf("%s: the batch is written: moved %q, %v", name, moved, err)
		}
		if _, err := r.Swap(t.Context(), file("a")); fault.Of(err) != fault.Refused {
			t.Errorf("%s: one more is filed: %v", name, err)
		}
	}
}
