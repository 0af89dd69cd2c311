package server_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"usher/tools/agentauth/client"
	"usher/venue"
	"usher/venue/agentauth/guard"
	"usher/venue/config"
	"usher/venue/server"
)

const visitorSecret = "the secret of the bank"

const guardConfiguration = `
name: Bank
agentauth:
  capabilities:
    - {name: transfer, operation: 'covia:write', caps: [{with: w/bank, can: crud/write}], constraints: {currency: EUR}, location: SELF/run}
    - {name: statement, operation: 'covia:read', caps: [{with: w/bank, can: crud/read}], location: SELF/run}
    - {name: other, operation: 'covia:read', caps: [{with: w/bank, can: crud/read}], location: SELF/other}
    - {name: here, operation: 'covia:read', caps: [{with: w/bank, can: crud/read}]}
  services: [{name: bank, secret: 'secret:BANK'}]
`

// guardWorld is a venue on a port, and a service elsewhere with a guard.
type guardWorld struct {
	*testing.T
	venue, service *httptest.Server
	asked          atomic.Int64 // introspections
	done           atomic.Int64 // executes that were let through
	last           atomic.Pointer[guard.Call]
	host           *client.Host
	agent          *client.Agent
	key            ed25519.PrivateKey
	user           *venue.User
	alice          string // token of hers
}

func guardNewKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func guardOpen(t *testing.T) *guardWorld {
	t.Helper()
	w := &guardWorld{T: t, key: guardNewKey(t)}
	mux := http.NewServeMux()
	w.service = httptest.NewServer(mux)
	t.Cleanup(w.service.Close)
	cfg, err := config.Parse("usher.yaml", []byte(strings.ReplaceAll(guardConfiguration, "SELF", w.service.URL)))
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
	s, err := server.New(v, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.venue = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/agent/introspect" {
			w.asked.Add(1)
		}
		s.ServeHTTP(rw, r)
	}))
	t.Cleanup(w.venue.Close)
	owner, err := v.User(t.Context(), "owner")
	if err == nil {
		err = owner.SetSecret(t.Context(), "BANK", visitorSecret)
	}
	if err == nil {
		w.user, err = v.User(t.Context(), "alice")
	}
	if err == nil {
		w.alice, err = v.Session(t.Context(), w.user, time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/run", w.guard(w.venue.URL, visitorSecret))
	status, err := guard.New(w.venue.URL, w.service.URL+"/run", visitorSecret, nil)
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/slow", w.handler(status))
	mux.Handle("/slow/1", status.Status(func(rw http.ResponseWriter, _ *http.Request, call *guard.Call) {
		_ = json.NewEncoder(rw).Encode(object{"status": "completed", "data": call.Agent + " " + call.Capability})
	}))
	mux.Handle("/guess", w.guard(w.venue.URL, "a guess of the secret"))
	at, err := client.Discover(t.Context(), w.venue.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.host = at.Host(guardNewKey(t))
	return w
}

func (w *guardWorld) guard(venue, secret string) http.Handler {
	w.Helper()
	g, err := guard.New(venue, w.service.URL+"/run", secret, nil)
	if err != nil {
		w.Fatal(err)
	}
	return w.handler(g)
}

func (w *guardWorld) handler(g *guard.Guard) http.Handler {
	return g.Handler(func(rw http.ResponseWriter, _ *http.Request, call *guard.Call) {
		w.done.Add(1)
		w.last.Store(call)
		_, _ = io.WriteString(rw, `{"data":{"done":true}}`)
	})
}

// approved registers the agent, and has alice approve what it asks for.
func (w *guardWorld) approved(wanted ...client.Want) {
	w.Helper()
	said, err := w.host.Register(w.Context(), w.key.Public().(ed25519.PublicKey), &client.Registration{Name: "Bot", Capabilities: wanted})
	if err != nil {
		w.Fatal(err)
	}
	w.agent = w.host.Agent(said.AgentID, w.key)
	if r := w.send(w.venue.URL+"/agent/approve-capability", w.alice, object{"agent_id": said.AgentID, "action": "approve", "user_code": said.Approval.UserCode}); r.status != http.StatusOK {
		w.Fatalf("approve: %d %s", r.status, r.text)
	}
}

func guardMost(amount int) client.Want {
	return client.Want{Name: "transfer", Constraints: object{"amount": object{"max": amount}}}
}

// token is a JWT for the service and one capability, with claims changed; nil leaves one out.
func (w *guardWorld) token(capability string, changes object) string {
	w.Helper()
	now := time.Now().Unix()
	all := object{
		"sub": w.agent.ID, "aud": w.service.URL + "/run", "iat": now, "exp": now + 60, "jti": rand.Text(), "capabilities": []string{capability},
	}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	part := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			w.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	text := part(object{"alg": "EdDSA", "typ": "agent+jwt"}) + "." + part(all)
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(w.key, []byte(text)))
}

type guardReply struct {
	status     int
	code, text string
	header     http.Header
}

func (w *guardWorld) send(at, token string, body any) (r guardReply) {
	w.Helper()
	raw, isText := body.(string)
	if !isText {
		all, err := json.Marshal(body)
		if err != nil {
			w.Fatal(err)
		}
		raw = string(all)
	}
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, at, bytes.NewBufferString(raw))
	if err != nil {
		w.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Error(err)
		return r
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.Error(err)
	}
	var said struct{ Error string }
	_ = json.Unmarshal(text, &said)
	return guardReply{res.StatusCode, said.Error, string(text), res.Header}
}

