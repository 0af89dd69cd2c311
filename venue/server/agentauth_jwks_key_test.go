package server_test

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"usher/ucan"
	"usher/venue"
	"usher/venue/config"
)

// A key that an agent took from its URL is its own for good: nobody else comes with it, and the
// agent does not come with one that is another's.
func TestKeysFromURLsAreMarked(t *testing.T) {
	c := newClock()
	w := openURLs(t, c)
	h, first, second := w.host(), visitorNewKey(), visitorNewKey()
	keys := newKeysAt(t, first)
	other := h.approved(nil)
	status, out := w.post("/agent/register", h.jwt(object{"host_public_key": h.key.public, "agent_jwks_url": keys.URL, "agent_kid": first.thumb}),
		object{"name": "Bot", "capabilities": []any{"read_account"}})
	if status != http.StatusOK || out["status"] != "active" {
		t.Fatalf("register: %d %v", status, out)
	}
	a := &agent{h, out["agent_id"].(string), first, out}
	read := func() (int, object) { return a.execute("read_account", object{"path": "w/accounts/one"}) }

	keys.serve(second, other.key)
	c.pass(10 * time.Minute)
	a.key = other.key
	status, out = read()
	w.want("by another agent's key", status, out, http.StatusUnauthorized, "invalid_jwt")
	a.key = second
	if status, out := read(); status != http.StatusOK {
		t.Fatalf("by the second key: %d %v", status, out)
	}
	status, out = w.host().registerKey(second, nil)
	w.want("somebody else comes with it", status, out, http.StatusConflict, "agent_exists")
	keys.Close()
	c.pass(4 * time.Minute)
	if status, out := read(); status != http.StatusOK {
		t.Errorf("shortly after the URL is gone: %d %v", status, out)
	}
	c.pass(2 * time.Minute)
	status, out = read()
	w.want("once nobody vouches for the key", status, out, http.StatusUnauthorized, "invalid_jwt")
}

// A key that was taken from the URL is nobody's at any face: also by itself it has nothing of what
// the agent was granted.
func TestKeysFromURLsAreNobodyElsewhere(t *testing.T) {
	c := newClock()
	w := openURLs(t, c)
	h, first, second := w.host(), visitorNewKey(), visitorNewKey()
	keys := newKeysAt(t, first)
	h.approved(nil)
	status, out := w.post("/agent/register", h.jwt(object{"host_public_key": h.key.public, "agent_jwks_url": keys.URL, "agent_kid": first.thumb}),
		object{"name": "Bot", "capabilities": []any{"read_account"}})
	if status != http.StatusOK || out["status"] != "active" {
		t.Fatalf("register: %d %v", status, out)
	}
	keys.serve(second)
	c.pass(10 * time.Minute)
	a := &agent{h, out["agent_id"].(string), second, out}
	if status, out := a.execute("read_account", object{"path": "w/accounts/one"}); status != http.StatusOK {
		t.Fatalf("by the second key: %d %v", status, out)
	}
	for _, k := range []*key{first, second} {
		if out, err := w.itself(k).Invoke(t.Context(), "covia:read", object{"path": w.alice.user.DID().String() + "/w/accounts/one"}); err == nil {
			t.Errorf("by itself it reads %s", out)
		}
	}
}

