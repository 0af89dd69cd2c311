package server_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"usher/tools/agents"
	"usher/tools/tokens"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/face"
	"usher/venue/login"
	"usher/venue/server"
	"usher/venue/venuetest"
)

// place is a venue on a port, and a browser of somebody.
type place struct {
	*httptest.Server
	venue   *venue.Venue
	browser *http.Client
}

func openLogin(t *testing.T, o *venue.Options) *place {
	t.Helper()
	v, err := venue.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(v, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &place{Server: httptest.NewServer(s), venue: v}
	t.Cleanup(func() {
		p.Close()
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	p.browser = newBrowser(t)
	return p
}

func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// send returns the status, the page and where the browser ended up.
func (p *place) send(t *testing.T, req *http.Request) (status int, page, at string) {
	t.Helper()
	resp, err := p.browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw), resp.Request.URL.Path
}

func (p *place) get(t *testing.T, path string) (status int, page, at string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.send(t, req)
}

func (p *place) post(t *testing.T, path string, form url.Values, head ...string) (status int, page, at string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(head); i += 2 {
		req.Header.Set(head[i], head[i+1])
	}
	return p.send(t, req)
}

func (p *place) token(t *testing.T, user, name, life string) string {
	t.Helper()
	u, err := p.venue.User(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := u.Invoke(t.Context(), "token:create", tokens.New{Name: name, For: life})
	if err != nil {
		t.Fatal(err)
	}
	var made tokens.CreateResult
	if err := json.Unmarshal(raw, &made); err != nil {
		t.Fatal(err)
	}
	return made.Secret
}

var forgery = regexp.MustCompile(`name="forgery" value="([^"]+)"`)

// A person signs in with a token of the venue, calls the API by the cookie, and signs out. What
// another site has the browser send changes nothing.
func TestToken(t *testing.T) {
	p := openLogin(t, nil)
	token := p.token(t, "alice", "laptop", "1h")
	if status, page, _ := p.get(t, login.Path); status != 200 || !strings.Contains(page, "usher token create") || strings.Contains(page, "You are signed in") {
		t.Fatalf("before: %d %s", status, page)
	}
	if status, page, _ := p.post(t, login.Path, url.Values{"token": {"x.y.z"}}); status != http.StatusUnauthorized || !strings.Contains(page, `role="alert"`) {
		t.Errorf("a bad token: %d", status)
	}
	if status, _, at := p.post(t, login.Path, url.Values{"token": {token}, "to": {"/api/v1/me"}}); status != 200 || at != "/api/v1/me" {
		t.Fatalf("signed in: %d at %s", status, at)
	}
	for _, c := range p.browser.Jar.Cookies(mustParse(t, p.URL)) {
		if strings.Contains(token, c.Value) || strings.Contains(c.Value, token) {
			t.Errorf("the cookie %s has the token", c.Name)
		}
	}
	status, page, _ := p.get(t, login.Path)
	found := forgery.FindStringSubmatch(page)
	if status != 200 || found == nil || !strings.Contains(page, "You are signed in as") {
		t.Fatalf("the page of who is signed in: %d %s", status, page)
	}
	body := url.Values{}
	for name, tt := range map[string]struct {
		head []string
		want int
	}{
		"nothing":              {nil, http.StatusForbidden},
		"another's":            {[]string{face.ForgeryHeader, "x"}, http.StatusForbidden},
		"what the page has":    {[]string{face.ForgeryHeader, found[1]}, http.StatusBadRequest}, // the body is no call
		"a token that is none": {[]string{"Authorization", "Bearer x.y.z", face.ForgeryHeader, found[1]}, http.StatusUnauthorized},
	} {
		if status, said, _ := p.post(t, "/api/v1/invoke", body, tt.head...); status != tt.want {
			t.Errorf("a call that brings %s: %d %s, want %d", name, status, said, tt.want)
		}
	}
	if status, _, _ := p.post(t, login.OutPath, url.Values{"forgery": {"x"}}); status != http.StatusForbidden {
		t.Errorf("a forged sign-out: %d", status)
	}
	if status, _, _ := p.post(t, login.OutPath, url.Values{"forgery": {found[1]}}, "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
		t.Errorf("a sign-out from another site: %d", status)
	}
	kept := p.browser.Jar.Cookies(mustParse(t, p.URL))
	if status, page, at := p.post(t, login.OutPath, url.Values{"forgery": {found[1]}}); status != 200 || at != login.Path || strings.Contains(page, "You are signed in") {
		t.Errorf("signed out: %d at %s", status, at)
	}
	p.browser.Jar.SetCookies(mustParse(t, p.URL), kept)
	if status, said, _ := p.get(t, "/api/v1/me"); status != http.StatusUnauthorized || !strings.Contains(said, "/login") {
		t.Errorf("the cookie of before: %d %s", status, said)
	}
}

func mustParse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A session ends with the token that it came from.
func TestTokenThatIsRevoked(t *testing.T) {
	p := openLogin(t, nil)
	if status, _, _ := p.post(t, login.Path, url.Values{"token": {p.token(t, "alice", "laptop", "1h")}}); status != 200 {
		t.Fatal(status)
	}
	if status, _, _ := p.get(t, "/api/v1/me"); status != 200 {
		t.Fatal(status)
	}
	alice, err := p.venue.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alice.Invoke(t.Context(), "token:revoke", tokens.Ref{Name: "laptop"}); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := p.get(t, "/api/v1/me"); status != http.StatusUnauthorized {
		t.Errorf("after the token was revoked: %d", status)
	}
}

// Nobody is sent from the sign-in to another site.
func TestWhereTo(t *testing.T) {
	p := openLogin(t, nil)
	for n, to := range []string{"https://evil.example/", "//evil.example/", `/\evil.example`, "javascript:alert(1)", "evil", "/\t/evil.example"} {
		p.browser = newBrowser(t)
		token := p.token(t, "alice", "laptop"+string(rune('a'+n)), "1h")
		if status, _, at := p.post(t, login.Path, url.Values{"token": {token}, "to": {to}}); status != 200 || at != login.Path {
			t.Errorf("to %q: %d at %s", to, status, at)
		}
	}
}

// provider is one of OpenID Connect, whose user says yes at once.
type provider struct {
	*httptest.Server
	t     *testing.T
	key   *rsa.PrivateKey
	asked url.Values // last
	nonce string     // to answer with; empty is the one that was asked
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, key: key}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]string{"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		p.asked = r.URL.Query()
		back := mustParse(t, p.asked.Get("redirect_uri"))
		back.RawQuery = url.Values{"code": {"c0de"}, "state": {p.asked.Get("state")}}.Encode()
		http.Redirect(w, r, back.String(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if r.PostFormValue("code") != "c0de" || base64.RawURLEncoding.EncodeToString(sum[:]) != p.asked.Get("code_challenge") {
			w.WriteHeader(http.StatusBadRequest)
			answer(w, map[string]string{"error": "invalid_grant"})
			return
		}
		nonce := p.nonce
		if nonce == "" {
			nonce = p.asked.Get("nonce")
		}
		answer(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": p.sign(nonce)})
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) sign(nonce string) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: p.key, KeyID: "1"}}, nil)
	if err != nil {
		p.t.Error(err)
		return ""
	}
	now := time.Now()
	text, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": p.URL, "sub": "ann", "aud": "usher", "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "nonce": nonce,
	}).Serialize()
	if err != nil {
		p.t.Error(err)
	}
	return text
}

