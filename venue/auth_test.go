package venue_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"usher/caps"
	"usher/runtime"
	"usher/runtime/offline"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/tools/tokens"
	"usher/ucan"
	"usher/venue"
	"usher/venue/auth"
	"usher/venue/config"
)

type claims = map[string]any

// jws signs claims as any library would.
func jws(t *testing.T, alg jose.SignatureAlgorithm, key any, kid string, says claims) string {
	t.Helper()
	opts := new(jose.SignerOptions).WithType("JWT")
	if kid != "" {
		opts = opts.WithHeader("kid", kid)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, opts)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(says)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(raw)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// self is a caller with a key of their own.
type self struct {
	key ed25519.PrivateKey
	did string
}

func newSelf(t *testing.T) self {
	t.Helper()
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed)
	key, err := ucan.KeyFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	return self{ed25519.NewKeyFromSeed(seed), key.DID().String()}
}

func (s self) multikey() string { return strings.TrimPrefix(s.did, "did:key:") }

// says is what a token of the caller's says that is right, but for changes; nil
// leaves a claim out.
func (s self) says(v *venue.Venue, changes claims) claims {
	now := time.Now().Unix()
	all := claims{"sub": s.did, "aud": v.DID().String(), "iat": now, "exp": now + 600}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	return all
}

// A JWT that a caller signs is that caller (COG-10), and nobody in any other case.
func TestSelfIssuedToken(t *testing.T) {
	v, other := open(t, nil), open(t, nil)
	me, eve := newSelf(t), newSelf(t)
	now := time.Now().Unix()
	for name, kid := range map[string]string{"no kid": "", "multikey": me.multikey(), "DID": me.did, "DID URL": me.did + "#" + me.multikey()} {
		p, err := v.Authenticate(t.Context(), jws(t, jose.EdDSA, me.key, kid, me.says(v, nil)))
		if err != nil || p.DID().String() != me.did {
			t.Errorf("with %s: %v, want %s", name, err, me.did)
		}
	}
	if _, err := v.Authenticate(t.Context(), jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"iss": me.did, "aud": []string{"x", v.DID().String()}}))); err != nil {
		t.Errorf("with iss, and aud as a list: %v", err)
	}
	part := func(v any) string {
		raw, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := jws(t, jose.EdDSA, me.key, "", me.says(v, nil))
	for _, tt := range []struct{ name, token, want string }{
		{"expired", jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"iat": now - 700, "exp": now - 1})), "it expired at"},
		{"not yet made", jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"iat": now + 100})), "set the clock"},
		{"not yet valid", jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"nbf": now + 100})), "it begins at"},
		{"aud missing", jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"aud": nil})), "its aud is missing"},
		{"aud empty", jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"aud": []string{}})), "its aud is missing"},
		{"another venue", jws(t, jose.EdDSA, me.key, "", me.says(other, nil)), "its aud is another"},
		{"exp missing", jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"exp": nil})), "its exp is missing"},
		{"iat missing", jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"iat": nil})), "its iat is missing"},
		{"too long", jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"exp": now + 25*3600})), "at most 24h0m0s"},
		{"sub of another", jws(t, jose.EdDSA, eve.key, "", me.says(v, nil)), "its signature is not by " + me.did},
		{"kid of another key", jws(t, jose.EdDSA, me.key, eve.multikey(), me.says(v, nil)), "its kid is not the key of"},
		{"kid and signature of another", jws(t, jose.EdDSA, eve.key, eve.multikey(), me.says(v, nil)), "its kid is not the key of"},
		{"iss of another", jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"iss": eve.did})), "its iss is not its sub"},
		{"iss the venue", jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"iss": v.DID().String()})), "its signature is not by"},
		{"iss an unknown provider", jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"iss": "https://login.example"})), "none of the providers"},
		{"iss no text", jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"iss": 1})), "its iss is no text"},
		{"sub no DID", jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"sub": "me"})), "its sub is no did:key"},
		{"sub the venue", jws(t, jose.EdDSA, me.key, "", me.says(v, claims{"sub": v.DID().String()})), "which calls nothing"},
		{"RS256", jws(t, jose.RS256, rsaKey, "", me.says(v, nil)), "its alg must be EdDSA"},
		{"HS256 with the public key", jws(t, jose.HS256, []byte(me.key.Public().(ed25519.PublicKey)), "", me.says(v, nil)), "its alg must be EdDSA"},
		{"alg none", part(claims{"alg": "none", "typ": "JWT"}) + "." + part(me.says(v, nil)) + ".", "its alg must be EdDSA"},
		{"forged", good[:len(good)-8] + "AAAAAAAA", "its signature is not by"},
		{"two parts", good[:strings.LastIndex(good, ".")], "it is no JWT"},
		{"no base64", "a.%.b", "not base64url"},
		{"no object", "a." + part([]int{1}) + ".b", "no JSON object"},
		{"empty", "", "it is neither a JWT nor a UCAN invocation"},
		{"large", strings.Repeat("a", auth.MaxToken+1), "at most 16384 are read"},
	} {
		p, err := v.Authenticate(t.Context(), tt.token)
		if p != nil || err == nil || !strings.Contains(err.Error(), tt.want) || fault.Of(err) != fault.Unauthenticated {
			t.Errorf("%s: %v (%s), want %q", tt.name, err, fault.Of(err), tt.want)
		}
	}
}