// itself is who has a key, as any face but that of Agent-Auth knows them.
func (w *world) itself(k *key) *venue.Principal {
	w.Helper()
	own, err := ucan.KeyFromSeed(k.private.Seed())
	if err != nil {
		w.Fatal(err)
	}
	issuer := ucan.Issuer{Key: own, Verifier: &ucan.Verifier{Now: w.now}, Rand: rand.Reader}
	identity, err := issuer.Identity(w.venue.DID(), w.now().Add(time.Hour))
	if err != nil {
		w.Fatal(err)
	}
	p, err := w.venue.Authenticate(w.Context(), identity.Text())
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// By its key an agent does at other faces what its grants give now, within their limits: nothing
// of what is executed elsewhere, and nothing that the configuration does not offer any more.
func TestGrantsAtOtherFaces(t *testing.T) {
	w := visitorOpen(t, nil)
	at := func(a *agent, operation string, in object, allowed bool) {
		t.Helper()
		in["path"] = w.alice.user.DID().String() + "/w/accounts/one"
		if out, err := w.itself(a.key).Invoke(t.Context(), operation, in); (err == nil) != allowed {
			t.Errorf("%s of %v: %s %v", operation, in, out, err)
		}
	}
	elsewhere := w.host().approved(object{"capabilities": []any{"elsewhere"}})
	at(elsewhere, "covia:read", object{}, false)
	a := w.host().approved(object{"capabilities": []any{"read_account", "write_account"}}, "read_account", object{"name": "write_account", "constraints": object{"value": object{"max": 5}}})
	at(a, "covia:write", object{"value": 6}, false)
	at(a, "covia:write", object{"value": 5}, true)
	at(a, "covia:read", object{}, true)
	text := regexp.MustCompile(`(?m)^.*(name: read_account|autonomous:).*$`).ReplaceAllString(settings, "")
	cfg, err := config.Parse("usher.yaml", []byte(text))
	if err == nil {
		err = w.venue.Configure(t.Context(), cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	at(a, "covia:read", object{}, false)
	at(a, "covia:write", object{"value": 4}, true)
}

// keysAt is a server of keys that says what a test has it say, and counts how often it is asked.
type keysAt struct {
	*httptest.Server
	asked  atomic.Int64
	answer atomic.Pointer[http.HandlerFunc]
}

func newKeysAt(t *testing.T, list ...*key) *keysAt {
	t.Helper()
	k := new(keysAt)
	k.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		k.asked.Add(1)
		(*k.answer.Load())(out, r)
	}))
	t.Cleanup(k.Close)
	k.serve(list...)
	return k
}

func (k *keysAt) answers(answer http.HandlerFunc) { k.answer.Store(&answer) }