func (w *guardWorld) run(token string, body any) guardReply {
	w.Helper()
	return w.send(w.service.URL+"/run", token, body)
}

func pays(arguments string) string { return `{"capability":"transfer","arguments":` + arguments + `}` }

// The published way: the client finds the location, and executes there what was granted.
func TestExecuteElsewhere(t *testing.T) {
	w := guardOpen(t)
	w.approved(guardMost(10))
	one, err := w.agent.Describe(t.Context(), "transfer")
	if err != nil {
		t.Fatal(err)
	}
	call := &client.Call{Capability: "transfer", Arguments: json.RawMessage(`{"amount":10,"currency":"EUR"}`), Location: one.Location}
	got, err := w.agent.Execute(t.Context(), call, nil)
	if err != nil || string(got.Data) != `{"done":true}` {
		t.Fatalf("Execute = %+v, %v", got, err)
	}
	said := w.last.Load()
	if said.Agent != w.agent.ID || said.Host == "" || said.User != w.user.DID().String() || said.Mode != "delegated" || said.Capability != "transfer" ||
		string(said.Arguments) != `{"amount":10,"currency":"EUR"}` || !strings.Contains(string(said.Grant.Constraints), `"max":10`) {
		t.Errorf("the service is told %+v", said)
	}
}

// What a guard does not let through, and with which answer.
func TestVisitorRefusals(t *testing.T) {
	w := guardOpen(t)
	w.approved(guardMost(10), client.Want{Name: "other"}, client.Want{Name: "here"})
	good := pays(`{"amount":1,"currency":"EUR"}`)
	used := w.token("transfer", nil)
	if r := w.run(used, good); r.status != http.StatusOK {
		t.Fatalf("%d %s", r.status, r.text)
	}
	now := time.Now().Unix()
	hostToken, err := w.host.Token(object{"aud": w.service.URL + "/run", "capabilities": []string{"transfer"}})
	if err != nil {
		t.Fatal(err)
	}
	token := func(changes object) string { return w.token("transfer", changes) }
	for name, c := range map[string]struct {
		token, body string
		status      int
		code        string
		unasked     bool // the venue is not asked
	}{
		"no token":                        {"", good, 401, "unauthorized", true},
		"no JWT":                          {"secret", good, 401, "invalid_jwt", true},
		"aud of the venue":                {token(object{"aud": w.venue.URL}), good, 401, "invalid_jwt", true},
		"good at the venue, too":          {token(object{"aud": []string{w.service.URL + "/run", w.venue.URL}}), good, 401, "invalid_jwt", true},
		"aud in another case":             {token(object{"aud": nil, "AUD": w.service.URL + "/run"}), good, 401, "invalid_jwt", true},
		"no jti":                          {token(object{"jti": nil}), good, 401, "invalid_jwt", true},
		"a life of 61 s":                  {token(object{"exp": now + 61, "iat": now}), good, 401, "invalid_jwt", true},
		"no capabilities":                 {token(object{"capabilities": nil}), good, 401, "invalid_jwt", true},
		"two capabilities":                {token(object{"capabilities": []string{"transfer", "statement"}}), good, 401, "invalid_jwt", true},
		"a JWT of the host":               {hostToken, good, 401, "invalid_jwt", false},
		"expired":                         {token(object{"iat": now - 120, "exp": now - 60}), good, 401, "invalid_jwt", false},
		"signed by nobody":                {token(nil)[:len(token(nil))-8] + "AAAAAAAA", good, 401, "invalid_jwt", false},
		"for the second time":             {used, good, 401, "jti_replay", false},
		"not granted":                     {w.token("statement", nil), `{"capability":"statement"}`, 403, "capability_not_granted", false},
		"of another location":             {w.token("other", nil), `{"capability":"other"}`, 401, "invalid_jwt", false},
		"of the venue itself":             {w.token("here", nil), `{"capability":"here"}`, 401, "invalid_jwt", false},
		"another than the JWT has":        {token(nil), `{"capability":"statement"}`, 403, "capability_not_granted", false},
		"beyond the grant":                {token(nil), pays(`{"amount":11,"currency":"EUR"}`), 403, "constraint_violated", false},
		"beyond the configuration":        {token(nil), pays(`{"amount":1,"currency":"RUB"}`), 403, "constraint_violated", false},
		"without what is limited":         {token(nil), `{"capability":"transfer"}`, 403, "constraint_violated", false},
		"a text for a number":             {token(nil), pays(`{"amount":"1","currency":"EUR"}`), 403, "constraint_violated", false},
		"a limited name in another case":  {token(nil), pays(`{"amount":1,"currency":"EUR","Amount":99}`), 400, "invalid_request", false},
		"a limited name twice":            {token(nil), pays(`{"amount":99,"currency":"EUR","amount":1}`), 400, "invalid_request", false},
		"arguments that are no object":    {token(nil), pays(`[1]`), 400, "invalid_request", false},
		"no JSON":                         {token(nil), `transfer`, 400, "invalid_request", false},
		"a body that is longer than most": {token(nil), pays(`"` + strings.Repeat("x", 5<<20) + `"`), 413, "too_large", false},
	} {
		t.Run(name, func(t *testing.T) {
			asked, done := w.asked.Load(), w.done.Load()
			r := w.run(c.token, c.body)
			if r.status != c.status || r.code != c.code {
				t.Errorf("%d %s, want %d %s: %.300s", r.status, r.code, c.status, c.code, r.text)
			}
			want := ""
			if c.status == http.StatusUnauthorized {
				want = `AgentAuth discovery="` + w.venue.URL + `/.well-known/agent-configuration"`
			}
			if got := r.header.Get("WWW-Authenticate"); got != want {
				t.Errorf("the challenge is %q, want %q", got, want)
			}
			if (w.asked.Load() == asked) != c.unasked {
				t.Errorf("the venue was asked %d times", w.asked.Load()-asked)
			}
			if w.done.Load() != done {
				t.Error("it was executed")
			}
		})
	}
	r := w.run(token(nil), pays(`{"amount":11,"currency":"EUR"}`))
	if !strings.Contains(r.text, `"violations":[{"field":"amount","constraint":{"max":10},"actual":11}]`) {
		t.Errorf("it is told %s", r.text)
	}
	res, err := http.Get(w.service.URL + "/run")
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %s", res.Status)
	}
}

