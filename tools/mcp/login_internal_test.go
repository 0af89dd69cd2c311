package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/tools/fault"
)

// guarded is an MCP server that asks who calls, and the authorization server that tells it.
type guarded struct {
	testing.TB
	*httptest.Server

	mu      sync.Mutex
	codes   map[string]url.Values // questions that were answered
	tokens  map[string]string     // scopes of those that hold
	refresh string                // that holds
	forms   []url.Values          // sent to the token endpoint
	life    int                   // seconds of a token
	needs   string                // scope that a call needs
	issuer  string                // told in answers; empty is the right one
	opens   string                // where people are sent to sign in; empty is here
}

func newGuarded(t testing.TB) *guarded {
	g := &guarded{TB: t, codes: map[string]url.Values{}, tokens: map[string]string{}, life: 3600}
	s := sdk.NewServer(impl(), nil)
	add(s, "echo", "Says it again.")
	s.AddTool(&sdk.Tool{Name: "leak", InputSchema: anyObject}, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: req.Extra.Header.Get("Authorization")}}}, nil
	})
	served := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		scopes, ok := g.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		needs := g.needs
		g.mu.Unlock()
		switch {
		case !ok:
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.URL+`/about", scope="read"`)
			w.WriteHeader(http.StatusUnauthorized)
		case needs != "" && !strings.Contains(scopes, needs):
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+needs+`"`)
			w.WriteHeader(http.StatusForbidden)
		default:
			served.ServeHTTP(w, r)
		}
	})
	mux.HandleFunc("/about", func(w http.ResponseWriter, _ *http.Request) {
		g.json(w, map[string]any{"resource": g.URL + "/mcp", "authorization_servers": []string{g.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		g.mu.Lock()
		opens := cmp.Or(g.opens, g.URL+"/authorize")
		g.mu.Unlock()
		g.json(w, map[string]any{
			"issuer": g.URL, "authorization_endpoint": opens, "token_endpoint": g.URL + "/token", "registration_endpoint": g.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
			"token_endpoint_auth_methods_supported": []string{"client_secret_post"},
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		g.json(w, map[string]any{"client_id": "c1", "client_secret": "client-s3cr3t", "token_endpoint_auth_method": "client_secret_post", "redirect_uris": []string{"http://127.0.0.1:4711/callback"}})
	})
	mux.HandleFunc("/token", g.token)
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	return g
}

func (g *guarded) json(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		g.Error(err)
	}
}

// token is the token endpoint.
func (g *guarded) token(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := r.ParseForm(); err != nil {
		g.Error(err)
	}
	g.forms = append(g.forms, r.PostForm)
	refuse := func() {
		w.WriteHeader(http.StatusBadRequest)
		g.json(w, map[string]string{"error": "invalid_grant"})
	}
	scope := "read"
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		q, ok := g.codes[r.PostFormValue("code")]
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") {
			refuse()
			return
		}
		scope = q.Get("scope")
	case "refresh_token":
		if g.refresh == "" || r.PostFormValue("refresh_token") != g.refresh {
			refuse()
			return
		}
	default:
		refuse()
		return
	}
	access := "access-" + rand.Text()
	g.tokens[access], g.refresh = scope, "refresh-"+rand.Text()
	g.json(w, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": g.life, "refresh_token": g.refresh})
}

// approve is what a person does with a browser: it returns the answer to the question.
func (g *guarded) approve(address string) LoginAnswer {
	u, err := url.Parse(address)
	if err != nil {
		g.Fatal(err)
	}
	q := u.Query()
	g.mu.Lock()
	defer g.mu.Unlock()
	code := rand.Text()
	g.codes[code] = q
	issuer := g.issuer
	if issuer == "" {
		issuer = g.URL
	}
	return LoginAnswer{Code: code, State: q.Get("state"), Issuer: issuer}
}

// revoke ends all tokens.
func (g *guarded) revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.tokens)
}

