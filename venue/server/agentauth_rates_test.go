package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/visitors"
)

// comes counts a request of an agent, and reports whether it comes too often.
func (a *agent) comes() (tooOften bool) {
	a.w.Helper()
	_, err := a.w.venue.Visitors().Who(a.w.Context(), &visitors.Request{Token: a.jwt(nil), Audiences: []string{a.w.server.URL}})
	refused, is := errors.AsType[*visitors.Refusal](err)
	if err != nil && (!is || refused.Code != visitors.RateLimited) {
		a.w.Fatal(err)
	}
	return is
}

// burst is how many requests of an agent come at once.
const burst = 1000

// An agent comes as often as it may by all of its keys together.
func TestAnAgentComesAsOftenByAnotherKey(t *testing.T) {
	w := visitorOpen(t, &venue.Options{Now: newClock().now})
	h := w.host()
	a := h.approved(object{"capabilities": []any{"read_account"}})
	for i := range burst {
		if a.comes() {
			t.Fatalf("request %d is one too many", i+1)
		}
	}
	if !a.comes() {
		t.Error("one more is let in")
	}
	next := visitorNewKey()
	if status, out := w.post("/agent/rotate-key", h.jwt(nil), object{"agent_id": a.id, "public_key": next.public}); status != http.StatusOK {
		t.Fatalf("rotate: %d %v", status, out)
	}
	if a.key = next; !a.comes() {
		t.Error("one more by another key is let in")
	}
}

// The keys that the agents of a host and itself get come as seldom as what stays for good: each has the
// delegations of the one before revoked.
func TestKeysComeSeldom(t *testing.T) {
	c := newClock()
	w := visitorOpen(t, &venue.Options{Now: c.now})
	h := w.host()
	first := h.approved(object{"capabilities": []any{"read_account", "write_account"}})
	agents := []*agent{first, h.approved2(object{"capabilities": []any{"read_account"}})}
	rotated := 0
	for n := range 100 {
		a, next := agents[n%2], visitorNewKey()
		status, out := w.post("/agent/rotate-key", a.jwt(nil), object{"public_key": next.public})
		if status != http.StatusOK {
			w.want("one key more", status, out, http.StatusTooManyRequests, "rate_limited")
			break
		}
		a.key = next
		rotated++
	}
	if rotated < 10 || rotated > 50 {
		t.Errorf("%d keys came at once", rotated)
	}
	status, out := w.post("/host/rotate-key", h.jwt(nil), object{"public_key": visitorNewKey().public})
	w.want("one of the host", status, out, http.StatusTooManyRequests, "rate_limited")
	other := w.host().approved(object{"capabilities": []any{"read_account"}})
	if status, out := w.post("/agent/rotate-key", other.jwt(nil), object{"public_key": visitorNewKey().public}); status != http.StatusOK {
		t.Errorf("an agent of another host: %d %v", status, out)
	}
	c.pass(time.Minute)
	if status, out := w.post("/agent/rotate-key", first.jwt(nil), object{"public_key": visitorNewKey().public}); status != http.StatusOK {
		t.Errorf("a minute later: %d %v", status, out)
	}
}

// Agents in the place of others that have ended come as seldom.
func TestAgentsInThePlaceOfOthersComeSeldom(t *testing.T) {
	c := newClock()
	w := few(t, c)
	h := w.host()
	h.approved(object{"capabilities": []any{"read_account"}})
	made := 0
	for range 200 {
		a, status := h.register(object{"capabilities": []any{"read_account"}})
		if status != http.StatusOK {
			w.want("one more", status, a.was, http.StatusTooManyRequests, "rate_limited")
			break
		}
		made++
		if status, out := w.post("/agent/revoke", h.jwt(nil), object{"agent_id": a.id}); status != http.StatusOK {
			t.Fatalf("revoke: %d %v", status, out)
		}
	}
	if made < 10 || made > 50 {
		t.Errorf("%d agents came and went at once", made)
	}
	c.pass(time.Minute)
	h.approved2(object{"capabilities": []any{"read_account"}})
}

