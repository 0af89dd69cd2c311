package agentauth_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"usher/venue"
	"usher/venue/config"
)

// A key that an agent took from its URL is its own for good: nobody else comes with it, and the
// agent does not come with one that is another's.
func TestKeysFromURLsAreMarked(t *testing.T) {
	cfg, err := config.Parse("usher.yaml", []byte(settings+"  allow_private: true\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := newClock()
	w := open(t, &venue.Options{Config: cfg, Now: c.now})
	var served atomic.Pointer[[]object]
	keys := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(out).Encode(object{"keys": *served.Load()})
	}))
	t.Cleanup(keys.Close)
	serve := func(list ...*key) {
		var set []object
		for _, k := range list {
			set = append(set, object{"kty": "OKP", "crv": "Ed25519", "x": k.public["x"], "kid": k.thumb})
		}
		served.Store(&set)
	}
	h, first, second := w.host(), newKey(), newKey()
	other := h.approved(nil)
	serve(first)
	status, out := w.post("/agent/register", h.jwt(object{"host_public_key": h.key.public, "agent_jwks_url": keys.URL, "agent_kid": first.thumb}),
		object{"name": "Bot", "capabilities": []any{"read_account"}})
	if status != http.StatusOK || out["status"] != "active" {
		t.Fatalf("register: %d %v", status, out)
	}
	a := &agent{h, out["agent_id"].(string), first, out}
	read := func() (int, object) { return a.execute("read_account", object{"path": "w/accounts/one"}) }

	serve(second, other.key)
	c.pass(10 * time.Minute)
	a.key = other.key
	status, out = read()
	w.want("by another agent's key", status, out, http.StatusUnauthorized, "invalid_jwt")
	a.key = second
	if status, out := read(); status != http.StatusOK {
		t.Fatalf("by the second key: %d %v", status, out)
	}
	status, out = w.host().registerKey(second, nil)
	w.want("somebody else comes with it", status, out, http.StatusConflict, "agent_exists")
	keys.Close()
	c.pass(10 * time.Minute)
	if status, out := read(); status != http.StatusOK {
		t.Errorf("it was kept: %d %v", status, out)
	}
}