// A person signs in by a provider of OpenID Connect, with PKCE; an answer that this browser did not
// ask for signs nobody in.
func TestProvider(t *testing.T) {
	idp := newProvider(t)
	p := openLogin(t, &venue.Options{Auth: config.Auth{Providers: []config.Provider{{Name: "acme", Issuer: idp.URL, ClientID: "usher"}}}})
	ann, err := p.venue.User(t.Context(), "acme:ann")
	if err != nil {
		t.Fatal(err)
	}
	status, said, at := p.get(t, login.Path+"/acme?to=/api/v1/me")
	if status != 200 || at != "/api/v1/me" || !strings.Contains(said, ann.DID().String()) {
		t.Fatalf("signed in: %d at %s: %s", status, at, said)
	}
	if got := idp.asked; got.Get("code_challenge_method") != "S256" || got.Get("response_type") != "code" || !strings.Contains(got.Get("scope"), "openid") {
		t.Errorf("the provider was asked %v", got)
	}
	refused := func(name, path, want string) {
		t.Helper()
		status, said, _ := p.get(t, path)
		if status < 400 || !strings.Contains(said, want) {
			t.Errorf("%s: %d %s, want %q", name, status, said, want)
		}
		if status, _, _ := p.get(t, "/api/v1/me"); status != http.StatusUnauthorized {
			t.Errorf("%s: signed in", name)
		}
	}
	p.browser = newBrowser(t)
	refused("no question", login.Path+"/acme/callback?code=c0de&state=x", "asked no provider")
	refused("no such provider", login.Path+"/other", "knows no such provider")
	idp.nonce = "another"
	refused("another nonce", login.Path+"/acme", "another question")
	idp.nonce = ""
	stop := *p.browser
	stop.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p.browser = &stop
	for name, tt := range map[string][2]string{
		"another state": {"?code=c0de&state=x", "another question"},
		"refused there": {"?error=access_denied%3Cb%3E&state=x", "access_deniedb"},
		"another code":  {"?code=y&state=", "gives nothing for its code"},
	} {
		if status, _, _ := p.get(t, login.Path+"/acme"); status != http.StatusSeeOther {
			t.Fatal(status)
		}
		query := tt[0]
		if strings.HasSuffix(query, "state=") {
			query += stateOf(t, p)
		}
		refused(name, login.Path+"/acme/callback"+query, tt[1])
	}
}

