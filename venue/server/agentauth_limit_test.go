package server_test

import (
	"crypto/rand"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"usher/ucan"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/face"
)

// few opens a world whose hosts may have five agents.
func few(t *testing.T, c *clock) *world {
	t.Helper()
	cfg, err := config.Parse("usher.yaml", []byte(strings.Replace(settings, "agents: 2000", "agents: 5", 1)))
	if err != nil {
		t.Fatal(err)
	}
	return visitorOpen(t, &venue.Options{Config: cfg, Now: c.now})
}

// A host has as many agents as it may, however many it registers at once; those that have
// ended, or that nobody can approve any more, count no more.
func TestAgentsOfAHost(t *testing.T) {
	c := newClock()
	w := few(t, c)
	h := w.host()
	first := h.approved(object{"capabilities": []any{"read_account"}})
	var more atomic.Int64
	fill := func(body object) (made []*agent) {
		t.Helper()
		list := make([]*agent, 40)
		more.Store(0)
		at(len(list), 20, func(i int) {
			a, status := h.register(body)
			if status == http.StatusOK {
				more.Add(1)
				list[i] = a
			} else if a.was["error"] != "agent_limit_reached" {
				t.Errorf("%d %v", status, a.was)
			}
		})
		for _, a := range list {
			if a != nil {
				made = append(made, a)
			}
		}
		return made
	}
	made := fill(object{"capabilities": []any{"read_account"}})
	if len(made) != 4 {
		t.Fatalf("%d agents beside the first, want 4", len(made))
	}
	for _, a := range []*agent{first, made[0]} {
		if status, out := w.post("/agent/revoke", h.jwt(nil), object{"agent_id": a.id}); status != http.StatusOK {
			t.Fatalf("revoke: %d %v", status, out)
		}
	}
	waiting := fill(object{"capabilities": []any{"write_account"}})
	if len(waiting) != 2 {
		t.Fatalf("%d agents in the place of two that were revoked", len(waiting))
	}
	c.pass(6 * time.Minute) // nobody can approve them any more
	if again := fill(object{"capabilities": []any{"write_account"}}); len(again) != 2 {
		t.Fatalf("%d agents in the place of two that nobody approved", len(again))
	}
	status, out := w.post("/agent/device/code", h.jwt(nil), object{"agent_id": waiting[0].id})
	w.want("another code for one that counts no more", status, out, http.StatusBadRequest, "agent_limit_reached")
	status, out = h.registerKey(waiting[0].key, object{"capabilities": []any{"write_account"}})
	w.want("the same registration again", status, out, http.StatusBadRequest, "agent_limit_reached")
	if status, out := made[1].execute("read_account", object{"path": "w/accounts/one"}); status != http.StatusOK {
		t.Errorf("one that is active: %d %v", status, out)
	}
}

// An agent that a person approved is remembered for thirty days after it has ended, and its key
// for good; what nobody approved goes within hours, also of a host of a person.
func TestEndedAgentsAreForgotten(t *testing.T) {
	c := newClock()
	w := few(t, c)
	h := w.host()
	kept, ended := h.approved(object{"capabilities": []any{"read_account"}}), h.approved(object{"capabilities": []any{"write_account"}})
	waiting, _ := h.register(object{"capabilities": []any{"write_account"}})
	if status, out := w.post("/agent/revoke", h.jwt(nil), object{"agent_id": ended.id}); status != http.StatusOK {
		t.Fatalf("revoke: %d %v", status, out)
	}
	look := func(a *agent) (int, object) { return w.get("/agent/status?agent_id="+a.id, h.jwt(nil)) }
	after := func(d time.Duration) {
		c.pass(d)
		for range 3 { // each looks at a few
			h.register(object{"capabilities": []any{"write_account"}})
			c.pass(6 * time.Minute)
		}
	}
	after(2 * time.Hour)
	status, out := look(waiting)
	w.want("what nobody approved", status, out, http.StatusNotFound, "agent_not_found")
	after(29 * 24 * time.Hour)
	if status, out := look(ended); status != http.StatusOK || out["status"] != "revoked" {
		t.Errorf("a revoked one after 29 days: %d %v", status, out)
	}
	after(24 * time.Hour)
	status, out = look(ended)
	w.want("a revoked one after 30 days", status, out, http.StatusNotFound, "agent_not_found")
	status, out = ended.execute("write_account", object{"path": "w/accounts/one", "value": 1})
	w.want("its execute", status, out, http.StatusUnauthorized, "invalid_jwt")
	status, out = h.registerKey(ended.key, object{"capabilities": []any{"read_account"}})
	w.want("its key", status, out, http.StatusConflict, "agent_exists")
	if status, out := look(kept); status != http.StatusOK || out["status"] != "expired" {
		t.Errorf("one that was not revoked: %d %v", status, out)
	}
}

