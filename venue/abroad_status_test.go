package venue_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"usher/caps"
	"usher/venue"
	"usher/venue/config"
)

// asks are the paths that a server was asked for.
type asks struct {
	mu   sync.Mutex
	list []string
}

func (a *asks) has(path string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range a.list {
		if at == path {
			return true
		}
	}
	return false
}

// kiosk is an Agent-Auth server that takes everybody, executes slowly, and has other things
// at its host. elsewhere is where it executes far.
func kiosk(t *testing.T, seen *asks, elsewhere string) *httptest.Server {
	var self string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.mu.Lock()
		seen.list = append(seen.list, r.URL.Path)
		seen.mu.Unlock()
		say := func(status int, body string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "{self}", self))
		}
		switch r.URL.Path {
		case "/.well-known/agent-configuration":
			say(200, `{"version":"1","provider_name":"kiosk","issuer":"{self}","endpoints":{}}`)
		case "/agent/register":
			say(200, `{"agent_id":"agt_1","status":"active"}`)
		case "/capability/describe":
			name := r.URL.Query().Get("name")
			location := ""
			if name == "far" {
				location = `,"location":"` + elsewhere + `/shop/run"`
			}
			say(200, `{"name":"`+name+`","description":"x"`+location+`}`)
		case "/capability/execute":
			w.Header().Set("Retry-After", "3600")
			say(202, `{"status":"pending","status_url":"{self}/jobs/1"}`)
		case "/jobs/1":
			say(200, `{"status":"completed","data":"done"}`)
		default:
			say(200, `{"status":"completed","data":"the payroll"}`)
		}
	}))
	t.Cleanup(s.Close)
	self = s.URL
	return s
}

// Who may execute a capability has its own executions looked at, and no other address of the
// server asked in the venue's name.
func TestAPollAsksForWhatTheServerHasNamedAlone(t *testing.T) {
	seen := new(asks)
	at := kiosk(t, seen, "")
	host := strings.TrimPrefix(at.URL, "http://")
	home := homeOf(t, host)
	user, err := home.User(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	base := `{"server":"` + at.URL + `"`
	near := caps.MustCapability("agentauth/"+host, "agentauth/request")
	bounded := user.Narrow(caps.Of(near, caps.MustCapability("agentauth/"+host+"/slow", "invoke"), caps.MustCapability("agentauth/"+host+"/other", "invoke")))
	invoke(t, bounded, "agentauth:register", base+`}`)
	var out struct {
		Status, StatusURL string
		Data              json.RawMessage
	}
	if err := json.Unmarshal([]byte(invoke(t, bounded, "agentauth:execute", base+`,"capability":"slow"}`)), &out); err != nil || out.Status != "pending" || !strings.HasPrefix(out.StatusURL, at.URL+"/jobs/1") {
		t.Fatalf("execute = %+v, %v", out, err)
	}
	poll := func(capability, status string) (json.RawMessage, error) {
		return bounded.Invoke(t.Context(), "agentauth:poll", map[string]string{"server": at.URL, "capability": capability, "statusUrl": status})
	}
	for name, c := range map[string]struct{ capability, url string }{
		"something else of the host":     {"slow", at.URL + "/internal/payroll"},
		"the same, by a name of another": {"slow", at.URL + "/internal/payroll#" + out.StatusURL[strings.IndexByte(out.StatusURL, '#')+1:]},
		"an endpoint of the protocol":    {"slow", at.URL + "/agent/status"},
		"without its name":               {"slow", at.URL + "/jobs/1"},
		"for another capability":         {"other", out.StatusURL},
	} {
		if raw, err := poll(c.capability, c.url); err == nil {
			t.Errorf("%s: %s", name, raw)
		}
	}
	if seen.has("/internal/payroll") || seen.has("/agent/status") || seen.has("/jobs/1") {
		t.Errorf("the server was asked for %q", seen.list)
	}
	raw, err := poll("slow", out.StatusURL)
	if err != nil || !strings.Contains(string(raw), `"done"`) {
		t.Errorf("its own execution: %s, %v", raw, err)
	}
}

// Where a capability is executed elsewhere, what that place calls the status of the execution is
// asked for only where the caller may send.
func TestAStatusElsewhereIsAskedForWhereTheCallerMaySend(t *testing.T) {
	seen := new(asks)
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.mu.Lock()
		seen.list = append(seen.list, r.URL.Path)
		seen.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/shop/run" {
			w.WriteHeader(202)
			_, _ = io.WriteString(w, `{"status":"pending","status_url":"http://`+r.Host+`/internal/payroll"}`)
			return
		}
		_, _ = io.WriteString(w, `{"status":"completed","data":"the payroll"}`)
	}))
	t.Cleanup(desk.Close)
	at := kiosk(t, new(asks), desk.URL)
	host := strings.TrimPrefix(at.URL, "http://")
	user, err := homeOf(t, host, strings.TrimPrefix(desk.URL, "http://")).User(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	base := `{"server":"` + at.URL + `"`
	bounded := user.Narrow(caps.Of(caps.MustCapability("agentauth", "*"), caps.MustCapability("agentauth", "invoke"), caps.MustCapability(desk.URL+"/shop", "net/send")))
	invoke(t, bounded, "agentauth:register", base+`}`)
	raw := invoke(t, bounded, "agentauth:execute", base+`,"capability":"far"}`)
	if strings.Contains(raw, "payroll\"") || !strings.Contains(raw, `"pending"`) || seen.has("/internal/payroll") {
		t.Errorf("execute = %s, and the desk was asked for %q", raw, seen.list)
	}
	raw = invoke(t, user, "agentauth:execute", base+`,"capability":"far"}`)
	if !strings.Contains(raw, `"the payroll"`) {
		t.Errorf("who may send there gets %s", raw)
	}
}

// homeOf is a venue that may reach private hosts.
func homeOf(t *testing.T, hosts ...string) *venue.Venue {
	t.Helper()
	cfg, err := config.Parse("usher.yaml", []byte("name: Home\nagentauth: {private_servers: ['"+strings.Join(hosts, "', '")+"']}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return open(t, &venue.Options{Config: cfg})
}
