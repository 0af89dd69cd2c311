package server_test

import (
	"net/http"
	"testing"

	"usher/venue"
)

// Other codes for agents that nobody answers for count with the registrations of strangers; a
// host of a person is not held up by them.
func TestCodesOfStrangers(t *testing.T) {
	c := newClock()
	w := visitorOpen(t, &venue.Options{Now: c.now})
	known := w.host()
	known.approved(object{"capabilities": []any{"read_account"}})
	waits, _ := known.register(object{"capabilities": []any{"write_account"}})
	h := w.host()
	a, _ := h.register(object{"capabilities": []any{"read_account"}})
	status, out := http.StatusOK, object{}
	for n := 0; status == http.StatusOK && n < 1000; n++ {
		status, out = w.post("/agent/device/code", h.jwt(nil), object{"agent_id": a.id})
	}
	w.want("a stranger's", status, out, 429, "rate_limited")
	status, out = w.host().registerKey(visitorNewKey(), nil)
	w.want("another stranger's registration", status, out, 429, "rate_limited")
	if status, out = w.post("/agent/device/code", known.jwt(nil), object{"agent_id": waits.id}); status != http.StatusOK {
		t.Errorf("a known host's: %d %v", status, out)
	}
}