func (k *keysAt) serve(list ...*key) {
	set := []object{{"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "another"}}
	for _, one := range list {
		set = append(set, object{"kty": "OKP", "crv": "Ed25519", "x": one.public["x"], "kid": one.thumb})
	}
	k.answers(func(out http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(out).Encode(object{"keys": set}) })
}

// openURLs opens a world in which keys may lie at private URLs.
func openURLs(t *testing.T, c *clock) *world {
	t.Helper()
	cfg, err := config.Parse("usher.yaml", []byte(settings+"  allow_private: true\n"))
	if err != nil {
		t.Fatal(err)
	}
	return visitorOpen(t, &venue.Options{Config: cfg, Now: c.now})
}

// A host whose keys are at a URL: what counts is what stands there.
func TestHostsWithURLs(t *testing.T) {
	c := newClock()
	w := openURLs(t, c)
	first, second, third := visitorNewKey(), visitorNewKey(), visitorNewKey()
	keys := newKeysAt(t, first)
	register := func(k *key) (int, object) {
		return w.post("/agent/register", w.sign(k, "host+jwt", object{"iss": first.thumb, "host_jwks_url": keys.URL, "agent_public_key": visitorNewKey().public}), object{"name": "Bot"})
	}
	status, out := register(first)
	if status != http.StatusOK {
		t.Fatalf("register: %d %v", status, out)
	}
	if status, said := w.alice.answer(object{"agent_id": out["agent_id"], "user_code": code(out), "action": "approve"}); status != http.StatusOK {
		t.Fatalf("approve: %d %v", status, said)
	}
	by := func(k *key, header, claims object) (int, object) {
		all := object{"iss": out["host_id"], "aud": w.server.URL, "iat": w.now().Unix(), "exp": w.now().Unix() + 60, "jti": rand.Text()}
		maps.Copy(all, claims)
		head := object{"alg": "EdDSA", "typ": "host+jwt", "kid": k.thumb}
		maps.Copy(head, header)
		return w.get("/agent/status?agent_id="+out["agent_id"].(string), w.signRaw(k, head, all))
	}
	for _, step := range []struct {
		name   string
		before func()
		key    *key
		header object
		status int
		asked  int64 // how often the URL was asked for it
	}{
		{"its key", func() {}, first, nil, 200, 0},
		{"no kid", func() {}, first, object{"kid": ""}, 401, 0},
		{"a kid that is not there", func() { c.pass(11 * time.Second) }, first, object{"kid": "none"}, 401, 1},
		{"a kid that is not there, again", func() { c.pass(9 * time.Second) }, first, object{"kid": "none"}, 401, 0},
		{"the kid of another's key", func() {}, second, object{"kid": first.thumb}, 401, 0},
		{"the kid of a key of RSA", func() {}, first, object{"kid": "another"}, 401, 0},
		{"a new key", func() { keys.serve(first, second); c.pass(5 * time.Second) }, second, nil, 200, 1},
		{"the old one beside it", func() {}, first, nil, 200, 0},
		{"the old one, taken away for less than five minutes", func() { keys.serve(second); c.pass(4 * time.Minute) }, first, nil, 200, 0},
		{"the old one, taken away", func() { c.pass(61 * time.Second) }, first, nil, 401, 1},
		{"the new one stays", func() {}, second, nil, 200, 0},
		{"the URL fails", func() { keys.answers(http.NotFound); c.pass(4 * time.Minute) }, second, nil, 200, 0},
		{"another kid while it fails", func() {}, third, nil, 401, 1},
		{"the known one after that", func() {}, second, nil, 200, 0},
		{"the URL fails for longer than keys are believed", func() { c.pass(2 * time.Minute) }, second, nil, 401, 1},
		{"it is back", func() { keys.serve(second); c.pass(11 * time.Second) }, second, nil, 200, 1},
	} {
		step.before()
		asked := keys.asked.Load()
		status, said := by(step.key, step.header, nil)
		if status == http.StatusTooManyRequests {
			t.Fatalf("%s: %v", step.name, said)
		}
		if asked = keys.asked.Load() - asked; status != step.status || asked != step.asked {
			t.Errorf("%s: %d %v, and the URL was asked %d times; want %d and %d", step.name, status, said, asked, step.status, step.asked)
		}
	}
	// a host that is revoked comes back by none of its keys, also by one that only the URL had
	if status, said := w.alice.revokeHost(out["host_id"]); status != http.StatusOK {
		t.Fatalf("revoke: %d %v", status, said)
	}
	for name, k := range map[string]*key{"the first": first, "the second": second} {
		if status, said := (&visitorHost{w, k}).registerKey(visitorNewKey(), nil); status == http.StatusOK {
			t.Errorf("%s key of a host that was revoked: %d %v", name, status, said)
		}
	}
}

// Keys at many callers' request are fetched once.
func TestKeysAreFetchedOnce(t *testing.T) {
	c := newClock()
	w := openURLs(t, c)
	k := visitorNewKey()
	keys := newKeysAt(t, k)
	serving := make(chan struct{})
	serves := *keys.answer.Load()
	keys.answers(func(out http.ResponseWriter, r *http.Request) { <-serving; serves(out, r) })
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			token := w.sign(k, "host+jwt", object{"iss": k.thumb, "host_jwks_url": keys.URL, "agent_public_key": visitorNewKey().public})
			if status, out := w.post("/agent/register", token, object{"name": "Bot"}); status != http.StatusOK {
				t.Errorf("%d %v", status, out)
			}
		})
	}
	close(serving)
	all.Wait()
	if n := keys.asked.Load(); n != 1 {
		t.Errorf("the URL was asked %d times", n)
	}
}

