package server_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"usher/venue"
	"usher/venue/care"
)

// restoredAt is the world at a moment, in a folder of its own.
func (w *world) restoredAt(dir string, moment time.Time) *world {
	w.Helper()
	w.server.Close()
	if err := w.venue.Close(); err != nil {
		w.Fatal(err)
	}
	file, to := filepath.Join(w.TempDir(), "backup"), filepath.Join(w.TempDir(), "restored")
	if _, _, err := care.Backup(w.Context(), dir, file, care.Lock{Plain: true}, nil); err != nil {
		w.Fatal(err)
	}
	in, err := os.Open(file)
	if err != nil {
		w.Fatal(err)
	}
	defer in.Close()
	if _, err := care.Restore(w.Context(), in, care.Key{}, to, moment, nil); err != nil {
		w.Fatal(err)
	}
	return visitorOpen(w, &venue.Options{Dir: to})
}

// What has ended by a person's word, or was replaced, is not there again in a folder that is taken
// back to a moment before; all else is as it was.
func TestRestoredHasNothingThatEnded(t *testing.T) {
	dir := t.TempDir()
	w := visitorOpen(t, &venue.Options{Dir: dir})
	wants := object{"capabilities": []any{"read_account"}}
	h := map[string]*visitorHost{}
	a := map[string]*agent{}
	for _, name := range []string{"stays", "its host is revoked", "is revoked", "has another key", "its host has another key", "is denied"} {
		h[name] = w.host()
		if name == "is denied" {
			a[name], _ = h[name].register(wants)
			continue
		}
		a[name] = h[name].approved(wants)
	}
	moment := time.Now()
	must := func(status int, out object) {
		t.Helper()
		if status != 200 {
			t.Fatalf("%d %v", status, out)
		}
	}
	must(w.post("/host/revoke", h["its host is revoked"].jwt(nil), object{}))
	must(w.post("/agent/revoke", h["is revoked"].jwt(nil), object{"agent_id": a["is revoked"].id}))
	next, nextHost := visitorNewKey(), visitorNewKey()
	must(w.post("/agent/rotate-key", h["has another key"].jwt(nil), object{"agent_id": a["has another key"].id, "public_key": next.public}))
	must(w.post("/host/rotate-key", h["its host has another key"].jwt(nil), object{"public_key": nextHost.public}))
	must(w.alice.answer(object{"agent_id": a["is denied"].id, "user_code": code(a["is denied"].was), "action": "deny"}))
	late := w.host()
	late.approved(wants)
	must(w.post("/host/revoke", late.jwt(nil), object{}))
	unknown := w.host()
	unknown.approved(wants)

	w = w.restoredAt(dir, moment)
	for name, of := range h {
		of.w, a[name].w = w, w
	}
	late.w, unknown.w = w, w
	status, out := w.get("/agent/status?agent_id="+a["stays"].id, unknown.jwt(nil))
	w.want("a host that came later", status, out, 401, "invalid_jwt")
	status, out = w.get("/agent/status", a["stays"].jwt(nil))
	w.want("stays", status, out, 200, "")
	status, out = a["stays"].execute("read_account", object{"path": "w/accounts/one"})
	w.want("stays", status, out, 200, "")
	for _, of := range []*visitorHost{h["its host is revoked"], late} {
		_, status := of.register(wants)
		if status != 403 {
			t.Errorf("a host that was revoked registers again: %d", status)
		}
	}
	for _, name := range []string{"its host is revoked", "is revoked"} {
		status, out = a[name].execute("read_account", object{"path": "w/accounts/one"})
		w.want(name, status, out, 403, "agent_revoked")
	}
	status, out = w.get("/agent/status", a["has another key"].jwt(nil))
	w.want("by the key before", status, out, 401, "invalid_jwt")
	status, out = w.get("/agent/status", w.sign(next, "agent+jwt", object{"sub": a["has another key"].id}))
	w.want("by the next key", status, out, 200, "")
	if _, status := h["its host has another key"].register(wants); status != 401 {
		t.Errorf("a host registers by the key before: %d", status)
	}
	h["its host has another key"].key = nextHost
	if _, status := h["its host has another key"].register(wants); status != 200 {
		t.Errorf("a host does not register by its next key: %d", status)
	}
	status, out = w.get("/agent/status?agent_id="+a["is denied"].id, h["is denied"].jwt(nil))
	if w.want("is denied", status, out, 200, ""); out["status"] != "rejected" {
		t.Errorf("an agent that was denied is %v", out["status"])
	}
}
