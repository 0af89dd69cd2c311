package server_test

import (
	"net/http"
	"strings"
	"testing"

	"usher/venue"
	"usher/venue/config"
)

// A JWT that was used is used when the venue is opened again, and agents go on.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	w := visitorOpen(t, &venue.Options{Dir: dir})
	a := w.host().approved(object{"capabilities": []any{"read_account"}})
	aud := "http://127.0.0.1:1"
	token := a.jwt(object{"aud": []any{w.server.URL, aud}})
	if status, out := w.get("/agent/status", token); status != http.StatusOK {
		t.Fatalf("%d %v", status, out)
	}
	w.server.Close()
	if err := w.venue.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("usher.yaml", []byte(strings.Replace(settings, "agentauth:\n", "agentauth:\n  issuer: "+aud+"\n", 1)))
	if err != nil {
		t.Fatal(err)
	}
	again := visitorOpen(t, &venue.Options{Dir: dir, Config: c})
	status, out := again.get("/agent/status", token)
	again.want("a JWT after a restart", status, out, 401, "jti_replay")
	token = again.sign(a.key, "agent+jwt", object{"sub": a.id, "aud": aud})
	if status, out := again.post("/capability/execute", token, object{"capability": "read_account", "arguments": object{"path": "w/accounts/one"}}); status != http.StatusOK {
		t.Errorf("an execute after a restart: %d %v", status, out)
	}
}