// Each execute of a batch is a request.
func TestABatchIsAsManyRequests(t *testing.T) {
	w := visitorOpen(t, &venue.Options{Now: newClock().now})
	a := w.host().approved(object{"capabilities": []any{"read_account"}})
	const at = 50
	list := make([]any, at)
	for i := range list {
		list[i] = object{"capability": "read_account", "arguments": object{"path": "w/accounts/one"}}
	}
	limited := func() (n int) {
		t.Helper()
		status, out := w.post("/capability/batch-execute", a.jwt(nil), object{"requests": list})
		if status != http.StatusOK {
			t.Fatalf("a batch: %d %v", status, out)
		}
		for _, of := range out["responses"].([]any) {
			if failed, _ := of.(object)["error"].(object); failed["code"] == "rate_limited" {
				n++
			}
		}
		return n
	}
	for range burst - 2*at + 10 {
		if a.comes() {
			t.Fatal("it comes too often")
		}
	}
	if n := limited(); n > 0 {
		t.Errorf("%d of the first batch are too many", n)
	}
	if n := limited(); n != 10 {
		t.Errorf("%d of the second batch are too many, want 10", n)
	}
}

// Agents that nobody has approved come as often together as guests do, however many register; whom
// a person has approved they hold up in nothing.
func TestAgentsOfNobodyComeTogether(t *testing.T) {
	cfg, err := config.Parse("usher.yaml", []byte(settings+"auth: {guests: {requests: 20}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	w := visitorOpen(t, &venue.Options{Config: cfg, Now: newClock().now})
	approved := w.host().approved(object{"capabilities": []any{"read_account"}})
	read := object{"path": "w/accounts/one"}
	done, last := 0, ""
	for range 30 {
		a, status := w.host().register(object{"mode": "autonomous"})
		if status == http.StatusOK {
			done++
			status, _ = a.execute("read_account", read)
		}
		if done++; status == http.StatusTooManyRequests {
			last = "too many"
			break
		}
	}
	if last == "" || done > 21 {
		t.Errorf("%d requests of agents that nobody has approved were let in", done)
	}
	for range 30 {
		if status, out := approved.execute("read_account", read); status != http.StatusOK {
			t.Fatalf("whom a person has approved: %d %v", status, out)
		}
	}
}

// The streams of all agents of a host count together, by whichever keys.
func TestStreamsOfAHost(t *testing.T) {
	begun, on := make(chan struct{}, 8), make(chan struct{})
	waits := tools.New("test:wait", "Wait.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(ctx context.Context, _ tools.Call, _ struct{}) (string, error) {
			begun <- struct{}{}
			select {
			case <-on:
			case <-ctx.Done():
			}
			return "", nil
		}, tools.Within(caps.ScopeAbility("invoke")))
	text := strings.Replace(settings, "  capabilities:\n", "  capabilities:\n    - {name: wait, operation: 'test:wait', caps: [{with: w/, can: invoke}], answer: stream, default: true}\n", 1)
	cfg, err := config.Parse("usher.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	w := visitorOpen(t, &venue.Options{Config: cfg, Tools: []*tools.Operation{waits}})
	t.Cleanup(func() { close(on) })
	w.door.Streams.Most = 2
	h := w.host()
	a := h.approved(object{"capabilities": []any{"wait"}})
	follow := func(a *agent) (refused int) {
		t.Helper()
		ctx, leave := context.WithCancel(t.Context())
		over := make(chan int, 1)
		go func() {
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, w.server.URL+"/capability/execute", strings.NewReader(`{"capability":"wait"}`))
			r.Header.Set("Authorization", "Bearer "+a.jwt(nil))
			resp, err := w.server.Client().Do(r)
			if err != nil {
				over <- 0
				return
			}
			_ = resp.Body.Close()
			over <- resp.StatusCode
		}()
		select {
		case <-begun:
			t.Cleanup(func() { leave(); <-over })
		case refused = <-over:
			leave()
		}
		return refused
	}
	one := follow(a)
	next := visitorNewKey()
	if status, out := w.post("/agent/rotate-key", a.jwt(nil), object{"public_key": next.public}); status != http.StatusOK {
		t.Fatalf("rotate: %d %v", status, out)
	}
	a.key = next
	other := follow(a)
	fresh := visitorNewKey()
	if status, out := w.post("/host/rotate-key", h.jwt(nil), object{"public_key": fresh.public}); status != http.StatusOK {
		t.Fatalf("rotate the host: %d %v", status, out)
	}
	h.key = fresh
	b := h.approved2(object{"capabilities": []any{"wait"}})
	if third := follow(b); one != 0 || other != 0 || third != http.StatusTooManyRequests {
		t.Errorf("streams of a host: %d, %d by another key, and %d of another agent", one, other, third)
	}
	if of := follow(w.host().approved(object{"capabilities": []any{"wait"}})); of != 0 {
		t.Errorf("a stream of another host: %d", of)
	}
}
