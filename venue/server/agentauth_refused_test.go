package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"usher/venue"
)

// noted is a row of the face in the ledger.
type visitorNoted struct {
	Call, Host, Agent, User, Capability, JTI, Item, Result, Detail string
	Refused                                                        bool
	Count                                                          int
}

// noted lists the rows of the face that fit.
func (w *world) noted(fits func(*visitorNoted) bool) (list []visitorNoted) {
	w.Helper()
	for row, err := range w.venue.Audit(w.Context(), 0) {
		if err != nil {
			w.Fatal(err)
		}
		var n visitorNoted
		if row.Note != "agent-auth" {
			continue
		}
		if err := json.Unmarshal(row.Detail, &n); err != nil {
			w.Fatal(err)
		}
		if fits(&n) {
			list = append(list, n)
		}
	}
	return list
}

// Each refusal of an agent that a person answers for has a row that names it, and each item
// of a batch has one.
func TestRefusalsHaveRows(t *testing.T) {
	c := newClock()
	w := visitorOpen(t, &venue.Options{Now: c.now})
	h := w.host()
	a := h.approved(object{"capabilities": []any{"write_account"}}, object{"name": "write_account", "constraints": object{"value": object{"max": 10}}})
	over := object{"path": "w/accounts/one", "value": 11}
	now := w.now().Unix()
	twice := a.jwt(object{"jti": "twice"})
	for _, test := range []struct {
		name, token, capability, result string
	}{
		{"beyond the limits", a.jwt(object{"jti": "over"}), "write_account", "constraint_violated"},
		{"beyond the limits again", a.jwt(object{"jti": "over again"}), "write_account", "constraint_violated"},
		{"not granted", a.jwt(object{"jti": "more"}), "read_account", "capability_not_granted"},
		{"left out by the claim", a.jwt(object{"jti": "claim", "capabilities": []any{}}), "write_account", "capability_not_granted"},
		{"another audience", a.jwt(object{"jti": "aud", "aud": "https://bank.example.org"}), "", "invalid_jwt"},
		{"bound to another method", a.jwt(object{"jti": "htm", "htm": "GET"}), "", "request_binding_mismatch"},
		{"the first time", twice, "write_account", "constraint_violated"},
		{"seen before", twice, "", "jti_replay"},
	} {
		w.post("/capability/execute", test.token, object{"capability": test.capability, "arguments": over})
		rows := w.noted(func(n *visitorNoted) bool {
			return n.Call == "execute" && n.Agent == a.id && n.Result == test.result && n.Capability == test.capability && n.User != "" && n.Host != ""
		})
		if len(rows) == 0 {
			t.Errorf("%s: no row says %s", test.name, test.result)
		}
	}
	expired := a.jwt(object{"jti": "old", "iat": now - 120, "exp": now - 60})
	w.post("/capability/execute", expired, object{"capability": "write_account"})
	if rows := w.noted(func(n *visitorNoted) bool { return n.JTI == "aud" || n.JTI == "old" }); len(rows) != 1 {
		t.Errorf("of JWTs that are not valid the first of the minute is named: %v", rows)
	}
	w.post("/capability/batch-execute", a.jwt(object{"jti": "batch"}), object{"requests": []any{
		object{"id": "a", "capability": "write_account", "arguments": over},
		object{"id": "b", "capability": "read_account"},
		object{"id": "c", "capability": "write_account", "arguments": object{"path": "w/accounts/one", "value": 1}},
	}})
	items := map[string]string{}
	for _, n := range w.noted(func(n *visitorNoted) bool { return n.JTI == "batch" }) {
		items[n.Item] = n.Capability + " " + n.Result
	}
	if items[`[0,"a"]`] != "write_account constraint_violated" || items[`[1,"b"]`] != "read_account capability_not_granted" || items[`[2,"c"]`] != "write_account ok" {
		t.Errorf("items: %v", items)
	}
	waits, _ := h.register(object{"capabilities": []any{"careful_write"}})
	c.pass(6 * time.Minute)
	w.alice.answer(object{"agent_id": waits.id, "user_code": code(waits.was), "action": "approve"})
	if rows := w.noted(func(n *visitorNoted) bool {
		return n.Call == "approve" && n.Result == "approval_expired" && n.User != ""
	}); len(rows) != 1 || !rows[0].Refused || rows[0].Detail == "" {
		t.Errorf("what a person is refused has the rows %v", rows)
	}
}

// A row is short, whatever the refused call names.
func TestRowsAreShort(t *testing.T) {
	w := visitorOpen(t, nil)
	a := w.host().approved(nil)
	long := strings.Repeat("x", 1<<20)
	a.execute(long, nil)
	w.post("/capability/batch-execute", a.jwt(nil), object{"requests": []any{object{"id": long, "capability": long}}})
	w.get("/agent/status", a.jwt(object{"jti": long[:8<<10]}))
	w.post("/agent/revoke-capability", a.jwt(nil), object{"capabilities": []any{"read_account", long[:32<<10]}})
	rows := w.noted(func(n *visitorNoted) bool { return n.Agent == a.id })
	if len(rows) < 5 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, n := range rows {
		if size := len(n.Capability) + len(n.JTI) + len(n.Item) + len(n.Detail); size > 2<<10 {
			t.Errorf("the row of %s (%s) has %d bytes", n.Call, n.Result, size)
		}
	}
}

// Strangers have few rows a minute, and none of their refusals is lost.
func TestStrangersFillNoLedger(t *testing.T) {
	w := visitorOpen(t, nil)
	isRefusal := func(n *visitorNoted) bool {
		return n.Count > 0 || n.Result == "invalid_jwt" || n.Result == "unauthorized" || n.Result == "agent_pending"
	}
	const each = 100
	waits, _ := w.host().register(object{"capabilities": []any{"read_account"}})
	for range each {
		w.post("/capability/execute", "no JWT", nil)
		w.get("/agent/status", "")
		waits.execute("read_account", nil)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	w.venue.Visitors().Run(ended)
	rows, total := w.noted(isRefusal), 0
	for _, n := range rows {
		total += max(n.Count, 1)
	}
	if len(rows) > 20 || total != 3*each {
		t.Errorf("%d rows of %d refusals, want few of %d: %v", len(rows), total, 3*each, rows)
	}
}