// safe keeps grants in memory.
type safe struct{ *sync.Map }

func (s safe) Grant(_ context.Context, id string) ([]byte, error) {
	raw, _ := s.Load(id)
	text, _ := raw.(string)
	if text == "" {
		return nil, nil
	}
	return []byte(text), nil
}

func (s safe) KeepGrant(_ context.Context, id string, grant []byte) error {
	s.Store(id, string(grant))
	return nil
}

const back = `"redirect":"http://127.0.0.1:4711/callback"`

// begin begins to sign in.
func (l *lair) begin() (at Login) {
	l.Helper()
	if err := json.Unmarshal([]byte(l.call("mcp:login", `{"server":"door",`+back+`}`)), &at); err != nil {
		l.Fatal(err)
	}
	return at
}

// end ends it with an answer.
func (l *lair) end(at Login, a LoginAnswer) error {
	a.Server, a.ID = at.Server, at.ID
	raw, err := json.Marshal(a)
	if err != nil {
		l.Fatal(err)
	}
	_, err = l.may(nil, "mcp:loginEnd", string(raw))
	return err
}

func (l *lair) signIn(g *guarded) {
	l.Helper()
	at := l.begin()
	if err := l.end(at, g.approve(at.Address)); err != nil {
		l.Fatal(err)
	}
}

// at is the state of the servers' clock.
type at struct {
	mu  sync.Mutex
	now time.Time
}

func (a *at) time() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now
}

func (a *at) pass(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = a.now.Add(d)
}

func TestLogin(t *testing.T) {
	g := newGuarded(t)
	clock, kept := &at{now: time.Now()}, safe{new(sync.Map)}
	l := newLair(t, Options{Vault: kept, Now: clock.time})
	server := Server{ID: "door", URL: g.URL + "/mcp"}
	l.set(server)
	l.fails("mcp/door/echo", `{}`, fault.Refused, "usher mcp login door")
	l.signIn(g)
	l.call("mcp/door/echo", `{}`)

	code := g.forms[0]
	if code.Get("resource") != g.URL+"/mcp" || code.Get("client_secret") != "client-s3cr3t" {
		t.Errorf("the code was exchanged by %v, want the resource and the client", code)
	}
	out := l.call("mcp/door/leak", `{}`)
	if strings.Contains(out, "access-") || !strings.Contains(out, "[redacted]") {
		t.Errorf("a server that tells the token is shown as %s", out)
	}

	t.Run("an end is seen ahead", func(t *testing.T) {
		g.mu.Lock()
		g.life = 1 << 20
		g.mu.Unlock()
		clock.pass(time.Hour)
		l.call("mcp/door/echo", `{}`)
		last := g.forms[len(g.forms)-1]
		if last.Get("grant_type") != "refresh_token" || last.Get("resource") != g.URL+"/mcp" {
			t.Errorf("the token was renewed by %v, want a refresh token and the resource", last)
		}
	})
	t.Run("one that is refused is renewed once", func(t *testing.T) {
		g.revoke()
		l.call("mcp/door/echo", `{}`)
		before := len(g.forms)
		g.revoke()
		l.fails("mcp/door/echo", `{}`, fault.Refused, "usher mcp login door")
		if len(g.forms) != before {
			t.Error("a server that refuses each token has each renewed")
		}
		clock.pass(renewEvery)
		l.call("mcp/door/echo", `{}`)
	})
	t.Run("it outlives the servers", func(t *testing.T) {
		other := newLair(t, Options{Vault: kept, Now: clock.time})
		other.set(server)
		other.call("mcp/door/echo", `{}`)
	})
	t.Run("it is for one address", func(t *testing.T) {
		stranger := newGuarded(t)
		other := newLair(t, Options{Vault: kept, Now: clock.time})
		other.set(Server{ID: "door", URL: stranger.URL + "/mcp"})
		other.fails("mcp/door/echo", `{}`, fault.Refused, "usher mcp login door")
	})
	t.Run("more is asked for where it is too little", func(t *testing.T) {
		g.mu.Lock()
		g.needs = "write"
		g.mu.Unlock()
		l.fails("mcp/door/echo", `{}`, fault.Refused, "usher mcp login door")
		begun := l.begin()
		u, err := url.Parse(begun.Address)
		if err != nil {
			t.Fatal(err)
		}
		if scopes := strings.Fields(u.Query().Get("scope")); len(scopes) != 2 || !slices.Contains(scopes, "read") || !slices.Contains(scopes, "write") {
			t.Errorf("asked for %q, want what was granted, and what is needed", scopes)
		}
		if err := l.end(begun, g.approve(begun.Address)); err != nil {
			t.Fatal(err)
		}
		l.call("mcp/door/echo", `{}`)
	})
	t.Run("signing out forgets it", func(t *testing.T) {
		l.call("mcp:logout", `{"server":"door"}`)
		l.fails("mcp/door/echo", `{}`, fault.Refused, "usher mcp login door")
		if raw, _ := kept.Grant(t.Context(), "door"); raw != nil {
			t.Errorf("kept is %s", raw)
		}
	})
}