// Over TLS a question that another site of the same domain has put into the browser signs nobody in.
func TestAQuestionOfAnotherSite(t *testing.T) {
	idp := newProvider(t)
	p := openLogin(t, &venue.Options{Auth: config.Auth{Providers: []config.Provider{{Name: "acme", Issuer: idp.URL, ClientID: "usher"}}}})
	p.browser.Jar = nil // what it brings is said below
	p.browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ask := func(path string, cookies ...*http.Cookie) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+login.Path+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-Proto", "https")
		for _, c := range cookies {
			req.AddCookie(c)
		}
		resp, err := p.browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp
	}
	asked := ask("/acme")
	question := asked.Cookies()[0]
	if resp, err := http.Get(asked.Header.Get("Location")); err == nil { // the other site's own sign-in
		_ = resp.Body.Close()
	}
	to := "/acme/callback?code=c0de&state=" + mustParse(t, asked.Header.Get("Location")).Query().Get("state")
	for name, want := range map[string]int{"usher-question": http.StatusForbidden, question.Name: http.StatusSeeOther} {
		if resp := ask(to, &http.Cookie{Name: name, Value: question.Value}); resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", name, resp.StatusCode, want)
		}
	}
	if !strings.HasPrefix(question.Name, "__Host-") || question.Path != "/" || !question.Secure {
		t.Errorf("other sites may set %v", question)
	}
}

// stateOf is the state of the question in the browser's cookie.
func stateOf(t *testing.T, p *place) string {
	t.Helper()
	for _, c := range p.browser.Jar.Cookies(mustParse(t, p.URL+login.Path+"/acme")) {
		raw, err := base64.RawURLEncoding.DecodeString(c.Value)
		var q struct{ State string }
		if err == nil && json.Unmarshal(raw, &q) == nil {
			return q.State
		}
	}
	t.Fatal("there is no question in the browser")
	return ""
}

