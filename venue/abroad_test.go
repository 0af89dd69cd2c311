package venue_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"usher/venue"
	"usher/venue/config"
	"usher/venue/server"
)

const shopConfig = `
name: Shop
agentauth:
  capabilities:
    - {name: read_note, operation: covia:read, caps: [{with: w/notes, can: crud/read}], public: true}
    - {name: slow_note, operation: covia:read, caps: [{with: w/notes, can: crud/read}], answer: async}
    - {name: elsewhere, operation: covia:read, caps: [{with: w/notes, can: crud/read}], location: https://bank.example/execute}
`

// shop is a venue that lets agents in, and home one whose agents go there.
type shop struct {
	*testing.T
	url, host string
	alice     string // token of a person of the shop
	home      *venue.User
}

func openShop(t *testing.T, private bool) *shop {
	t.Helper()
	open := func(yaml string) *venue.Venue {
		cfg, err := config.Parse("usher.yaml", []byte(yaml))
		if err != nil {
			t.Fatal(err)
		}
		v, err := venue.Open(t.Context(), &venue.Options{Config: cfg})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		})
		return v
	}
	there := open(shopConfig)
	port, err := server.New(there, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(port)
	t.Cleanup(h.Close)
	s := &shop{T: t, url: h.URL, host: strings.TrimPrefix(h.URL, "http://")}
	alice, err := there.User(t.Context(), "alice")
	if err == nil {
		s.alice, err = there.Session(t.Context(), alice, time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	yaml := "name: Home\n"
	if private {
		yaml += "agentauth: {private_servers: ['" + s.host + "']}\n"
	}
	if s.home, err = open(yaml).User(t.Context(), "owner"); err != nil {
		t.Fatal(err)
	}
	return s
}

// calls calls an operation at the shop as the owner.
func (s *shop) calls(operation, more string) (map[string]any, error) {
	s.Helper()
	raw, err := s.home.Invoke(s.Context(), "agentauth:"+operation, json.RawMessage(`{"server":"`+s.url+`"`+more+`}`))
	var out map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	return out, err
}

func (s *shop) must(operation, more string) map[string]any {
	s.Helper()
	out, err := s.calls(operation, more)
	if err != nil {
		s.Fatalf("agentauth:%s: %v", operation, err)
	}
	return out
}

// approves has alice approve what a registration says.
func (s *shop) approves(standing map[string]any) {
	s.Helper()
	approval, _ := standing["approval"].(map[string]any)
	raw, err := json.Marshal(map[string]any{"agent_id": standing["agent_id"], "user_code": approval["user_code"], "action": "approve"})
	if err != nil {
		s.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url+"/agent/approve-capability", strings.NewReader(string(raw)))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.alice)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		s.Fatalf("alice is answered %s", res.Status)
	}
}

// An agent elsewhere has one registration, by keys that change when it says so, and none
// once it has ended.
func TestAbroad(t *testing.T) {
	s := openShop(t, true)
	if _, err := s.calls("execute", `,"capability":"read_note"`); err == nil || !strings.Contains(err.Error(), "call agentauth:register first") {
		t.Errorf("execute before anything else: %v", err)
	}
	const wanted = `,"capabilities":[{"name":"read_note"},{"name":"slow_note"},{"name":"elsewhere"}]`
	first := s.must("register", wanted)
	second := s.must("register", wanted)
	if first["agent_id"] != second["agent_id"] || second["status"] != "pending" {
		t.Errorf("registered twice: %v, then %v", first, second)
	}
	s.approves(second)
	note := `,"capability":"read_note","arguments":{"path":"w/notes/a"}`
	s.must("execute", note)
	if st := s.must("rotate", ""); st["status"] != "active" {
		t.Errorf("rotated: %v", st)
	}
	s.must("execute", note)
	slow := s.must("execute", `,"capability":"slow_note","arguments":{"path":"w/notes/a"}`)
	if slow["status"] != "completed" || !strings.HasPrefix(slow["from"].(string), "Agent-Auth server "+s.host+", in its own words") {
		t.Errorf("what takes long: %v", slow)
	}
	if _, err := s.calls("execute", `,"capability":"read_note","arguments":{"path":"w/secret"}`); err == nil || !strings.Contains(err.Error(), "403 capability_denied") {
		t.Errorf("beyond what was granted: %v", err)
	}
	if _, err := s.calls("poll", `,"capability":"slow_note","statusUrl":"https://evil.example/x"`); err == nil || !strings.Contains(err.Error(), "does not lie at") {
		t.Errorf("a status elsewhere: %v", err)
	}
	back := s.must("revoke", `,"capabilities":["slow_note"]`)
	if status := grantOf(back, "slow_note"); back["status"] != "active" || status != "revoked" {
		t.Errorf("slow_note given back: %v", back)
	}
	if _, err := s.calls("execute", `,"capability":"slow_note","arguments":{"path":"w/notes/a"}`); err == nil || !strings.Contains(err.Error(), "grant_revoked") {
		t.Errorf("what was given back: %v", err)
	}
	s.must("execute", note)
	if _, err := s.calls("revoke", `,"capabilities":["nothing"]`); err != nil {
		t.Errorf("what it never had: %v", err)
	}
	s.must("revoke", "")
	if _, err := s.calls("execute", note); err == nil || !strings.Contains(err.Error(), "agent_revoked") {
		t.Errorf("after the end: %v", err)
	}
	if again := s.must("register", wanted); again["agent_id"] == first["agent_id"] {
		t.Errorf("registered after the end: %v", again)
	}
}

// grantOf is the status of a capability of a standing.
func grantOf(standing map[string]any, capability string) (status string) {
	list, _ := standing["agent_capability_grants"].([]any)
	for _, one := range list {
		if g, _ := one.(map[string]any); g["capability"] == capability {
			status, _ = g["status"].(string)
		}
	}
	return status
}

// Nobody has the venue speak to the network that it stands in.
func TestPrivateServersAreNotReached(t *testing.T) {
	s := openShop(t, false)
	for _, operation := range []string{"discover", "list", "register"} {
		if _, err := s.calls(operation, ""); err == nil || !strings.Contains(err.Error(), "agentauth.private_servers") {
			t.Errorf("agentauth:%s at a private address: %v", operation, err)
		}
	}
}