// What is revoked at the venue ends at the service with the next call.
func TestRevoked(t *testing.T) {
	w := guardOpen(t)
	w.approved(guardMost(10), client.Want{Name: "statement"})
	good := pays(`{"amount":1,"currency":"EUR"}`)
	if r := w.run(w.token("transfer", nil), good); r.status != http.StatusOK {
		t.Fatalf("before: %d %s", r.status, r.text)
	}
	if r := w.send(w.venue.URL+"/agent/revoke-capability", w.alice, object{"agent_id": w.agent.ID, "capabilities": []string{"transfer"}}); r.status != http.StatusOK {
		t.Fatal(r.text)
	}
	if r := w.run(w.token("transfer", nil), good); r.status != http.StatusForbidden || r.code != "capability_not_granted" {
		t.Errorf("the grant was revoked: %d %s", r.status, r.text)
	}
	if r := w.run(w.token("statement", nil), `{"capability":"statement"}`); r.status != http.StatusOK {
		t.Errorf("the other: %d %s", r.status, r.text)
	}
	if _, err := w.host.Revoke(t.Context(), w.agent.ID); err != nil {
		t.Fatal(err)
	}
	if r := w.run(w.token("statement", nil), `{"capability":"statement"}`); r.status != http.StatusUnauthorized || r.code != "invalid_jwt" {
		t.Errorf("the agent was revoked: %d %s", r.status, r.text)
	}
}

