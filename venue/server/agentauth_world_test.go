package server_test

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"usher/venue"
	"usher/venue/agentauth"
	"usher/venue/config"
	"usher/venue/face"
	"usher/venue/login"
)

// world is a venue with the face on a port, and a person who has signed in.
type world struct {
	testing.TB
	venue  *venue.Venue
	door   *face.Door
	server *httptest.Server
	alice  *visitorPerson
	now    func() time.Time
	issuer string // "" for the URL of the server
}

// object is JSON.
type object = map[string]any

const settings = `
name: bank
user: alice
store: memory
data:
  - {path: w/accounts/one, value: {balance: 12}}
  - {path: w/accounts/two, value: {balance: 7}}
  - {path: w/secret, value: hidden}
agentauth:
  capabilities:
    - {name: read_account, operation: 'covia:read', description: Read an account., caps: [{with: w/accounts/, can: crud/read}], default: true, public: true}
    - {name: write_account, operation: 'covia:write', caps: [{with: w/accounts/, can: crud/write}]}
    - {name: write_again, operation: 'covia:write', caps: [{with: w/accounts/, can: crud/write}]}
    - {name: read_slowly, operation: 'covia:read', caps: [{with: w/accounts/, can: crud/read}], answer: async}
    - {name: read_stream, operation: 'covia:read', caps: [{with: w/accounts/, can: crud/read}], answer: stream}
    - {name: careful_write, operation: 'covia:write', caps: [{with: w/accounts/, can: crud/write}], within: [{with: w/ledger/, can: crud}], approval: session}
    - {name: elsewhere, operation: 'covia:read', caps: [{with: w/accounts/, can: crud/read}], location: 'https://bank.example.org/run'}
  autonomous: {owner: alice, capabilities: [read_account]}
  agents: 2000
  services: [{name: bank, secret: 'secret:BANK'}]
`

func visitorOpen(t testing.TB, options *venue.Options) *world {
	t.Helper()
	o := venue.Options{}
	if options != nil {
		o = *options
	}
	if o.Config == nil {
		c, err := config.Parse("usher.yaml", []byte(settings))
		if err != nil {
			t.Fatal(err)
		}
		o.Config = c
	}
	v, err := venue.Open(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	w := &world{TB: t, venue: v, now: o.Now}
	if w.now == nil {
		w.now = time.Now
	}
	w.door = &face.Door{Venue: v}
	mux := http.NewServeMux()
	mux.Handle("/", agentauth.New(w.door, slog.New(slog.DiscardHandler)))
	mux.Handle(login.Path, login.New(w.door))
	w.server = httptest.NewServer(mux)
	t.Cleanup(w.server.Close)
	w.alice = w.signIn("alice")
	return w
}

// person is somebody with a browser.
type visitorPerson struct {
	w       *world
	user    *venue.User
	cookie  *http.Cookie
	forgery string
}

func (w *world) signIn(name string) *visitorPerson {
	w.Helper()
	u, err := w.venue.User(w.Context(), name)
	if err != nil {
		w.Fatal(err)
	}
	made, err := u.Invoke(w.Context(), "token:create", object{"name": "browser-" + rand.Text()[:8]})
	if err != nil {
		w.Fatal(err)
	}
	var token struct{ Token string }
	if err := json.Unmarshal(made, &token); err != nil {
		w.Fatal(err)
	}
	secret, err := w.venue.SignIn(w.Context(), token.Token)
	if err != nil {
		w.Fatal(err)
	}
	_, in, err := w.venue.BySession(w.Context(), secret)
	if err != nil {
		w.Fatal(err)
	}
	return &visitorPerson{w, u, &http.Cookie{Name: "usher-session", Value: secret}, in.Forgery}
}

// answer is the word of a person as JSON.
func (p *visitorPerson) answer(body object) (int, object) {
	p.w.Helper()
	return p.post("/agent/approve-capability", body)
}

func (p *visitorPerson) post(path string, body object) (int, object) {
	p.w.Helper()
	raw, _ := json.Marshal(body)
	r, _ := http.NewRequestWithContext(p.w.Context(), http.MethodPost, p.w.server.URL+path, bytes.NewReader(raw))
	r.AddCookie(p.cookie)
	r.Header.Set(face.ForgeryHeader, p.forgery)
	status, out, _ := p.w.do(r)
	return status, out
}

// revokeHost ends a host.
func (p *visitorPerson) revokeHost(id any) (int, object) {
	p.w.Helper()
	return p.post("/host/revoke", object{"host_id": id})
}

// key is a key of a host or an agent.
type key struct {
	private ed25519.PrivateKey
	public  object // JWK
	thumb   string
}

func visitorNewKey() *key {
	pub, private, _ := ed25519.GenerateKey(rand.Reader)
	x := base64.RawURLEncoding.EncodeToString(pub)
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + x + `"}`))
	return &key{private, object{"kty": "OKP", "crv": "Ed25519", "x": x}, base64.RawURLEncoding.EncodeToString(sum[:])}
}

