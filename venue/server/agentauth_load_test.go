package server_test

import (
	"net/http"
	"sync"
	"testing"
)

// at calls n functions, some at once.
func at(n, atOnce int, call func(i int)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			call(i)
		})
	}
	all.Wait()
}

// many is how often a test does something at once.
func many(most int) int {
	if testing.Short() {
		return most / 10
	}
	return most
}

// Agents that register and execute at once lose nothing.
func TestManyAgents(t *testing.T) {
	w := visitorOpen(t, nil)
	h := w.host()
	h.approved(object{"capabilities": []any{"read_account"}})
	n := many(1000)
	ids := make([]string, n)
	at(n, 64, func(i int) {
		a, status := h.register(object{"capabilities": []any{"read_account"}})
		if ids[i] = a.id; status != http.StatusOK || a.was["status"] != "active" {
			t.Errorf("agent %d: %d %v", i, status, a.was)
			return
		}
		if status, out := a.execute("read_account", object{"path": "w/accounts/one"}); status != http.StatusOK {
			t.Errorf("agent %d executes: %d %v", i, status, out)
		}
	})
	seen := map[string]bool{}
	for i, id := range ids {
		if seen[id] {
			t.Fatalf("two agents have the id %s", id)
		}
		seen[id] = true
		if i%(n/10) == 0 {
			if status, out := w.get("/agent/status?agent_id="+id, h.jwt(nil)); status != http.StatusOK || out["status"] != "active" {
				t.Errorf("agent %d: %d %v", i, status, out)
			}
		}
	}
}

// A JWT that comes many times at once works once.
func TestOneJTI(t *testing.T) {
	w := visitorOpen(t, nil)
	a := w.host().approved(object{"capabilities": []any{"read_account"}})
	token := a.jwt(nil)
	var mu sync.Mutex
	codes := map[any]int{}
	n := many(1000)
	at(n, 64, func(int) {
		status, out := w.post("/capability/execute", token, object{"capability": "read_account", "arguments": object{"path": "w/accounts/one"}})
		mu.Lock()
		defer mu.Unlock()
		if status == http.StatusOK {
			codes["ok"]++
		} else {
			codes[out["error"]]++
		}
	})
	if codes["ok"] != 1 || codes["jti_replay"] != n-1 {
		t.Errorf("answers: %v", codes)
	}
}