func TestLoginRefuses(t *testing.T) {
	g := newGuarded(t)
	l := newLair(t, Options{})
	l.set(Server{ID: "door", URL: g.URL + "/mcp"}, Server{ID: "header", URL: g.URL + "/mcp", Headers: map[string]string{"authorization": "Bearer x"}})
	for name, input := range map[string]string{
		"another machine":    `{"server":"door","redirect":"http://example.org:80/callback"}`,
		"no port":            `{"server":"door","redirect":"http://127.0.0.1/callback"}`,
		"another scheme":     `{"server":"door","redirect":"javascript://127.0.0.1:1/x"}`,
		"a name before":      `{"server":"door","redirect":"http://127.0.0.1:1@example.org/"}`,
		"loopback as a name": `{"server":"door","redirect":"http://127.0.0.1.example.org:1/"}`,
	} {
		t.Run(name, func(t *testing.T) { l.fails("mcp:login", input, fault.InvalidInput, "redirect") })
	}
	l.fails("mcp:login", `{"server":"header",`+back+`}`, fault.Refused, "nobody signs in")
	l.fails("mcp:loginEnd", `{"server":"door","login":"x","code":"y"}`, fault.NotFound, "begin again")

	refused := func(name, text string, answer func(Login) LoginAnswer) {
		t.Run(name, func(t *testing.T) {
			begun := l.begin()
			err := l.end(begun, answer(begun))
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("error %v, want %q", err, text)
			}
			l.fails("mcp/door/echo", `{}`, fault.Refused, "asks who calls")
		})
	}
	refused("another state", "state mismatch", func(at Login) LoginAnswer {
		a := g.approve(at.Address)
		a.State = "x"
		return a
	})
	refused("another issuer", "issuer", func(at Login) LoginAnswer {
		a := g.approve(at.Address)
		a.Issuer = "https://evil.example"
		return a
	})
	refused("no issuer", "iss ", func(at Login) LoginAnswer {
		a := g.approve(at.Address)
		a.Issuer = "" // of a provider that says it always tells it
		return a
	})
	refused("a code of nobody", "invalid_grant", func(at Login) LoginAnswer {
		a := g.approve(at.Address)
		a.Code = "x"
		return a
	})
	refused("the person refused", "access_denied", func(Login) LoginAnswer { return LoginAnswer{Error: "access_denied"} })

	t.Run("anew", func(t *testing.T) {
		first := l.begin()
		second := l.begin()
		if err := l.end(first, g.approve(first.Address)); fault.Of(err) != fault.NotFound {
			t.Errorf("the first: %v", err)
		}
		if err := l.end(second, g.approve(second.Address)); err != nil {
			t.Error(err)
		}
		if err := l.end(second, g.approve(second.Address)); fault.Of(err) != fault.NotFound {
			t.Errorf("the second, again: %v", err)
		}
	})
}