// sign makes a JWT; claims win over those that every JWT has.
func (w *world) sign(k *key, typ string, claims object) string {
	now := w.now().Unix()
	all := object{"aud": cmp.Or(w.issuer, w.server.URL), "iat": now, "exp": now + 60, "jti": rand.Text()}
	maps.Copy(all, claims)
	for name, v := range all {
		if v == nil {
			delete(all, name)
		}
	}
	return w.signRaw(k, object{"alg": "EdDSA", "typ": typ, "kid": k.thumb}, all)
}

func (w *world) signRaw(k *key, header, claims object) string {
	h, _ := json.Marshal(header)
	c, _ := json.Marshal(claims)
	text := base64.RawURLEncoding.EncodeToString(h) + "." + base64.RawURLEncoding.EncodeToString(c)
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(k.private, []byte(text)))
}

// host is a client of the protocol.
type visitorHost struct {
	w   *world
	key *key
}

func (w *world) host() *visitorHost { return &visitorHost{w, visitorNewKey()} }

func (h *visitorHost) jwt(claims object) string {
	all := object{"iss": h.key.thumb, "sub": h.key.thumb}
	maps.Copy(all, claims)
	return h.w.sign(h.key, "host+jwt", all)
}

// agent is one of a host.
type agent struct {
	*visitorHost
	id  string
	key *key
	was object // the answer to its registration
}

func (a *agent) jwt(claims object) string {
	all := object{"sub": a.id}
	maps.Copy(all, claims)
	return a.w.sign(a.key, "agent+jwt", all)
}

func (h *visitorHost) register(body object) (*agent, int) {
	h.w.Helper()
	k := visitorNewKey()
	status, out := h.registerKey(k, body)
	id, _ := out["agent_id"].(string)
	return &agent{h, id, k, out}, status
}

func (h *visitorHost) registerKey(k *key, body object) (int, object) {
	all := object{"name": "Reader"}
	maps.Copy(all, body)
	return h.w.post("/agent/register", h.jwt(object{"host_public_key": h.key.public, "agent_public_key": k.public}), all)
}

// approved registers an agent that alice approves, each capability within its limits.
func (h *visitorHost) approved(body object, limits ...any) *agent {
	h.w.Helper()
	a, status := h.register(body)
	if status != http.StatusOK || a.was["status"] != "pending" {
		h.w.Fatalf("register: %d %v", status, a.was)
	}
	answer := object{"agent_id": a.id, "user_code": code(a.was), "action": "approve"}
	if len(limits) > 0 {
		answer["capabilities"] = limits
	}
	if status, out := h.w.alice.answer(answer); status != http.StatusOK {
		h.w.Fatalf("approve: %d %v", status, out)
	}
	return a
}

func code(answer object) string {
	a, _ := answer["approval"].(object)
	text, _ := a["user_code"].(string)
	return text
}

func (a *agent) execute(capability string, args any) (int, object) {
	return a.w.post("/capability/execute", a.jwt(nil), object{"capability": capability, "arguments": args})
}

func (w *world) post(path, token string, body any) (int, object) {
	raw, _ := json.Marshal(body)
	r, _ := http.NewRequestWithContext(w.Context(), http.MethodPost, w.server.URL+path, bytes.NewReader(raw))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	status, out, _ := w.do(r)
	return status, out
}

func (w *world) get(path, token string) (int, object) {
	r, _ := http.NewRequestWithContext(w.Context(), http.MethodGet, w.server.URL+path, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	status, out, _ := w.do(r)
	return status, out
}

func (w *world) do(r *http.Request) (int, object, http.Header) {
	resp, err := w.server.Client().Do(r)
	if err != nil {
		w.Error(err)
		return 0, nil, nil
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Error(err)
	}
	var out object
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(raw, &out); err != nil {
			w.Errorf("%s: %v", raw, err)
		}
	} else {
		out = object{"text": string(raw)}
	}
	return resp.StatusCode, out, resp.Header
}

// want checks a status and a code of an error.
func (w *world) want(what string, status int, out object, wantStatus int, wantCode string) {
	w.Helper()
	code, _ := out["error"].(string)
	if status != wantStatus || code != wantCode {
		w.Errorf("%s: %d %q (%v), want %d %q", what, status, code, out["message"], wantStatus, wantCode)
	}
}