// What a URL may say that is no key, and which URLs are none.
func TestURLsWithoutKeys(t *testing.T) {
	k := visitorNewKey()
	good, _ := json.Marshal(object{"keys": []object{{"kty": "OKP", "crv": "Ed25519", "x": k.public["x"], "kid": k.thumb}}})
	says := func(text string) http.HandlerFunc {
		return func(out http.ResponseWriter, _ *http.Request) { _, _ = out.Write([]byte(text)) }
	}
	other := newKeysAt(t, k)
	for name, one := range map[string]struct {
		answer http.HandlerFunc
		url    func(at string) string
	}{
		"no JSON":          {says("<html>"), nil},
		"nothing":          {says(""), nil},
		"no list":          {says(`{"keys": {}}`), nil},
		"a list of others": {says(`{"keys": [1, "x"]}`), nil},
		"without a kid":    {says(`{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "` + k.public["x"].(string) + `"}]}`), nil},
		"a private key":    {says(strings.Replace(string(good), `"kty"`, `"d":"AAAA","kty"`, 1)), nil},
		"another curve":    {says(strings.Replace(string(good), "Ed25519", "Ed448", 1)), nil},
		"huge":             {says(`{"pad": "` + strings.Repeat("x", 70<<10) + `",` + string(good[1:])), nil},
		"behind 32 others": {says(`{"keys": [` + strings.Repeat(`{"kid": "x"},`, 32) + string(good[len(`{"keys":[`):])), nil},
		"with a status":    {func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(500); _, _ = out.Write(good) }, nil},
		"elsewhere":        {func(out http.ResponseWriter, r *http.Request) { http.Redirect(out, r, other.URL, http.StatusFound) }, nil},
		"slow":             {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil},
		"a file":           {says(string(good)), func(string) string { return "file:///etc/passwd" }},
		"no host":          {says(string(good)), func(string) string { return "https:///keys" }},
		"a user name":      {says(string(good)), func(at string) string { return strings.Replace(at, "http://", "http://a:b@", 1) }},
		"a long URL":       {says(string(good)), func(at string) string { return at + "/" + strings.Repeat("x", 1100) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := openURLs(t, newClock())
			keys := newKeysAt(t)
			keys.answers(one.answer)
			at := keys.URL
			if one.url != nil {
				at = one.url(at)
			}
			status, out := w.post("/agent/register", w.sign(k, "host+jwt", object{"iss": k.thumb, "host_jwks_url": at, "agent_public_key": visitorNewKey().public}), object{"name": "Bot"})
			w.want("register", status, out, http.StatusBadRequest, "invalid_public_key")
			if one.url != nil && keys.asked.Load() > 0 {
				t.Error("the URL was asked")
			}
		})
	}
}

// A URL that leads to this machine, by whatever name, is not asked.
func TestVisitorPrivateURLs(t *testing.T) {
	w := visitorOpen(t, nil)
	var asked atomic.Int64
	keys := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(keys.Close)
	var tried atomic.Int64
	keys.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			tried.Add(1)
		}
	}
	_, port, _ := net.SplitHostPort(keys.Listener.Addr().String())
	for _, at := range []string{
		"https://127.0.0.1:" + port, "https://localhost:" + port, "https://[::ffff:127.0.0.1]:" + port, "https://2130706433:" + port, "https://0x7f.1:" + port,
		"https://0.0.0.0:" + port, "https://169.254.169.254/keys", "https://10.0.0.1/keys", "https://[::1]:" + port, "http://127.0.0.1:" + port,
	} {
		k := visitorNewKey()
		status, out := w.post("/agent/register", w.sign(k, "host+jwt", object{"iss": k.thumb, "host_jwks_url": at, "agent_public_key": visitorNewKey().public}), object{"name": "Bot"})
		w.want(at, status, out, http.StatusBadRequest, "invalid_public_key")
	}
	if asked.Load()+tried.Load() > 0 {
		t.Errorf("%d connections, %d requests", tried.Load(), asked.Load())
	}
}