// Of many requests with one JWT at once, one is let through.
func TestOnceAtOnce(t *testing.T) {
	w := guardOpen(t)
	w.approved(guardMost(10))
	token := w.token("transfer", nil)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			r := w.run(token, pays(`{"amount":1,"currency":"EUR"}`))
			if r.status != http.StatusOK && r.code != "jti_replay" {
				t.Errorf("%d %s", r.status, r.text)
			}
		})
	}
	all.Wait()
	if n := w.done.Load(); n != 1 {
		t.Errorf("it was executed %d times", n)
	}
}

// The JWT that began something asks what became of it as often as it likes, another one once,
// and none executes that has asked.
func TestStatus(t *testing.T) {
	w := guardOpen(t)
	w.approved(guardMost(10))
	slow, body := w.service.URL+"/slow", pays(`{"amount":1,"currency":"EUR"}`)
	ask := func(token string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, slow+"/1", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(raw)
	}
	first, other := w.token("transfer", nil), w.token("transfer", nil)
	if r := w.send(slow, first, body); r.status != http.StatusOK {
		t.Fatalf("%d %s", r.status, r.text)
	}
	for range 2 {
		if status, text := ask(first); status != http.StatusOK || !strings.Contains(text, w.agent.ID+" transfer") {
			t.Errorf("by the JWT that began it: %d %s", status, text)
		}
	}
	if status, text := ask(other); status != http.StatusOK {
		t.Errorf("by another: %d %s", status, text)
	}
	if status, text := ask(other); status != http.StatusUnauthorized || !strings.Contains(text, "jti_replay") {
		t.Errorf("by another again: %d %s", status, text)
	}
	for name, token := range map[string]string{"which began it": first, "which asked": other} {
		if r := w.send(slow, token, body); r.code != "jti_replay" {
			t.Errorf("an execute by the JWT %s: %d %s", name, r.status, r.text)
		}
	}
	if r := w.send(slow+"/1", w.token("transfer", nil), body); r.status != http.StatusMethodNotAllowed || r.header.Get("Allow") != http.MethodGet {
		t.Errorf("POST: %d %s", r.status, r.text)
	}
	if _, err := w.host.Revoke(t.Context(), w.agent.ID); err != nil {
		t.Fatal(err)
	}
	if status, text := ask(first); status != http.StatusUnauthorized {
		t.Errorf("once the agent is revoked: %d %s", status, text)
	}
}

