package server_test

import (
	"net/http"
	"testing"
)

// Who registers has no call of anybody's decided again; what is changed of somebody who is
// there, has.
func TestRegistrationsLeaveTheEpoch(t *testing.T) {
	w := visitorOpen(t, nil)
	h := w.host()
	h.approved(object{"capabilities": []any{"read_account"}})
	room := w.venue.Visitors()
	steps := []struct {
		name  string
		moves bool
		do    func() (status int)
	}{
		{"a stranger registers", false, func() int { _, status := w.host().register(nil); return status }},
		{"an autonomous agent registers", false, func() int {
			a, status := w.host().register(object{"mode": "autonomous"})
			if status, out := a.execute("read_account", object{"path": "w/accounts/one"}); status != http.StatusOK {
				t.Errorf("it executes: %d %v", status, out)
			}
			return status
		}},
		{"an approved host's agent registers", false, func() int {
			_, status := h.register(object{"capabilities": []any{"read_account"}})
			return status
		}},
		{"a person approves", true, func() int { w.host().approved(nil); return http.StatusOK }},
		{"what waits gets another code", false, func() int {
			other := w.host()
			a, _ := other.register(object{"capabilities": []any{"read_account"}})
			status, _ := w.post("/agent/device/code", other.jwt(nil), object{"agent_id": a.id})
			return status
		}},
		{"a person claims", true, func() int {
			other := w.host()
			a, _ := other.register(object{"mode": "autonomous"})
			_, out := w.post("/agent/claim", other.jwt(nil), object{"agent_id": a.id})
			status, _ := w.alice.answer(object{"agent_id": a.id, "user_code": code(out), "action": "approve"})
			return status
		}},
		{"a host is revoked", true, func() int {
			status, _ := w.post("/host/revoke", h.jwt(nil), nil)
			return status
		}},
	}
	for _, step := range steps {
		before := room.Epoch()
		if status := step.do(); status != http.StatusOK {
			t.Errorf("%s: %d", step.name, status)
		}
		if moved := room.Epoch() != before; moved != step.moves {
			t.Errorf("%s: the epoch moved: %v, want %v", step.name, moved, step.moves)
		}
	}
}
