package server_test

import (
	"crypto/rand"
	"net/http"
	"testing"
	"time"

	"usher/ucan"
)

// An agent that came in is somebody in the venue by its key: what it was granted it may do by
// REST too, and what a person delegates to it beside; nothing else, and nothing once it ends.
func TestWorkForWhoCameIn(t *testing.T) {
	w := openWire(t)
	w.active("read_note")
	key, err := ucan.KeyFromSeed(w.agentKey.Seed())
	if err != nil {
		t.Fatal(err)
	}
	issuer := ucan.Issuer{Key: key, Verifier: &ucan.Verifier{Now: w.now}, Rand: rand.Reader}
	identity, err := issuer.Identity(w.v.DID(), w.now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	alice, err := w.v.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"w/notes/a", "w/tasks/a", "w/secret"} {
		if _, err := alice.Invoke(t.Context(), "covia:write", object{"path": path, "value": "hers"}); err != nil {
			t.Fatal(err)
		}
	}
	call := func(operation, path string) visitorReply {
		in := object{"path": alice.DID().String() + "/" + path}
		if operation == "covia:write" {
			in["value"] = "its own"
		}
		return w.send("POST /api/v1/invoke", identity.Text(), object{"operation": operation, "input": in, "wait": true})
	}
	want := func(when, operation, path string, allowed bool) {
		t.Helper()
		if r := call(operation, path); (r.status == http.StatusOK) != allowed || !allowed && r.status != http.StatusForbidden {
			t.Errorf("%s, %s of %s: %d %s", when, operation, path, r.status, r.text)
		}
	}
	want("granted", "covia:read", "w/notes/a", true)
	want("granted", "covia:write", "w/notes/a", false)
	want("granted", "covia:read", "w/secret", false)
	want("granted", "covia:write", "w/tasks/a", false)
	if _, err := alice.Invoke(t.Context(), "ucan:issue", object{
		"audience": key.DID(), "attenuations": []any{object{"with": alice.DID().String() + "/w/tasks", "can": "crud"}}, "exp": w.now().Add(time.Hour).Unix(),
	}); err != nil {
		t.Fatal(err)
	}
	want("given work", "covia:write", "w/tasks/a", true)
	want("given work", "covia:write", "w/notes/a", false)
	w.must(w.send("POST /agent/revoke", w.asHost(), object{"agent_id": w.agent}))
	want("revoked", "covia:read", "w/notes/a", false)
}