// A host goes with the last of its agents, also where the younger one was revoked before.
func TestAStrangerGoesWithItsLastAgent(t *testing.T) {
	c := newClock()
	w := few(t, c)
	h := w.host()
	h.register(nil)
	c.pass(time.Second)
	younger, _ := h.register(nil)
	if status, out := w.post("/agent/revoke", h.jwt(nil), object{"agent_id": younger.id}); status != http.StatusOK {
		t.Fatalf("revoke: %d %v", status, out)
	}
	c.pass(strayed)
	for range 3 {
		if a, status := w.host().register(nil); status != http.StatusOK {
			t.Fatalf("a stranger registers: %d %v", status, a.was)
		}
	}
	rows, _, err := w.venue.Visitors().Store.PageKeys(t.Context(), "visit/", "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range rows {
		if strings.Contains(key, younger.id) || strings.Contains(key, younger.was["host_id"].(string)) {
			t.Errorf("%s stays", key)
		}
	}
}

// strayed is when nobody remembers what nobody approved.
const strayed = 61 * time.Minute

// Streams of agents that nobody approved count with those of guests.
func TestStreamsOfStrangers(t *testing.T) {
	cfg, err := config.Parse("usher.yaml", []byte(strings.Replace(settings, "capabilities: [read_account]}", "capabilities: [read_stream]}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	w := visitorOpen(t, &venue.Options{Config: cfg})
	for range 4 {
		key, err := ucan.NewKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		for range face.MaxStreams {
			if _, err := w.door.Streams.Begin(key.DID().String(), true); err != nil {
				t.Fatal(err)
			}
		}
	}
	stranger, _ := w.host().register(object{"mode": "autonomous"})
	status, out := stranger.execute("read_stream", object{"path": "w/accounts/one"})
	w.want("a stranger's", status, out, http.StatusTooManyRequests, "rate_limited")
	approved := w.host().approved(object{"capabilities": []any{"read_stream"}})
	if status, out := approved.execute("read_stream", object{"path": "w/accounts/one"}); status != http.StatusOK {
		t.Errorf("of whom a person approved: %d %v", status, out)
	}
}

// Keys of whom nobody answers for are nobody's once they are replaced, come as slowly as
// strangers do, and go with their agents, also where the host was revoked.
func TestStrangersFillNoKeys(t *testing.T) {
	c := newClock()
	w := openURLs(t, c)
	h, first, second := w.host(), visitorNewKey(), visitorNewKey()
	keys := newKeysAt(t, first)
	status, out := w.post("/agent/register", h.jwt(object{"host_public_key": h.key.public, "agent_jwks_url": keys.URL, "agent_kid": first.thumb}), object{"name": "Bot", "mode": "autonomous"})
	if status != http.StatusOK {
		t.Fatalf("register: %d %v", status, out)
	}
	a := &agent{h, out["agent_id"].(string), second, out}
	keys.serve(second)
	c.pass(10 * time.Minute)
	if status, out := a.execute("read_account", object{"path": "w/accounts/one"}); status != http.StatusOK {
		t.Fatalf("by the second key: %d %v", status, out)
	}
	var limited bool
	for range 300 {
		next := visitorNewKey()
		status, out := w.post("/host/rotate-key", h.jwt(nil), object{"public_key": next.public})
		if limited = status == http.StatusTooManyRequests; limited {
			break
		}
		if status != http.StatusOK {
			t.Fatalf("rotate: %d %v", status, out)
		}
		old := h.key
		h.key = next
		if status, _ := w.get("/agent/status?agent_id="+a.id, w.sign(old, "host+jwt", object{"iss": out["host_id"]})); status != http.StatusUnauthorized {
			t.Fatalf("the old key: %d", status)
		}
	}
	if !limited {
		t.Error("a stranger rotates its key as often as it likes")
	}
	c.pass(time.Minute)
	if status, out := w.post("/agent/rotate-key", h.jwt(nil), object{"agent_id": a.id, "public_key": visitorNewKey().public}); status != http.StatusOK {
		t.Fatalf("rotate the agent's: %d %v", status, out)
	}
	if status, out := w.post("/host/revoke", h.jwt(nil), nil); status != http.StatusOK {
		t.Fatalf("revoke: %d %v", status, out)
	}
	id := out["host_id"].(string)
	c.pass(26 * time.Hour)
	for range 3 {
		w.host().register(nil)
	}
	store := w.venue.Visitors().Store
	for from := ""; ; {
		rows, next, err := store.Page(t.Context(), "visit/", from, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if all := row.Key + " " + string(row.Value); strings.Contains(all, id) || strings.Contains(all, a.id) {
				t.Errorf("%.200s stays", all)
			}
		}
		if from = next; next == "" {
			break
		}
	}
}