// Who is signed in sees the agents within reach, and what is no route is told as elsewhere.
func TestPageOfWhoIsSignedIn(t *testing.T) {
	p := openLogin(t, venuetest.With(venuetest.Says("yes")))
	alice, err := p.venue.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alice.CreateAgent(t.Context(), agents.Spec{ID: "Carol", Description: "Approves <payments>."}); err != nil {
		t.Fatal(err)
	}
	if _, page, _ := p.get(t, login.Path); strings.Contains(page, "Carol") {
		t.Error("nobody sees Carol")
	}
	if status, page, _ := p.post(t, login.Path, url.Values{"token": {p.token(t, "alice", "laptop", "1h")}}); status != 200 || !strings.Contains(page, "<code>Carol</code>: Approves &lt;payments&gt;.") {
		t.Errorf("alice sees %d %s", status, page)
	}
	p.browser = newBrowser(t)
	if status, page, _ := p.post(t, login.Path, url.Values{"token": {p.token(t, "bob", "laptop", "1h")}}); status != 200 || strings.Contains(page, "Carol") {
		t.Errorf("bob sees %d %s", status, page)
	}
	if status, said, _ := p.get(t, login.OutPath); status != http.StatusMethodNotAllowed || !strings.Contains(said, `"title":"Method Not Allowed"`) {
		t.Errorf("GET %s: %d %s", login.OutPath, status, said)
	}
}

// The log of requests says who has signed in, as it does of who bears a token.
func TestAccessLogNamesWhoSignedIn(t *testing.T) {
	p := openLogin(t, nil)
	alice, err := p.venue.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	secret, err := p.venue.SignIn(t.Context(), p.token(t, "alice", "laptop", "1h"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/me", login.Path} {
		log := new(text)
		s, err := server.New(p.venue, &server.Options{Access: slog.New(slog.NewJSONHandler(log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.AddCookie(&http.Cookie{Name: face.SessionCookie(r), Value: secret})
		s.ServeHTTP(httptest.NewRecorder(), r)
		if said := log.String(); !strings.Contains(said, `"path":"`+path+`","status":200`) || !strings.Contains(said, `"caller":"`+alice.DID().String()) {
			t.Errorf("%s: %s", path, said)
		}
	}
}

// What goes wrong between the venue and a provider stands in the log, and is told to nobody who
// comes: where the venue looks for its secrets, and what it reaches and how.
func TestProviderTellsNothingOfInside(t *testing.T) {
	gone, idp := httptest.NewServer(nil), newProvider(t)
	gone.Close()
	half := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/openid-configuration" {
			http.Error(w, "a word of the inside", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{
			"issuer": "http://" + r.Host, "jwks_uri": "http://" + r.Host + "/keys", "authorization_endpoint": "http://" + r.Host + "/authorize", "token_endpoint": gone.URL + "/token",
		})
	}))
	t.Cleanup(half.Close)
	log := new(text)
	p := openLogin(t, &venue.Options{Logger: slog.New(slog.NewTextHandler(log, nil)), Auth: config.Auth{Providers: []config.Provider{
		{Name: "gone", Issuer: gone.URL, ClientID: "usher"},
		{Name: "half", Issuer: half.URL, ClientID: "usher"},
		{Name: "secretive", Issuer: idp.URL, ClientID: "usher", ClientSecret: "file:/somewhere/inside/key"},
	}}})
	inside := regexp.MustCompile(`dial|refused|a word of|/somewhere|no such file|/token|/keys`)
	told := func(name string, status int, said string) {
		t.Helper()
		if found := inside.FindString(said); found != "" || status < 400 {
			t.Errorf("%s: %d, %q in %s", name, status, found, said)
		}
	}
	stop := *p.browser
	stop.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p.browser = &stop
	for _, name := range []string{"gone", "secretive"} {
		status, said, _ := p.get(t, login.Path+"/"+name)
		told(name, status, said)
	}
	if status, said, _ := p.get(t, login.Path+"/half"); status != http.StatusSeeOther {
		t.Fatalf("half: %d %s", status, said)
	}
	for _, c := range p.browser.Jar.Cookies(mustParse(t, p.URL+login.Path+"/half")) {
		raw, err := base64.RawURLEncoding.DecodeString(c.Value)
		var q struct{ State string }
		if err == nil && json.Unmarshal(raw, &q) == nil && q.State != "" {
			status, said, _ := p.get(t, login.Path+"/half/callback?code=c0de&state="+q.State)
			told("no tokens", status, said)
		}
	}
	idp.URL = half.URL // it signs in the name of the other
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+"/api/v1/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+idp.sign("n"))
	status, said, _ := p.send(t, req)
	told("no keys", status, said)
	for _, want := range []string{"/somewhere/inside/key", "dial", "a word of the inside", "/token"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, log)
		}
	}
}
