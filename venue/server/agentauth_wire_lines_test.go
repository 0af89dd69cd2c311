package server_test

import (
	_ "embed"
	"slices"
	"strings"
	"testing"
)

//go:embed testdata/wire/lines.txt
var visitorLines string

// Each line on which the sources differ, and each fault of the reference, is a row of the
// table.
func TestLines(t *testing.T) {
	all := rows(t)
	for line := range strings.Lines(visitorLines) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "|")
		if len(f) != 3 {
			t.Fatalf("%q is no line", line)
		}
		request, name := strings.TrimSpace(f[1]), strings.TrimSpace(f[2])
		if !slices.ContainsFunc(all, func(r row) bool { return r.request == request && r.name == name }) {
			t.Errorf("%s: the table has no row %s, %s", strings.TrimSpace(f[0]), request, name)
		}
	}
}

// A JWT that was used somewhere is refused everywhere, whatever it was used for.
func TestReplayEverywhere(t *testing.T) {
	w := openWire(t)
	w.active()
	host, agent := w.asHost(), w.asAgent()
	w.must(w.send("GET /agent/status?agent_id="+w.agent, host, nil))
	w.must(w.send("GET /agent/status", agent, nil))
	for _, request := range []string{
		"POST /agent/register", "POST /agent/request-capability", "GET /agent/status", "POST /agent/reactivate", "POST /agent/revoke", "POST /agent/claim", "POST /agent/device/code",
		"POST /agent/revoke-capability", "POST /agent/rotate-key", "POST /host/rotate-key", "POST /host/revoke",
		"GET /capability/list", "GET /capability/describe?name=transfer", "POST /capability/execute", "POST /capability/batch-execute", "GET /capability/status/x",
	} {
		body := any(object{"agent_id": w.agent, "name": "Bot", "capability": "transfer", "capabilities": []string{"transfer"}})
		if strings.HasPrefix(request, "GET") {
			body = nil
		}
		for who, token := range map[string]string{"host": host, "agent": agent} {
			want := "jti_replay"
			if who == "agent" && request == "POST /agent/register" {
				want = "invalid_jwt" // of a type that is not for it
			}
			if r := w.send(request, token, body); r.status != 401 || r.code != want {
				t.Errorf("%s by the %s again: %d %s, want %s", request, who, r.status, r.text, want)
			}
		}
	}
	if got := w.standing(); got != "active" {
		t.Errorf("afterwards the agent is %s", got)
	}
}