// What a jti names works once, also over a restart, and however it was spelt around it.
func TestSelfIssuedTokenThatWorksOnce(t *testing.T) {
	dir := t.TempDir()
	v := open(t, &venue.Options{Dir: dir})
	me, eve := newSelf(t), newSelf(t)
	once := me.says(v, claims{"jti": "1"})
	token := jws(t, jose.EdDSA, me.key, "", once)
	if _, err := v.Authenticate(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Authenticate(t.Context(), jws(t, jose.EdDSA, eve.key, "", eve.says(v, claims{"jti": "1"}))); err != nil {
		t.Errorf("the same jti of another: %v", err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	v = open(t, &venue.Options{Dir: dir})
	later := me.says(v, claims{"jti": "1", "exp": time.Now().Add(11 * time.Minute).Unix()})
	for name, replay := range map[string]string{
		"the same": token, "signed again": jws(t, jose.EdDSA, me.key, me.did, once), "of another end": jws(t, jose.EdDSA, me.key, "", later),
	} {
		if _, err := v.Authenticate(t.Context(), replay); err == nil || !strings.Contains(err.Error(), "it was used before") {
			t.Errorf("%s: %v, want that it was used before", name, err)
		}
	}
}

// A principal ends with the token that it was made from.
func TestSelfIssuedTokenThatEnds(t *testing.T) {
	var later atomic.Int64
	v := open(t, &venue.Options{Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
	me := newSelf(t)
	p, err := v.Authenticate(t.Context(), jws(t, jose.EdDSA, me.key, "", me.says(v, nil)))
	if err != nil {
		t.Fatal(err)
	}
	invoke(t, p, "covia:write", `{"path":"w/a","value":1}`)
	later.Store(int64(11 * time.Minute))
	if _, err := p.Invoke(t.Context(), "covia:read", map[string]string{"path": "w/a"}); fault.Of(err) != fault.Unauthenticated {
		t.Errorf("after its token has expired somebody invokes: %v", err)
	}
}

// venueToken has a principal make a token of the venue.
func venueToken(t *testing.T, p *venue.Principal, input string) string {
	t.Helper()
	var made tokens.CreateResult
	if err := json.Unmarshal([]byte(invoke(t, p, "token:create", input)), &made); err != nil {
		t.Fatal(err)
	}
	return made.Secret
}

// A token of the venue is its maker as long as it is listed.
func TestVenueToken(t *testing.T) {
	var later atomic.Int64
	dir := t.TempDir()
	opts := venue.Options{Dir: dir, Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }}
	v := open(t, &opts)
	alice := user(t, v, "alice")
	laptop, phone := venueToken(t, alice, `{"name":"laptop"}`), venueToken(t, alice, `{"name":"phone","for":"720h"}`)
	if _, err := alice.Invoke(t.Context(), "token:create", map[string]string{"name": "phone"}); fault.Of(err) != fault.InTheWay {
		t.Errorf("a second token phone: %v", err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	v = open(t, &opts)
	alice = user(t, v, "alice")
	bob := user(t, v, "bob")
	p, err := v.Authenticate(t.Context(), laptop)
	if err != nil || p.DID() != alice.DID() {
		t.Fatalf("the token is %v, %v; want alice", p, err)
	}
	if list := invoke(t, p, "token:list", `{}`); !strings.Contains(list, `"name":"laptop"`) || !strings.Contains(list, `"used":`) || strings.Contains(list, laptop) {
		t.Errorf("the list is %s", list)
	}
	if list := invoke(t, bob, "token:list", `{}`); list != `{"tokens":[]}` {
		t.Errorf("bob sees %s", list)
	}
	if got := invoke(t, bob, "token:revoke", `{"name":"laptop"}`); got != `{"name":"laptop","revoked":false}` {
		t.Errorf("bob revokes a token of alice: %s", got)
	}
	invoke(t, p, "token:revoke", `{"name":"laptop"}`)
	if _, err := p.Invoke(t.Context(), "token:list", struct{}{}); err == nil || !strings.Contains(err.Error(), "it was revoked") {
		t.Errorf("with a token that was revoked somebody lists: %v", err)
	}
	again := venueToken(t, alice, `{"name":"laptop"}`)
	if _, err := v.Authenticate(t.Context(), laptop); err == nil || !strings.Contains(err.Error(), "it was revoked") {
		t.Errorf("the token that was revoked works under a new one's name: %v", err)
	}
	if _, err := open(t, nil).Authenticate(t.Context(), again); err == nil {
		t.Error("another venue takes the token")
	}
	later.Store(int64(25 * time.Hour))
	if _, err := v.Authenticate(t.Context(), again); err == nil || !strings.Contains(err.Error(), "it expired") {
		t.Errorf("the token holds for ever: %v", err)
	}
	if _, err := v.Authenticate(t.Context(), phone); err != nil {
		t.Errorf("the token that holds longer: %v", err)
	}
}

// Who could do less than the bearer of a token makes none.
func TestTokensAreForPersons(t *testing.T) {
	model := new(puppet)
	opts := with(model)
	opts.Auth.Anonymous = &config.AnonymousCaps{Caps: caps.Declare(caps.Of(caps.MustCapability("", "*")))}
	v := open(t, opts)
	alice := user(t, v, "alice")
	s := spec("bob", "", `null`)
	s.Tools = []string{"token:*", "grid:*"}
	bob := create(t, alice, s)
	for name, input := range map[string]string{"token_create": `{"name":"mine"}`, "token_revoke": `{"name":"hers"}`, "grid_run": `{"operation":"token:create","input":{"name":"mine"}}`} {
		if done := attempt(t, bob, model, name, input); done.Outcome != runtime.ToolFailed {
			t.Errorf("%s of an agent is %s: %s", name, done.Outcome, done.Result)
		}
	}
	if list := invoke(t, alice, "token:list", `{}`); list != `{"tokens":[]}` {
		t.Errorf("an agent made %s", list)
	}
	nobody, err := v.Anonymous(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nobody.Invoke(t.Context(), "token:create", map[string]string{"name": "mine"}); fault.Of(err) != fault.Refused {
		t.Errorf("anonymous makes a token: %v", err)
	}
	if _, err := v.Session(t.Context(), nobody, time.Hour); fault.Of(err) != fault.Refused {
		t.Errorf("anonymous gets a session of the user: %v", err)
	}
	for _, input := range []string{`{"name":""}`, `{"name":"a b"}`, `{"name":"a","for":"0s"}`, `{"name":"a","for":"10000h"}`} {
		if _, err := alice.Invoke(t.Context(), "token:create", json.RawMessage(input)); fault.Of(err) != fault.InvalidInput {
			t.Errorf("token:create %s: %v", input, err)
		}
	}
}

func TestAnonymous(t *testing.T) {
	if _, err := open(t, nil).Anonymous(t.Context()); !errors.Is(err, auth.ErrNoToken) {
		t.Errorf("a venue lets anybody in: %v", err)
	}
	v := open(t, &venue.Options{Auth: config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(caps.Of(caps.MustCapability("w/open", "crud")))}}})
	nobody, err := v.Anonymous(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	invoke(t, nobody, "covia:write", `{"path":"w/open/a","value":1}`)
	if _, err := nobody.Invoke(t.Context(), "covia:write", map[string]any{"path": "w/a", "value": 1}); fault.Of(err) != fault.Denied {
		t.Errorf("anonymous writes beyond its bounds: %v", err)
	}
	_, _, listed := nobody.Runs(t.Context(), "", 1)
	_, looked := nobody.Run(t.Context(), "x")
	stopped := nobody.Stop(t.Context(), "x")
	_, resumed := nobody.Resume(t.Context(), "x")
	_, asked := nobody.OpenCalls(t.Context(), "x")
	_, cut := nobody.Interruption(t.Context(), "x")
	var followed error
	for _, err := range nobody.Events(t.Context(), "x", 0) {
		followed = err
	}
	for name, err := range map[string]error{"lists runs": listed, "looks at one": looked, "stops one": stopped, "resumes one": resumed, "follows one": followed, "lists its open calls": asked, "looks at how it was cut": cut} {
		if fault.Of(err) != fault.Denied {
			t.Errorf("anonymous, who holds nothing on jobs, %s: %v", name, err)
		}
	}
	if _, err := nobody.Agent(t.Context(), "x"); fault.Of(err) != fault.Refused {
		t.Errorf("anonymous has an agent as its owner has it: %v", err)
	}
	if p, err := v.Authenticate(t.Context(), "x.y.z"); err == nil {
		t.Errorf("a bad token makes %s", p.DID())
	}
}

// issuerOf is a provider of OpenID Connect.
type issuerOf struct {
	*httptest.Server
	keys  jose.JSONWebKeySet
	asked atomic.Int32
}

func newProvider(t *testing.T) *issuerOf {
	t.Helper()
	o := new(issuerOf)
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(claims{"issuer": o.URL, "jwks_uri": o.URL + "/keys", "authorization_endpoint": o.URL, "token_endpoint": o.URL})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		o.asked.Add(1)
		_ = json.NewEncoder(w).Encode(o.keys)
	})
	o.Server = httptest.NewServer(mux)
	t.Cleanup(o.Close)
	return o
}

func (o *issuerOf) add(kid string, alg jose.SignatureAlgorithm, public crypto.PublicKey) {
	o.keys.Keys = append(o.keys.Keys, jose.JSONWebKey{Key: public, KeyID: kid, Algorithm: string(alg), Use: "sig"})
}

// signsIn authenticates with a key that the provider has just got. A fetch of its keys from before,
// that has answered and is not put away yet, answers for the new one too: then it tries again.
func signsIn(t *testing.T, v *venue.Venue, token string) (p *venue.Principal, err error) {
	t.Helper()
	for range 1000 {
		if p, err = v.Authenticate(t.Context(), token); err == nil {
			break
		}
		goruntime.Gosched()
	}
	return p, err
}

// An ID token of a provider that the venue trusts is one of its users here.
func TestOpenIDToken(t *testing.T) {
	o := newProvider(t)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	edPublic, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	o.add("r", jose.RS256, rsaKey.Public())
	o.add("e", jose.ES256, ecKey.Public())
	v := open(t, &venue.Options{Auth: config.Auth{Providers: []config.Provider{{Name: "acme", Issuer: o.URL, ClientID: "usher", Claim: "email"}}}})
	now := time.Now().Unix()
	says := func(changes claims) claims {
		all := claims{"iss": o.URL, "sub": "1", "aud": "usher", "iat": now, "exp": now + 600, "email": "ann@acme.example", "email_verified": true}
		maps.Copy(all, changes)
		maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
		return all
	}
	ann := user(t, v, "acme:ann@acme.example").DID()
	for name, token := range map[string]string{
		"RS256": jws(t, jose.RS256, rsaKey, "r", says(nil)), "ES256": jws(t, jose.ES256, ecKey, "e", says(nil)),
	} {
		if p, err := v.Authenticate(t.Context(), token); err != nil || p.DID() != ann {
			t.Errorf("%s: %v, want acme:ann", name, err)
		}
	}
	before := o.asked.Load()
	o.add("d", jose.EdDSA, edPublic) // the provider has a new key
	if p, err := signsIn(t, v, jws(t, jose.EdDSA, edKey, "d", says(nil))); err != nil || p.DID() != ann {
		t.Errorf("a new key: %v, want acme:ann", err)
	}
	if _, err := v.Authenticate(t.Context(), jws(t, jose.EdDSA, edKey, "d", says(nil))); err != nil || o.asked.Load() != before+1 {
		t.Errorf("%v; the provider was asked %d times for its new key, want once", err, o.asked.Load()-before)
	}
	for _, tt := range []struct{ name, token, want string }{
		{"another client", jws(t, jose.RS256, rsaKey, "r", says(claims{"aud": "other"})), "did not sign it for this venue"},
		{"expired", jws(t, jose.RS256, rsaKey, "r", says(claims{"exp": now - 1})), "expired"},
		{"another's key", jws(t, jose.ES256, ecKey, "r", says(nil)), "did not sign it"},
		{"HS256 with the public key", jws(t, jose.HS256, rsaKey.N.Bytes(), "r", says(nil)), "did not sign it"},
		{"email not verified", jws(t, jose.RS256, rsaKey, "r", says(claims{"email_verified": false})), "has not verified its email"},
		{"no email", jws(t, jose.RS256, rsaKey, "r", says(claims{"email": nil})), "it has no email"},
		{"long", jws(t, jose.RS256, rsaKey, "r", says(claims{"email": strings.Repeat("a", 200)})), "too long"},
	} {
		if _, err := v.Authenticate(t.Context(), tt.token); err == nil || !strings.Contains(err.Error(), tt.want) || fault.Of(err) != fault.Unauthenticated {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A token that names a key that nobody has cannot have a provider asked without end, and
// keeps nobody out whose key is known, or new.
func TestOpenIDKeysThatNobodyHas(t *testing.T) {
	o := newProvider(t)
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	o.add("a", jose.EdDSA, public)
	var later atomic.Int64
	began := time.Now()
	v := open(t, &venue.Options{
		Now:  func() time.Time { return began.Add(time.Duration(later.Load())) },
		Auth: config.Auth{Providers: []config.Provider{{Name: "acme", Issuer: o.URL, ClientID: "usher"}}},
	})
	token := func(kid string) string {
		return jws(t, jose.EdDSA, key, kid, claims{"iss": o.URL, "sub": "1", "aud": "usher", "iat": began.Unix(), "exp": began.Unix() + 600})
	}
	for range 50 {
		if _, err := v.Authenticate(t.Context(), token("nobody's")); fault.Of(err) != fault.Unauthenticated {
			t.Fatal(err)
		}
	}
	if n := o.asked.Load(); n > 4 {
		t.Errorf("the provider was asked %d times for its keys", n)
	}
	if _, err := v.Authenticate(t.Context(), token("a")); err != nil {
		t.Errorf("a key that is known: %v", err)
	}
	o.add("b", jose.EdDSA, public)
	later.Store(int64(5 * time.Second))
	for range 50 {
		if _, err := v.Authenticate(t.Context(), token("nobody's")); fault.Of(err) != fault.Unauthenticated {
			t.Fatal(err)
		}
	}
	if _, err := signsIn(t, v, token("b")); err != nil {
		t.Errorf("a new key, seconds later and after as many tokens of nobody's: %v", err)
	}
}

// An identity token that a caller signs lives no longer than other tokens of theirs.
func TestIdentityTokenThatLivesTooLong(t *testing.T) {
	v := open(t, nil)
	issuer := newIssuer(t)
	for life, want := range map[time.Duration]bool{24 * time.Hour: true, 25 * time.Hour: false} {
		l, err := issuer.Identity(v.DID(), time.Now().Add(life))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Authenticate(t.Context(), l.Text()); (err == nil) != want || err != nil && fault.Of(err) != fault.Unauthenticated {
			t.Errorf("one of %s: %v", life, err)
		}
	}
	if token, err := v.Session(t.Context(), user(t, v, "alice"), 48*time.Hour); err != nil {
		t.Error(err)
	} else if _, err := v.Authenticate(t.Context(), token); err != nil {
		t.Errorf("a session, which the venue signs: %v", err)
	}
}

// Who may neither run nor read what a user keeps below o/ is told the same of all of it.
func TestOperationsThatOneMayNotSee(t *testing.T) {
	v := open(t, &venue.Options{Auth: config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(caps.Of(caps.MustCapability("w/open", "crud")))}}})
	owner := user(t, v, auth.AnonymousUser)
	invoke(t, owner, "covia:write", `{"path":"o/lists","value":{"operation":{"adapter":"covia:list"}}}`)
	invoke(t, owner, "covia:write", `{"path":"o/broken","value":{"operation":{"adapter":"secret-adapter"}}}`)
	nobody, err := v.Anonymous(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"o/lists", "o/broken", "o/nothing", "o/covia:list"} {
		_, err := nobody.Operation(t.Context(), name)
		if want := (&tools.NotFoundError{Reference: name}).Error(); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := owner.Operation(t.Context(), "o/lists"); err != nil {
		t.Error(err)
	}
}

// Who came in with bounds allows nothing for others, who could then do what the bounds
// keep from them.
func TestWhoIsBoundedAllowsNothing(t *testing.T) {
	d := deskOf(t, venue.Options{Idle: true, Auth: config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(caps.Of(caps.MustCapability("approvals", "approval")))}}})
	d.alice = user(t, d.v, auth.AnonymousUser)
	nobody, err := d.v.Anonymous(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	req := d.lacks(t, d.clerk(t, true), "main", "w/notes/1")
	if _, err := nobody.Invoke(t.Context(), "approval:approve", map[string]string{"id": req.ID}); fault.Of(err) != fault.Refused {
		t.Errorf("anonymous allows what it may not do: %v", err)
	}
	if now := d.show(t, req.ID); now.Status != approvals.Pending {
		t.Errorf("the request is %s", now.Status)
	}
	if _, err := nobody.Invoke(t.Context(), "approval:deny", map[string]string{"id": req.ID}); err != nil {
		t.Errorf("anonymous refuses: %v", err)
	}
}

// Who follows a run as an agent follows it as long as the agent may.
func TestFollowingEndsWithTheCapability(t *testing.T) {
	v := open(t, with(new(puppet)))
	alice := user(t, v, "alice")
	s := spec("carol", "", `null`)
	s.Identity = "own"
	info, err := create(t, alice, s).Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := v.Identity(t.Context(), info.DID)
	if err != nil {
		t.Fatal(err)
	}
	p, err := v.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	step := `{"op":"covia:list","input":{}}`
	invoke(t, p, "covia:write", `{"path":"o/two","value":{"operation":{"adapter":"orchestrator","steps":[`+step+`,`+step+`]}}}`)
	id, err := p.Start(t.Context(), "o/two", struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	events, failed := 0, error(nil)
	for _, err := range p.Events(t.Context(), id, 0) {
		if failed = err; err == nil {
			events++
		}
		if events == 1 {
			invoke(t, alice, "agent:suspend", `{"agentId":"carol"}`)
		}
	}
	if events != 1 || fault.Of(failed) != fault.Denied {
		t.Errorf("after the agent was suspended %d events came, and %v", events-1, failed)
	}
}

// An agent with a key of its own comes as that agent, within its capabilities.
func TestAnAgentComesAsItself(t *testing.T) {
	opts := with(new(puppet))
	opts.Dir = t.TempDir()
	v := open(t, opts)
	alice := user(t, v, "alice")
	s := spec("carol", "", `[{"with":"w/mine","can":"crud"}]`)
	s.Identity = "own"
	carol := create(t, alice, s)
	info, err := carol.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := v.Identity(t.Context(), info.DID)
	if err != nil {
		t.Fatal(err)
	}
	p, err := v.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	invoke(t, p, "covia:write", `{"path":"w/mine/a","value":1}`)
	if _, err := p.Invoke(t.Context(), "covia:write", map[string]any{"path": "w/other", "value": 1}); fault.Of(err) != fault.Denied {
		t.Errorf("the agent writes beyond its capabilities: %v", err)
	}
	if _, err := v.Session(t.Context(), p, time.Hour); fault.Of(err) != fault.Refused {
		t.Errorf("the agent gets a session: %v", err)
	}
	invoke(t, alice, "agent:suspend", `{"agentId":"carol"}`)
	if _, err := p.Invoke(t.Context(), "covia:read", map[string]string{"path": "w/mine/a"}); fault.Of(err) != fault.Denied {
		t.Errorf("the agent that is suspended reads: %v", err)
	}
	invoke(t, alice, "agent:delete", `{"agentId":"carol","remove":true}`)
	wantNobody := func(v *venue.Venue) {
		t.Helper()
		p, err := v.Authenticate(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := p.Invoke(t.Context(), "covia:read", map[string]string{"path": "w/mine/a"}); fault.Of(err) != fault.Denied {
			t.Errorf("the agent that has ended reads %s, %v", out, err)
		}
		if _, err := v.Session(t.Context(), p, time.Hour); fault.Of(err) != fault.Refused {
			t.Errorf("the agent that has ended gets a session: %v", err)
		}
	}
	wantNobody(v)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	wantNobody(open(t, opts))
}

// A UCAN invocation lets its signer do what it invokes, once, with what was delegated too.
func TestInvocationAsBearer(t *testing.T) {
	hands := newHands(time.Now())
	v := open(t, &venue.Options{Now: hands.Now})
	alice := user(t, v, "alice")
	for _, path := range []string{"w/notes/a", "w/other"} {
		if _, err := alice.Invoke(t.Context(), "covia:write", map[string]any{"path": path, "value": "alice's"}); err != nil {
			t.Fatal(err)
		}
	}
	issuer := newIssuer(t)
	bob := issuer.Key.DID()
	if _, err := alice.Invoke(t.Context(), "ucan:issue", map[string]any{"audience": bob.String(), "attenuations": []any{map[string]any{"with": "w/notes", "can": "crud"}}, "exp": hands.Now().Unix() + 3600}); err != nil {
		t.Fatal(err)
	}
	read := func(p *venue.Principal, path string) error {
		_, err := p.Invoke(t.Context(), "covia:read", map[string]any{"path": path})
		return err
	}
	sign := func(c ucan.Call) *ucan.Invocation {
		t.Helper()
		if c.Expires.IsZero() {
			c.Expires = hands.Now().Add(time.Minute)
		}
		if c.Audience.IsZero() {
			c.Audience = v.DID()
		}
		inv, err := issuer.Key.Invoke(c, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return inv
	}
	theirs := alice.DID().String() + "/w/notes"
	good := sign(ucan.Call{Subject: alice.DID(), Can: "crud/read", Args: map[string]any{"with": theirs}})
	p, err := v.Authenticate(t.Context(), good.Text())
	if err != nil || p.DID() != bob {
		t.Fatalf("Authenticate = %v, %v, want %s", p, err, bob)
	}
	if err := read(p, theirs+"/a"); err != nil {
		t.Errorf("what it invokes: %v", err)
	}
	for name, err := range map[string]error{
		"outside of it": read(p, alice.DID().String()+"/w/other"),
		"at home":       read(p, "w/notes/a"),
		"another ability": func() error {
			_, err := p.Invoke(t.Context(), "covia:write", map[string]any{"path": theirs + "/a", "value": 1})
			return err
		}(),
	} {
		if fault.Of(err) != fault.Denied {
			t.Errorf("%s: %v, want a denial", name, err)
		}
	}
	mine := sign(ucan.Call{Subject: bob, Can: "crud", Args: map[string]any{}})
	if p, err := v.Authenticate(t.Context(), mine.Text()); err != nil {
		t.Error(err)
	} else if err := read(p, "w/x"); err != nil {
		t.Errorf("all that is one's own: %v", err)
	}
	stranger := newIssuer(t)
	for _, tt := range []struct {
		name string
		inv  *ucan.Invocation
		want string
	}{
		{"again", good, "was used before"},
		{"for another venue", sign(ucan.Call{Subject: alice.DID(), Audience: stranger.Key.DID(), Can: "crud/read", Args: map[string]any{"with": theirs}}), "carried out by"},
		{"long", sign(ucan.Call{Subject: alice.DID(), Can: "crud/read", Args: map[string]any{"with": theirs}, Expires: hands.Now().Add(time.Hour)}), "may live 5m0s"},
		{"expired", sign(ucan.Call{Subject: alice.DID(), Can: "crud/read", Args: map[string]any{"with": theirs}, Expires: hands.Now().Add(-time.Second)}), "expired"},
		{"bare", sign(ucan.Call{Subject: alice.DID(), Can: "crud/read", Args: map[string]any{"with": "w/notes"}}), "whose it is"},
		{"no resource", sign(ucan.Call{Subject: alice.DID(), Can: "crud/read", Args: map[string]any{"with": 7}}), "it is no text"},
	} {
		if _, err := v.Authenticate(t.Context(), tt.inv.Text()); fault.Of(err) != fault.Unauthenticated || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	late := sign(ucan.Call{Subject: bob, Can: "crud", Args: map[string]any{}})
	if p, err = v.Authenticate(t.Context(), late.Text()); err != nil {
		t.Fatal(err)
	}
	hands.Add(2 * time.Minute)
	if err := read(p, "w/x"); fault.Of(err) != fault.Unauthenticated {
		t.Errorf("after it expired: %v", err)
	}
}

// Who has a key that the venue does not know has a namespace, and what is delegated to the key: no
// agents, which ask the venue's models, unless the configuration says so, or knows the key.
func TestGuests(t *testing.T) {
	me := newSelf(t)
	for name, tt := range map[string]struct {
		auth         config.Auth
		comes, works bool
	}{
		"by default":       {comes: true},
		"with agents":      {auth: config.Auth{Guests: config.Guests{Agents: true}}, comes: true, works: true},
		"refused":          {auth: config.Auth{Guests: config.Guests{Refused: true}}},
		"known":            {auth: config.Auth{Known: []string{me.did}}, comes: true, works: true},
		"known, no others": {auth: config.Auth{Known: []string{me.did}, Guests: config.Guests{Refused: true}}, comes: true, works: true},
	} {
		t.Run(name, func(t *testing.T) {
			v := open(t, &venue.Options{Auth: tt.auth, Models: map[string]runtime.Model{"default": offline.Model{}}})
			p, err := v.Authenticate(t.Context(), jws(t, jose.EdDSA, me.key, "", me.says(v, nil)))
			if (err == nil) != tt.comes {
				t.Fatalf("Authenticate = %v", err)
			}
			if err != nil {
				if fault.Of(err) != fault.Unauthenticated || !strings.Contains(err.Error(), "auth.known") {
					t.Errorf("Authenticate = %v", err)
				}
				return
			}
			if _, err := p.Invoke(t.Context(), "covia:write", map[string]any{"path": "w/a", "value": 1}); err != nil {
				t.Error(err)
			}
			_, err = p.Invoke(t.Context(), "agent:create", map[string]any{"agentId": "A", "config": map[string]any{"prompt": "x"}})
			if (err == nil) != tt.works || err != nil && fault.Of(err) != fault.Refused {
				t.Errorf("agent:create: %v", err)
			}
		})
	}
}

// Callers come as often as the configuration says: each user, and all guests together.
func TestRates(t *testing.T) {
	hands := newHands(time.Now())
	v := open(t, &venue.Options{Now: hands.Now, Auth: config.Auth{Requests: 3, Guests: config.Guests{Requests: 2}}})
	token := func(name string) string {
		text, err := v.Session(t.Context(), user(t, v, name), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	guest := func() string {
		me := newSelf(t)
		return jws(t, jose.EdDSA, me.key, "", me.says(v, nil))
	}
	come := func(token string) fault.Code {
		_, err := v.Authenticate(t.Context(), token)
		return fault.Of(err)
	}
	alice, bob := token("alice"), token("bob")
	for n, tt := range []struct {
		token string
		want  fault.Code
	}{
		{alice, ""},
		{alice, ""},
		{alice, ""},
		{alice, fault.RateLimited},
		{bob, ""},
		{guest(), ""},
		{guest(), ""},
		{guest(), fault.RateLimited},
		{bob, ""},
	} {
		if got := come(tt.token); got != tt.want {
			t.Errorf("call %d: %q, want %q", n, got, tt.want)
		}
	}
	hands.Add(time.Second)
	if got := come(alice); got != "" {
		t.Errorf("a second later: %q", got)
	}
}

// Of a request that is one too many nothing is kept: a token that works once works later.
func TestRatesBeforeOnce(t *testing.T) {
	hands := newHands(time.Now())
	v := open(t, &venue.Options{Now: hands.Now, Auth: config.Auth{Guests: config.Guests{Requests: 1}}})
	once := func(jti string) string {
		me := newSelf(t)
		return jws(t, jose.EdDSA, me.key, "", me.says(v, map[string]any{"jti": jti}))
	}
	first, second := once("a"), once("b")
	come := func(token string) error {
		_, err := v.Authenticate(t.Context(), token)
		return err
	}
	if err := come(first); err != nil {
		t.Fatal(err)
	}
	if err := come(second); fault.Of(err) != fault.RateLimited {
		t.Fatalf("one too many: %v", err)
	}
	hands.Add(time.Second)
	if err := come(second); err != nil {
		t.Errorf("a second later: %v", err)
	}
	hands.Add(time.Second)
	if err := come(second); fault.Of(err) != fault.Unauthenticated {
		t.Errorf("again: %v", err)
	}
}

// A token that a guest makes, and a session that begins with it, are a guest's.
func TestGuestsTokens(t *testing.T) {
	me, dir := newSelf(t), t.TempDir()
	var made tokens.CreateResult
	enter := func(guests config.Guests, try func(v *venue.Venue)) {
		hands := newHands(time.Now())
		v := open(t, &venue.Options{Dir: dir, Now: hands.Now, Auth: config.Auth{Guests: guests}})
		try(v)
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var secret string
	enter(config.Guests{}, func(v *venue.Venue) {
		p, err := v.Authenticate(t.Context(), jws(t, jose.EdDSA, me.key, "", me.says(v, nil)))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := p.Invoke(t.Context(), "token:create", tokens.New{Name: "mine"})
		if err == nil {
			err = json.Unmarshal(raw, &made)
		}
		if err != nil {
			t.Fatal(err)
		}
		if secret, err = v.SignIn(t.Context(), made.Secret); err != nil {
			t.Fatal(err)
		}
	})
	enter(config.Guests{Requests: 2}, func(v *venue.Venue) {
		for n, want := range []fault.Code{"", "", fault.RateLimited} {
			if _, err := v.Authenticate(t.Context(), made.Secret); fault.Of(err) != want {
				t.Errorf("call %d: %v, want %q", n, err, want)
			}
		}
	})
	enter(config.Guests{Requests: 2}, func(v *venue.Venue) { // what guests share they share signed in, too
		p, _, err := v.BySession(t.Context(), secret)
		if err != nil || !p.Guest() {
			t.Fatalf("who signed in is no guest: %v", err)
		}
		for n, want := range []fault.Code{"", fault.RateLimited} {
			if err := p.Again(); fault.Of(err) != want {
				t.Errorf("one request more, %d: %v, want %q", n, err, want)
			}
		}
	})
	enter(config.Guests{Refused: true}, func(v *venue.Venue) {
		if _, err := v.Authenticate(t.Context(), made.Secret); fault.Of(err) != fault.Unauthenticated {
			t.Errorf("the token, where no guests are let in: %v", err)
		}
		if _, _, err := v.BySession(t.Context(), secret); fault.Of(err) != fault.Unauthenticated {
			t.Errorf("the session, where no guests are let in: %v", err)
		}
	})
}

// A token does not make one that outlives it.
func TestTokenOfToken(t *testing.T) {
	v := open(t, nil)
	make := func(p *venue.Principal, in any) (tokens.CreateResult, error) {
		raw, err := p.Invoke(t.Context(), "token:create", in)
		var made tokens.CreateResult
		if err == nil {
			err = json.Unmarshal(raw, &made)
		}
		return made, err
	}
	first, err := make(user(t, v, "alice"), tokens.New{Name: "first", For: "1h"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := v.Authenticate(t.Context(), first.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := make(p, tokens.New{Name: "long", For: "720h"}); fault.Of(err) != fault.Refused || !strings.Contains(err.Error(), "ends by then") {
		t.Errorf("a longer one: %v", err)
	}
	if _, err := make(p, tokens.New{Name: "short", For: "10m"}); err != nil {
		t.Errorf("a shorter one: %v", err)
	}
	if made, err := make(p, tokens.New{Name: "usual"}); err != nil || made.Expires > first.Expires {
		t.Errorf("one of the usual life ends at %d, the token that made it at %d: %v", made.Expires, first.Expires, err)
	}
}

// Tokens that have expired are none of the most that a principal may have.
func TestMostTokens(t *testing.T) {
	hands := newHands(time.Now())
	v := open(t, &venue.Options{Now: hands.Now})
	alice := user(t, v, "alice")
	make := func(n int) error {
		_, err := alice.Invoke(t.Context(), "token:create", tokens.New{Name: fmt.Sprintf("t%d", n), For: "1h"})
		return err
	}
	const most = 256
	for n := range most {
		if err := make(n); err != nil {
			t.Fatal(err)
		}
	}
	if err := make(most); fault.Of(err) != fault.LimitReached {
		t.Errorf("one more: %v", err)
	}
	hands.Add(2 * time.Hour)
	if err := make(most); err != nil {
		t.Errorf("when the others have expired: %v", err)
	}
	raw, err := alice.Invoke(t.Context(), "token:list", tokens.Query{})
	var list tokens.Listing
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil || len(list.Tokens) != 1 {
		t.Errorf("%d tokens are left: %v", len(list.Tokens), err)
	}
}

// The venue reaches nothing elsewhere for guests: anybody can make a key.
func TestGuestsReachNothingElsewhere(t *testing.T) {
	me := newSelf(t)
	var reached atomic.Int32
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		http.NotFound(w, nil)
	}))
	defer there.Close()
	host := strings.TrimPrefix(there.URL, "http://")
	for name, tt := range map[string]struct {
		auth    config.Auth
		reaches bool
	}{
		"guests":             {},
		"guests with agents": {config.Auth{Guests: config.Guests{Agents: true}}, true},
		"known":              {config.Auth{Known: []string{me.did}}, true},
	} {
		v := open(t, &venue.Options{Auth: tt.auth, Config: parse(t, "name: V\nagentauth: {private_servers: ['"+host+"']}\na2a: {private_servers: ['"+host+"']}\n")})
		p, err := v.Authenticate(t.Context(), jws(t, jose.EdDSA, me.key, "", me.says(v, nil)))
		if err != nil {
			t.Fatal(err)
		}
		for operation, input := range map[string]map[string]any{
			"a2a:card":           {"agent": there.URL},
			"a2a:send":           {"agent": there.URL, "message": "x"},
			"agentauth:discover": {"server": there.URL},
			"agentauth:list":     {"server": there.URL},
			"agentauth:register": {"server": there.URL, "capabilities": []any{}},
		} {
			reached.Store(0)
			_, err := p.Invoke(t.Context(), operation, input)
			if (reached.Load() > 0) != tt.reaches || !tt.reaches && fault.Of(err) != fault.Refused {
				t.Errorf("%s, %s: reached %d times, %v", name, operation, reached.Load(), err)
			}
		}
	}
}

// What a person would have to allow is not allowed to who is let go on, and asks nobody. What
// a person did allow goes on to its end.
func TestWhatIsAskedAboutIsNotAllowed(t *testing.T) {
	ask := func(with, can string) caps.Capability {
		c, err := caps.MustCapability(with, can).On(caps.Terms{Ask: true})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	v := open(t, &venue.Options{
		Models: map[string]runtime.Model{"default": new(puppet)},
		Auth:   config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(caps.Of(ask("w/", "crud/read"), ask("g/", "agent/message")))}},
	})
	owner := user(t, v, auth.AnonymousUser)
	create(t, owner, spec("bob", "", `[]`))
	nobody, err := v.Anonymous(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := nobody.Still(t.Context(), "covia:read", map[string]string{"path": "w/a"}); fault.Of(err) != fault.ApprovalRequired {
		t.Errorf("what a person has to allow is let go on: %v", err)
	}
	if err := nobody.Still(t.Context(), "covia:write", map[string]any{"path": "w/a", "value": 1}); fault.Of(err) != fault.Denied {
		t.Errorf("what is denied is let go on: %v", err)
	}
	if list := invoke(t, owner, "approval:list", `{}`); !strings.Contains(list, `"requests":[]`) {
		t.Errorf("looking has asked a person: %s", list)
	}
	in := agents.Chat{AgentID: "bob", Message: "hello"}
	_, err = nobody.Talk(t.Context(), in)
	wait, waits := errors.AsType[*tools.WaitError](err)
	if !waits {
		t.Fatalf("an agent is talked with that a person has to allow: %v", err)
	}
	invoke(t, owner, "approval:approve", `{"id":"`+wait.Approval+`"}`)
	talk, err := nobody.Talk(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if err := talk.Still(t.Context()); err != nil {
		t.Errorf("the approved turn is not heard to its end: %v", err)
	}
	for _, err := range talk.Events(t.Context()) {
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := talk.Answer(); err != nil {
		t.Error(err)
	}
}

// Who sees an id that the venue has made learns nothing of the secret of a session that begins in the
// same moment, nor of what a provider is asked then.
func TestSecretsAreNoIDs(t *testing.T) {
	at := time.Now()
	v := open(t, &venue.Options{Now: func() time.Time { return at }})
	alice, err := v.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := alice.Invoke(t.Context(), "token:create", tokens.New{Name: "laptop"})
	if err != nil {
		t.Fatal(err)
	}
	var made tokens.CreateResult
	if err := json.Unmarshal(raw, &made); err != nil {
		t.Fatal(err)
	}
	var secrets []string
	for range 3 {
		secret, err := v.SignIn(t.Context(), made.Secret)
		if err != nil {
			t.Fatal(err)
		}
		_, random, _ := strings.Cut(secret, ".")
		secrets = append(secrets, random)
	}
	for i, one := range secrets[1:] {
		same := 0
		for same < len(one) && one[same] == secrets[i][same] {
			same++
		}
		if same > 4 || len(one) < 22 {
			t.Errorf("%s follows %s: they have %d signs in common", one, secrets[i], same)
		}
	}
}