// What the venue vouches for elsewhere, or not now, counts nothing here.
func TestGrantsOfElsewhere(t *testing.T) {
	w := guardOpen(t)
	w.approved(guardMost(10))
	for name, grant := range map[string]object{
		"of the venue":         {"capability": "transfer", "status": "active"},
		"of another location":  {"capability": "transfer", "status": "active", "location": w.service.URL + "/other"},
		"of another name":      {"capability": "statement", "status": "active", "location": w.service.URL + "/run"},
		"that is not active":   {"capability": "transfer", "status": "pending", "location": w.service.URL + "/run"},
		"without a status yet": {"capability": "transfer", "location": w.service.URL + "/run"},
	} {
		t.Run(name, func(t *testing.T) {
			other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				_ = json.NewEncoder(rw).Encode(object{"active": true, "agent_id": "agt_1", "agent_capability_grants": []any{grant}})
			}))
			defer other.Close()
			service := httptest.NewServer(w.guard(other.URL, visitorSecret))
			defer service.Close()
			if r := w.send(service.URL, w.token("transfer", nil), pays(`{"amount":1,"currency":"EUR"}`)); r.status != http.StatusForbidden || r.code != "capability_not_granted" {
				t.Errorf("%d %s", r.status, r.text)
			}
		})
	}
	if n := w.done.Load(); n != 0 {
		t.Errorf("it was executed %d times", n)
	}
}

// Without a venue that vouches nobody gets in, and nobody is told why.
func TestNobodyVouches(t *testing.T) {
	w := guardOpen(t)
	w.approved(guardMost(10))
	body := pays(`{"amount":1,"currency":"EUR"}`)
	if r := w.send(w.service.URL+"/guess", w.token("transfer", nil), body); r.status != http.StatusServiceUnavailable || r.code != "unavailable" {
		t.Errorf("with a wrong secret: %d %s", r.status, r.text)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"a redirect": func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, w.venue.URL+"/agent/introspect", http.StatusTemporaryRedirect)
		},
		"no agent":   func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, `{"active":1}`) },
		"no JSON":    func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "active") },
		"no answer":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"unreadable": func(rw http.ResponseWriter, _ *http.Request) { unreadable(rw, w.service.URL) },
	} {
		t.Run(name, func(t *testing.T) {
			other := httptest.NewServer(answer)
			defer other.Close()
			service := httptest.NewServer(w.guard(other.URL, visitorSecret))
			defer service.Close()
			if r := w.send(service.URL, w.token("transfer", nil), body); r.status != http.StatusServiceUnavailable || r.code != "unavailable" {
				t.Errorf("%d %s", r.status, r.text)
			}
		})
	}
	if n := w.done.Load(); n != 0 {
		t.Errorf("it was executed %d times", n)
	}
}

// unreadable is an answer with a constraint that nobody knows.
func unreadable(w http.ResponseWriter, self string) {
	_ = json.NewEncoder(w).Encode(object{"active": true, "agent_id": "agt_1", "agent_capability_grants": []any{
		object{"capability": "transfer", "status": "active", "location": self + "/run", "constraints": object{"amount": object{"maximum": 1}}},
	}})
}

func TestNew(t *testing.T) {
	for name, c := range map[string]struct{ venue, self, secret string }{
		"a venue without TLS":   {"http://venue.example.org", "https://bank.example.org/run", visitorSecret},
		"a service without TLS": {"https://venue.example.org", "http://bank.example.org/run", visitorSecret},
		"no URL":                {"venue", "https://bank.example.org/run", visitorSecret},
		"no secret":             {"https://venue.example.org", "https://bank.example.org/run", ""},
	} {
		if _, err := guard.New(c.venue, c.self, c.secret, nil); err == nil {
			t.Errorf("New, %s: no error", name)
		}
	}
	if _, err := guard.New("https://venue.example.org/", "https://bank.example.org/run", visitorSecret, nil); err != nil {
		t.Error(err)
	}
}
