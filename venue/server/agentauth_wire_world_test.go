package server_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/agentauth/client"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/server"
)

const configuration = `
name: Bank
agentauth:
  agents: 3
  absolute: 240h
  capabilities:
    - {name: read_note, operation: covia:read, caps: [{with: w/notes, can: crud/read}], public: true, default: true}
    - {name: transfer, operation: bank:transfer, caps: [{with: w/bank, can: crud/write}], constraints: {currency: EUR}}
    - {name: report, operation: bank:report, caps: [{with: w/bank, can: crud/read}], answer: async}
    - {name: follow, operation: bank:report, caps: [{with: w/bank, can: crud/read}], answer: stream}
    - {name: elsewhere, operation: bank:report, caps: [{with: w/bank, can: crud/read}], location: https://bank.example/execute}
  autonomous: {owner: robot, capabilities: [read_note]}
  services: [{name: bank, secret: secret:BANK}]
`

// money is what bank:transfer takes.
type money struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
	To       any     `json:"to,omitempty"`
}

// wire is a venue that lets agents in by its endpoints, and a host with one agent of it.
type wire struct {
	*testing.T
	v          *venue.Venue
	url        string
	ahead      atomic.Int64 // of the real time
	alice, bob string       // tokens of people
	calls      atomic.Int64 // of operations that moved something
	service    string       // secret of one

	hostKey, agentKey ed25519.PrivateKey
	agent, code       string
}

func newWireKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func openWire(t *testing.T) *wire {
	t.Helper()
	w := &wire{T: t, hostKey: newWireKey(t), agentKey: newWireKey(t), service: "the secret of the bank"}
	cfg, err := config.Parse("usher.yaml", []byte(configuration))
	if err != nil {
		t.Fatal(err)
	}
	bank := func(can string) []caps.Request { return []caps.Request{caps.Need(can, "w/bank")} }
	w.v, err = venue.Open(t.Context(), &venue.Options{Config: cfg, Now: w.now, Tools: []*tools.Operation{
		tools.New("bank:transfer", "Move money.", func(money) []caps.Request { return bank("crud/write") },
			func(_ context.Context, _ tools.Call, in money) (object, error) {
				w.calls.Add(1)
				return object{"moved": in.Amount}, nil
			}),
		tools.New("bank:report", "Report.", func(struct{}) []caps.Request { return bank("crud/read") },
			func(context.Context, tools.Call, struct{}) (object, error) { return object{"balance": 7}, nil }),
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(w.v, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		if err := w.v.Close(); err != nil {
			t.Error(err)
		}
	})
	w.url = h.URL
	w.alice, w.bob = w.person("alice"), w.person("bob")
	owner, err := w.v.User(t.Context(), "owner")
	if err == nil {
		err = owner.SetSecret(t.Context(), "BANK", w.service)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *wire) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

func (w *wire) pass(d time.Duration) { w.ahead.Add(int64(d)) }

// person is a token of a user.
func (w *wire) person(name string) string {
	w.Helper()
	u, err := w.v.User(w.Context(), name)
	if err != nil {
		w.Fatal(err)
	}
	token, err := w.v.Session(w.Context(), u, 1000*time.Hour)
	if err != nil {
		w.Fatal(err)
	}
	return token
}

// sign signs claims as they are.
func sign(t *testing.T, key ed25519.PrivateKey, header, claims object) string {
	t.Helper()
	part := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	text := part(header) + "." + part(claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(text)))
}

func thumbprint(key ed25519.PrivateKey) string { return client.Thumbprint(public(key)) }

func public(key ed25519.PrivateKey) ed25519.PublicKey {
	return ed25519.PublicKey(key[len(key)-ed25519.PublicKeySize:])
}

// claims are those of a JWT of now; nil in changes leaves one out.
func (w *wire) claims(more object, changes []object) object {
	var id [12]byte
	_, _ = rand.Read(id[:]) // never fails
	now := w.now().Unix()
	c := object{"aud": w.url, "iat": now, "exp": now + 60, "jti": hex.EncodeToString(id[:])}
	for _, m := range append([]object{more}, changes...) {
		maps.Copy(c, m)
	}
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// asHost is a JWT of the host, with the claims changed.
func (w *wire) asHost(changes ...object) string {
	id := thumbprint(w.hostKey)
	return sign(w.T, w.hostKey, object{"alg": "EdDSA", "typ": "host+jwt", "kid": id},
		w.claims(object{"iss": id, "sub": id, "host_public_key": client.PublicJWK(public(w.hostKey))}, changes))
}

// registering is a JWT of the host that names the key of the agent.
func (w *wire) registering(changes ...object) string {
	return w.asHost(append([]object{{"agent_public_key": client.PublicJWK(public(w.agentKey))}}, changes...)...)
}

// asAgent is a JWT of the agent, without iss, as the published client sends it.
func (w *wire) asAgent(changes ...object) string {
	return sign(w.T, w.agentKey, object{"alg": "EdDSA", "typ": "agent+jwt", "kid": thumbprint(w.agentKey)},
		w.claims(object{"sub": w.agent}, changes))
}

// reply is an answer.
type visitorReply struct {
	status int
	code   string
	body   object
	text   string
	header http.Header
}

// send sends a request: "METHOD /path". A body that is a text goes as it is.
func (w *wire) send(request, token string, body any) visitorReply {
	w.Helper()
	method, path, _ := strings.Cut(request, " ")
	var sent io.Reader = http.NoBody
	switch b := body.(type) {
	case nil:
	case string:
		sent = strings.NewReader(b)
	default:
		raw, err := json.Marshal(body)
		if err != nil {
			w.Fatal(err)
		}
		sent = bytes.NewReader(raw)
	}
	at := path
	if !strings.HasPrefix(path, "http") {
		at = w.url + path
	}
	req, err := http.NewRequestWithContext(w.Context(), method, at, sent)
	if err != nil {
		w.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.Fatal(err)
	}
	r := visitorReply{status: res.StatusCode, text: string(raw), header: res.Header}
	if json.Unmarshal(raw, &r.body) == nil {
		r.code, _ = r.body["error"].(string)
	}
	return r
}

// must has a step of the way succeed.
func (w *wire) must(r visitorReply) visitorReply {
	w.Helper()
	if r.status/100 != 2 {
		w.Fatalf("on the way: %d %s", r.status, r.text)
	}
	return r
}

// register registers the agent for capabilities.
func (w *wire) register(capabilities ...any) visitorReply {
	w.Helper()
	r := w.send("POST /agent/register", w.registering(), object{"name": "Bot", "capabilities": capabilities})
	w.note(r)
	return r
}

// note notes the id of the agent, and the code for a person.
func (w *wire) note(r visitorReply) {
	if id, ok := r.body["agent_id"].(string); ok {
		w.agent = id
	}
	if a, ok := r.body["approval"].(object); ok {
		w.code, _ = a["user_code"].(string)
	}
}

// answer has a person answer what waits: "approve" or "deny", with more of the body.
func (w *wire) answer(person, action string, more object) visitorReply {
	w.Helper()
	body := object{"agent_id": w.agent, "action": action, "user_code": w.code}
	maps.Copy(body, more)
	return w.send("POST /agent/approve-capability", person, body)
}

// active registers the agent, and has alice approve all.
func (w *wire) active(capabilities ...any) {
	w.Helper()
	if len(capabilities) == 0 {
		capabilities = []any{"read_note", "transfer"}
	}
	w.must(w.register(capabilities...))
	w.must(w.answer(w.alice, "approve", nil))
}

// another makes another agent of the host be the one that acts, and returns a way back.
func (w *wire) another() (back func()) {
	key, agent, code := w.agentKey, w.agent, w.code
	w.agentKey = newWireKey(w.T)
	return func() { w.agentKey, w.agent, w.code = key, agent, code }
}

// elsewhere makes another host be the one that acts.
func (w *wire) elsewhere() (back func()) {
	key := w.hostKey
	w.hostKey = newWireKey(w.T)
	agent := w.another()
	return func() { w.hostKey = key; agent() }
}

func (w *wire) ask(capabilities ...any) visitorReply {
	w.Helper()
	r := w.send("POST /agent/request-capability", w.asAgent(), object{"capabilities": capabilities})
	w.note(r)
	return r
}

func (w *wire) execute(capability string, arguments any, changes ...object) visitorReply {
	w.Helper()
	return w.send("POST /capability/execute", w.asAgent(changes...), object{"capability": capability, "arguments": arguments})
}

// pay executes transfer.
func (w *wire) pay(amount any, changes ...object) visitorReply {
	w.Helper()
	return w.execute("transfer", object{"amount": amount, "currency": "EUR"}, changes...)
}

// standing is the status of the agent as its host is told: its own, or that of the host
// where that has ended.
func (w *wire) standing() string {
	w.Helper()
	w.pass(2 * time.Second)
	r := w.send("GET /agent/status?agent_id="+w.agent, w.asHost(), nil)
	if r.code == "host_revoked" {
		return "host revoked"
	}
	status, _ := w.must(r).body["status"].(string)
	return status
}
