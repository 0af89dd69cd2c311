package server_test

import (
	"crypto/ed25519"
	"encoding/json"
	"testing"
	"time"

	"usher/venue"
	"usher/venue/visitors"
)

// BenchmarkAdmit is what comes before the gate with each execute: the JWT, the replay check, the
// grant and the constraints. It has to cost at most twice what the other does.
func BenchmarkAdmit(b *testing.B) {
	b.Run("one Ed25519 verification", func(b *testing.B) {
		k := visitorNewKey()
		pub, text := k.private.Public().(ed25519.PublicKey), make([]byte, 400)
		sum := ed25519.Sign(k.private, text)
		for b.Loop() {
			if !ed25519.Verify(pub, text, sum) {
				b.Fatal("it does not hold")
			}
		}
	})
	b.Run("an execute", func(b *testing.B) {
		c := newClock()
		w := visitorOpen(b, &venue.Options{Now: c.now})
		a := w.host().approved(object{"capabilities": []any{object{"name": "write_account", "constraints": object{"value": object{"max": 10}}}}})
		room, args := w.venue.Visitors(), json.RawMessage(`{"path":"w/accounts/one","value":9}`)
		for b.Loop() {
			b.StopTimer()
			c.pass(10 * time.Millisecond) // no flood
			req := &visitors.Request{Token: a.jwt(nil), Audiences: []string{w.server.URL}, Method: "POST", URL: w.server.URL + "/capability/execute"}
			b.StartTimer()
			by, err := room.ActiveAgent(b.Context(), req)
			if err == nil {
				_, err = room.Execution(b.Context(), by, "write_account", args)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
