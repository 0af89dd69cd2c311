package venue_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"usher/caps"
	"usher/venue"
	"usher/venue/agentauth/guard"
	"usher/venue/config"
	"usher/venue/server"
)

const bankConfig = `
name: Bank
agentauth:
  capabilities:
    - {name: transfer, operation: covia:write, caps: [{with: w/bank, can: crud/write}], constraints: {currency: EUR}, location: SERVICE/run}
  services: [{name: desk, secret: 'secret:DESK'}]
`

// A capability that is executed on another host than its server: an agent of a venue needs
// net/send there, and the service there asks the server what the agent was granted.
func TestExecuteAtAnotherHost(t *testing.T) {
	const secret = "the secret of the desk"
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
	desk := http.NewServeMux()
	service := httptest.NewServer(desk)
	t.Cleanup(service.Close)
	bank := open(strings.ReplaceAll(bankConfig, "SERVICE", service.URL))
	port, err := server.New(bank, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := httptest.NewServer(port)
	t.Cleanup(at.Close)
	owner, err := bank.User(t.Context(), "owner")
	if err == nil {
		err = owner.SetSecret(t.Context(), "DESK", secret)
	}
	var alice *venue.User
	if err == nil {
		alice, err = bank.User(t.Context(), "alice")
	}
	s := &shop{T: t, url: at.URL, host: strings.TrimPrefix(at.URL, "http://")}
	if err == nil {
		s.alice, err = bank.Session(t.Context(), alice, time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(at.URL, service.URL+"/run", secret, nil)
	if err != nil {
		t.Fatal(err)
	}
	desk.Handle("/run", g.Handler(func(w http.ResponseWriter, _ *http.Request, call *guard.Call) {
		fmt.Fprintf(w, `{"data":{"for":%q,"arguments":%s}}`, call.User, call.Arguments)
	}))
	home := open("name: Home\nmodels: {default: {provider: offline}}\nagentauth: {private_servers: ['" + s.host + "', '" + strings.TrimPrefix(service.URL, "http://") + "']}\n")
	if s.home, err = home.User(t.Context(), "owner"); err != nil {
		t.Fatal(err)
	}
	s.approves(s.must("register", `,"capabilities":[{"name":"transfer","constraints":{"amount":{"max":10}}}]`))
	pay := func(amount int, currency string) (map[string]any, error) {
		return s.calls("execute", fmt.Sprintf(`,"capability":"transfer","arguments":{"amount":%d,"currency":%q}`, amount, currency))
	}
	out, err := pay(10, "EUR")
	raw, _ := json.Marshal(out["data"])
	if err != nil || !strings.Contains(string(raw), alice.DID().String()) {
		t.Fatalf("execute = %s, %v", raw, err)
	}
	for _, beyond := range []struct {
		amount   int
		currency string
	}{{11, "EUR"}, {1, "USD"}} {
		if _, err := pay(beyond.amount, beyond.currency); err == nil || !strings.Contains(err.Error(), "constraint_violated") {
			t.Errorf("%v: %v", beyond, err)
		}
	}
	input := json.RawMessage(`{"server":"` + s.url + `","capability":"transfer","arguments":{"amount":1,"currency":"EUR"}}`)
	near := caps.MustCapability("agentauth", "*")
	for name, c := range map[string]struct {
		may  caps.Set
		want string
	}{
		"at the server alone":    {caps.Of(near), "net/send"},
		"at another service":     {caps.Of(near, caps.MustCapability("https://desk.example.org", "net/send")), "net/send"},
		"to read there":          {caps.Of(near, caps.MustCapability(service.URL, "net/get")), "net/send"},
		"to send there":          {caps.Of(near, caps.MustCapability(service.URL, "net/send")), ""},
		"to send there, no more": {caps.Of(caps.MustCapability(service.URL, "net/send")), "invoke"},
	} {
		_, err := s.home.Narrow(c.may).Invoke(t.Context(), "agentauth:execute", input)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("who may act %s: %v", name, err)
		}
	}
	// What an agent wrote acts as that agent there, whoever runs it.
	if _, err := s.home.CreateAgent(t.Context(), spec("mallory", "", `[{"with":"o/","can":"crud"},{"with":"agentauth","can":"*"},{"with":"`+service.URL+`","can":"net/send"}]`)); err != nil {
		t.Fatal(err)
	}
	mallory, err := s.home.As(t.Context(), "mallory")
	if err != nil {
		t.Fatal(err)
	}
	invoke(t, mallory, "covia:write", `{"path":"o/pay","value":{"operation":{"adapter":"orchestrator","steps":[{"op":"agentauth:execute","input":["const",`+string(input)+`]}]}}}`)
	if _, err := s.home.Invoke(t.Context(), "grid:run", map[string]any{"operation": "o/pay"}); err == nil || !strings.Contains(err.Error(), "not registered") {
		t.Errorf("the owner runs what mallory wrote: %v", err)
	}
	s.must("revoke", `,"capabilities":["transfer"]`)
	if _, err := pay(1, "EUR"); err == nil {
		t.Error("the service executes what was given back")
	}
}
