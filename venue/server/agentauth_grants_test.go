package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"usher/venue"
)

// granted is what a person has approved of an agent, as a slow twin keeps it: of each
// capability the highest values that its grants allow.
type granted struct {
	*agent
	limits map[string][]int
	asks   map[string]int
	code   string
	ended  bool
}

// unlimited is the highest value of a grant without constraints.
const unlimited = 1 << 30

func (g *granted) allows(capability string, value int) bool {
	for _, most := range g.limits[capability] {
		if value <= most {
			return true
		}
	}
	return false
}

func wanted(asks map[string]int) []any {
	list := []any{}
	for name, most := range asks {
		if most == unlimited {
			list = append(list, name)
			continue
		}
		list = append(list, object{"name": name, "constraints": object{"value": object{"max": most}}})
	}
	return list
}

var most = []int{1, 5, 10, unlimited}

// No order of requests, approvals, registrations, rotations, revocations and executes leaves an
// agent with more than the approvals gave, and what the claim of a token leaves out is never
// executed.
func TestGrantsAreApprovals(t *testing.T) {
	c := newClock()
	w := visitorOpen(t, &venue.Options{Now: c.now})
	names := []string{"write_account", "write_again"}
	rapid.Check(t, func(t *rapid.T) {
		h := w.host()
		var all []*granted
		draw := func() map[string]int {
			asks := map[string]int{}
			for _, name := range names {
				if rapid.Bool().Draw(t, "ask "+name) {
					asks[name] = rapid.SampledFrom(most).Draw(t, "most")
				}
			}
			return asks
		}
		pick := func(t *rapid.T) *granted {
			if len(all) == 0 {
				t.Skip("no agent")
			}
			return rapid.SampledFrom(all).Draw(t, "agent")
		}
		check := func(status int, out object, want ...int) {
			for _, s := range want {
				if s == status {
					return
				}
			}
			t.Fatalf("%d %v, want %v", status, out, want)
		}
		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				if len(all) == 2 {
					t.Skip("two are enough")
				}
				asks := draw()
				c.pass(time.Second) // strangers come slowly
				a, status := h.register(object{"capabilities": append(wanted(asks), "read_account")})
				check(status, a.was, http.StatusOK)
				g := &granted{agent: a, limits: map[string][]int{}, asks: asks, code: code(a.was)}
				all = append(all, g)
			},
			"register again": func(t *rapid.T) {
				g, asks := pick(t), draw()
				c.pass(time.Second)
				status, out := h.registerKey(g.key, object{"capabilities": append(wanted(asks), "read_account")})
				if check(status, out, http.StatusOK, http.StatusConflict); status == http.StatusOK {
					g.asks, g.code = asks, code(out)
				}
			},
			"ask": func(t *rapid.T) {
				g, asks := pick(t), draw()
				if len(asks) == 0 {
					t.Skip("nothing")
				}
				status, out := w.post("/agent/request-capability", g.jwt(nil), object{"capabilities": wanted(asks)})
				if check(status, out, http.StatusOK, http.StatusConflict, http.StatusForbidden); status == http.StatusOK {
					g.code, g.asks = code(out), map[string]int{}
					for _, one := range out["agent_capability_grants"].([]any) {
						name, _ := one.(object)["capability"].(string)
						g.asks[name] = asks[name]
					}
				}
			},
			"approve": func(t *rapid.T) {
				g := pick(t)
				if g.code == "" {
					t.Skip("nothing waits")
				}
				list, approved := []any{}, map[string]int{}
				for name, asked := range g.asks {
					if rapid.Bool().Draw(t, "approve "+name) {
						less := rapid.SampledFrom(most).Draw(t, "less")
						list = append(list, wanted(map[string]int{name: less})...)
						approved[name] = min(asked, less)
					}
				}
				status, out := w.alice.answer(object{"user_code": g.code, "action": "approve", "capabilities": list})
				if len(list) == 0 && status == http.StatusBadRequest { // nothing is no approval, and it still waits
					return
				}
				if check(status, out, http.StatusOK, http.StatusPreconditionFailed); status == http.StatusOK {
					for name, limit := range approved {
						g.limits[name] = append(g.limits[name], limit)
					}
				}
				g.code = ""
			},
			"deny": func(t *rapid.T) {
				g := pick(t)
				if g.code == "" {
					t.Skip("nothing waits")
				}
				status, out := w.alice.answer(object{"user_code": g.code, "action": "deny"})
				check(status, out, http.StatusOK)
				g.code = ""
			},
			"rotate": func(t *rapid.T) {
				g, next := pick(t), visitorNewKey()
				c.pass(time.Second)
				status, out := w.post("/agent/rotate-key", h.jwt(nil), object{"agent_id": g.id, "public_key": next.public})
				if check(status, out, http.StatusOK, http.StatusForbidden); status == http.StatusOK {
					g.key = next
				}
			},
			"revoke a capability": func(t *rapid.T) {
				g, name := pick(t), rapid.SampledFrom(names).Draw(t, "name")
				status, out := w.post("/agent/revoke-capability", h.jwt(nil), object{"agent_id": g.id, "capabilities": []any{name}})
				check(status, out, http.StatusOK)
				delete(g.limits, name)
				delete(g.asks, name)
			},
			"revoke": func(t *rapid.T) {
				if g := pick(t); rapid.IntRange(0, 7).Draw(t, "really") == 0 {
					status, out := w.post("/agent/revoke", h.jwt(nil), object{"agent_id": g.id})
					check(status, out, http.StatusOK)
					g.limits, g.asks, g.code, g.ended = map[string][]int{}, map[string]int{}, "", true
				}
			},
			"": func(t *rapid.T) { // an execute after each step
				c.pass(100 * time.Millisecond) // those of nobody come as slowly as guests
				if len(all) == 0 {
					return
				}
				g, name, value := pick(t), rapid.SampledFrom(names).Draw(t, "name"), rapid.SampledFrom([]int{0, 1, 3, 7, 99}).Draw(t, "value")
				claims, let := object{}, true
				if rapid.Bool().Draw(t, "claims") {
					other := rapid.SampledFrom(append(names, "read_account")).Draw(t, "claimed")
					claims["capabilities"], let = []any{other}, other == name
				}
				body := object{"capability": name, "arguments": object{"path": "w/accounts/one", "value": value}}
				status, out := w.post("/capability/execute", g.jwt(claims), body)
				if ok := status == http.StatusOK; ok != (let && g.allows(name, value)) {
					t.Fatalf("execute %s %d with %v: %d %v; the approvals gave %v", name, value, claims, status, out, fmt.Sprint(g.limits))
				}
			},
		})
	})
}