// An authorization server in this machine is none that a server elsewhere may name.
func TestLoginStaysOutside(t *testing.T) {
	private := newBearer(&Server{URL: "https://mcp.example.org/"}, &Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, newGuarded(t).URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := private.client.Do(req); err == nil || !strings.Contains(err.Error(), "allow_private") {
		t.Errorf("reached: %v, %v", res, err)
		if err == nil {
			res.Body.Close()
		}
	}
}

func TestOAuthCheck(t *testing.T) {
	const at = "https://mcp.example.org/"
	for name, c := range map[string]struct {
		server Server
		want   string // in the error; empty is none
	}{
		"none":            {Server{URL: at}, ""},
		"a client":        {Server{URL: at, OAuth: OAuth{ClientID: "x"}}, ""},
		"with a secret":   {Server{URL: at, OAuth: OAuth{ClientID: "x", ClientSecret: "secret:S", Issuer: "https://i"}}, ""},
		"for anybody":     {Server{URL: at, OAuth: OAuth{ClientID: "x", ClientSecret: "secret:S"}}, "issuer"},
		"as it is":        {Server{URL: at, OAuth: OAuth{ClientID: "x", ClientSecret: "hunter2", Issuer: "https://i"}}, "handle"},
		"of a command":    {Server{Command: []string{"x"}, OAuth: OAuth{ClientID: "x"}}, "oauth is for a url"},
		"beside a header": {Server{URL: at, Headers: map[string]string{"AUTHORIZATION": "x"}, OAuth: OAuth{ClientID: "x"}}, "Authorization"},
		"a scope twice":   {Server{URL: at, OAuth: OAuth{Scopes: []string{"a", "a"}}}, "scope"},
		"no scope":        {Server{URL: at, OAuth: OAuth{Scopes: []string{"a b"}}}, "scope"},
	} {
		t.Run(name, func(t *testing.T) {
			c.server.ID = "x"
			if err := c.server.Check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("Check() = %v, want %q", err, c.want)
			}
		})
	}
}

// A person is shown no address that a browser would hand to another program, nor one of this
// machine that a server elsewhere has named.
func TestWhereAServerSendsPeople(t *testing.T) {
	g := newGuarded(t)
	l := newLair(t, Options{})
	l.set(Server{ID: "door", URL: g.URL + "/mcp"})
	for _, opens := range []string{"calculator://localhost/run", "file://localhost/etc/passwd", "vscode://127.0.0.1/open"} {
		g.mu.Lock()
		g.opens = opens
		g.mu.Unlock()
		if out, err := l.may(nil, "mcp:login", `{"server":"door",`+back+`}`); err == nil {
			t.Errorf("%s: a person is sent to %s", opens, out)
		}
	}
	far, here := Server{URL: "https://mcp.example.org/mcp"}, Server{URL: "http://127.0.0.1:8000/mcp"}
	meant := far
	meant.OAuth.AllowPrivate = true
	for _, c := range []struct {
		server Server
		to     string
		want   bool
	}{
		{far, "https://login.example.org/authorize", true},
		{far, "http://login.example.org/authorize", false},
		{far, "http://127.0.0.1:8080/admin/delete", false},
		{far, "https://localhost/admin/delete", false},
		{far, "http://[::1]:8080/", false},
		{meant, "http://127.0.0.1:8080/authorize", true},
		{meant, "calculator://127.0.0.1/", false},
		{here, "http://localhost:8080/authorize", true},
		{here, "https://login.example.org/authorize", true},
	} {
		u, err := url.Parse(c.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.server.mayShow(u); got != c.want {
			t.Errorf("the server at %s sends people to %s: %v, want %v", c.server.URL, c.to, got, c.want)
		}
	}
}
