package server_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"usher/venue"
	"usher/venue/config"
)

// vault is a world where writes take a passkey.
type vault struct {
	*world
	ahead atomic.Int64
}

func openVault(t *testing.T) *vault {
	t.Helper()
	text := strings.Replace(settings, "agentauth:\n", "agentauth:\n  issuer: https://venue.example.org\n", 1)
	c, err := config.Parse("usher.yaml", []byte(strings.Replace(text, "approval: session}", `approval: session}
    - {name: guarded_write, operation: 'covia:write', caps: [{with: w/accounts/, can: crud/write}], approval: webauthn}
    - {name: guarded_read, operation: 'covia:read', caps: [{with: w/accounts/, can: crud/read}], approval: webauthn}`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	v := &vault{}
	v.world = visitorOpen(t, &venue.Options{Config: c, Now: func() time.Time { return time.Now().Add(time.Duration(v.ahead.Load())) }})
	v.issuer = "https://venue.example.org"
	return v
}

// passkeys sends a form of the page of passkeys.
func (p *visitorPerson) passkeys(form url.Values) (int, string) {
	p.w.Helper()
	form.Set("forgery", p.forgery)
	r, _ := http.NewRequestWithContext(p.w.Context(), http.MethodPost, p.w.server.URL+"/agent/passkeys", strings.NewReader(form.Encode()))
	status, text, _ := p.open(r)
	return status, text
}

// listed is the page of passkeys.
func (p *visitorPerson) listed() (int, string, http.Header) {
	p.w.Helper()
	r, _ := http.NewRequestWithContext(p.w.Context(), http.MethodGet, p.w.server.URL+"/agent/passkeys", nil)
	return p.open(r)
}

// begun is what the page asks for a new passkey.
func (p *visitorPerson) begun(name string) (form url.Values, page string) {
	p.w.Helper()
	form = url.Values{"action": {"add"}, "name": {name}}
	status, page := p.passkeys(form)
	if status != http.StatusOK || asked(page, "create") == "" {
		p.w.Fatalf("begin a passkey: %d %s", status, page)
	}
	return form, page
}

// enrolled makes a passkey, which one that the person has confirms.
func (p *visitorPerson) enrolled(name string, by *authenticator) *authenticator {
	p.w.Helper()
	a := newAuthenticator(p.w)
	form, page := p.begun(name)
	form.Set("passkey-create", a.create(asked(page, "create")))
	if by != nil {
		form.Set("passkey-get", by.get(asked(page, "get")))
	}
	if status, text := p.passkeys(form); status != http.StatusOK || !strings.Contains(text, "The passkey was made.") || !strings.Contains(text, name) {
		p.w.Fatalf("make a passkey: %d %s", status, text)
	}
	return a
}

// waits registers an agent that asks for what takes a passkey.
func (v *vault) waits() (*agent, url.Values) {
	v.Helper()
	a, status := v.host().register(object{"capabilities": []any{"guarded_write", "guarded_read", "write_again"}})
	if status != http.StatusOK {
		v.Fatalf("register: %d %v", status, a.was)
	}
	return a, url.Values{
		"agent_id": {a.id}, "code": {code(a.was)}, "action": {"approve"}, "seen": {"1"}, "allow": {"guarded_write", "write_again"},
		"limit-guarded_write": {`{"value":{"max":5}}`}, "ttl": {"900"}, "forgery": {v.alice.forgery},
	}
}

// approval is what the page asks before it takes a word.
func (v *vault) approval(form url.Values) string {
	v.Helper()
	status, page, _ := v.alice.form(form)
	get := asked(page, "get")
	if status != http.StatusOK || get == "" || strings.Contains(page, "You have approved") {
		v.Fatalf("approve: %d %s", status, page)
	}
	return get
}

// isPending reports whether an agent has been given nothing.
func (v *vault) isPending(a *agent) bool {
	v.Helper()
	_, out := a.execute("write_again", object{"path": "w/accounts/one", "value": 1})
	return out["error"] == "agent_pending"
}

// A passkey confirms exactly what is approved.
func TestApproveWithPasskey(t *testing.T) {
	v := openVault(t)
	key := v.alice.enrolled("Phone", nil)
	a, form := v.waits()
	status, page, head := v.alice.form(form)
	get := asked(page, "get")
	if status != http.StatusOK || get == "" || !v.isPending(a) {
		t.Fatalf("before the passkey: %d %s", status, page)
	}
	_, rest, _ := strings.Cut(page, "<script>")
	script, _, _ := strings.Cut(rest, "</script>")
	sum := sha256.Sum256([]byte(script))
	policy := head.Get("Content-Security-Policy")
	if !strings.Contains(policy, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") || !strings.Contains(policy, "default-src 'none'") || head.Get("X-Frame-Options") != "DENY" {
		t.Errorf("the policy of the page is %s", policy)
	}
	for _, part := range []string{`value="guarded_write" checked>`, `value="guarded_read">`, "{&#34;value&#34;:{&#34;max&#34;:5}}</textarea>", `data-press="approve"`} {
		if !strings.Contains(page, part) {
			t.Errorf("the page forgets %s", part)
		}
	}
	form.Set("passkey-get", key.get(get))
	v.ahead.Store(int64(4 * time.Minute))
	if status, page, _ := v.alice.form(form); status != http.StatusOK || !strings.Contains(page, "You have approved 2 of 3.") {
		t.Fatalf("approve: %d %s", status, page)
	}
	if status, out := a.execute("guarded_write", object{"path": "w/accounts/one", "value": 5}); status != http.StatusOK {
		t.Errorf("within: %d %v", status, out)
	}
	status, out := a.execute("guarded_write", object{"path": "w/accounts/one", "value": 6})
	v.want("beyond", status, out, 403, "constraint_violated")
	status, out = a.execute("guarded_read", object{"path": "w/accounts/one"})
	v.want("what was not ticked", status, out, 403, "capability_not_granted")
	v.ahead.Add(int64(16 * time.Minute)) // for as long as was chosen
	status, out = a.execute("guarded_write", object{"path": "w/accounts/one", "value": 5})
	v.want("after the time", status, out, 403, "capability_not_granted")
}

// What the answer of a passkey was not for is refused, and uses it up.
func TestPasskeyConfirmsNothingElse(t *testing.T) {
	set := func(name string, values ...string) func(*vault, url.Values, *authenticator) {
		return func(_ *vault, form url.Values, _ *authenticator) { form[name] = values }
	}
	for name, c := range map[string]struct {
		before func(v *vault, form url.Values, key *authenticator) // the authenticator is asked
		after  func(v *vault, form url.Values, key *authenticator) // it has answered
	}{
		"more capabilities":        {after: set("allow", "guarded_write", "guarded_read", "write_again")},
		"fewer capabilities":       {after: set("allow", "guarded_write")},
		"another capability":       {after: set("allow", "guarded_read", "write_again")},
		"other limits":             {after: set("limit-guarded_write", `{"value":{"max":6}}`)},
		"no limits":                {after: set("limit-guarded_write", "")},
		"limits on another":        {after: set("limit-write_again", `{"value":{"max":6}}`)},
		"another time":             {after: set("ttl", "3600")},
		"without an end":           {after: set("ttl", "0")},
		"an answer to nothing":     {after: set("passkey-get", "{}")},
		"no answer that one reads": {after: set("passkey-get", "[")},
		"another agent": {after: func(v *vault, form url.Values, _ *authenticator) {
			_, other := v.waits()
			maps.Copy(form, url.Values{"agent_id": other["agent_id"], "code": other["code"]})
		}},
		"what it asks later": {after: func(v *vault, form url.Values, _ *authenticator) {
			v.ahead.Store(int64(5*time.Minute + time.Second))
		}},
		"another origin":         {before: func(_ *vault, _ url.Values, key *authenticator) { key.origin = "https://venue.example.com" }},
		"another party":          {before: func(_ *vault, _ url.Values, key *authenticator) { key.party = "example.org" }},
		"nobody verified":        {before: func(_ *vault, _ url.Values, key *authenticator) { key.unverified = true }},
		"a counter that is back": {before: func(_ *vault, _ url.Values, key *authenticator) { key.counter -= 1 }},
		"a passkey of another person": {before: func(v *vault, _ url.Values, key *authenticator) {
			*key = *v.signIn("bob").enrolled("Of bob", nil)
		}},
		"a passkey that nobody made": {before: func(v *vault, _ url.Values, key *authenticator) { *key = *newAuthenticator(v) }},
		"another key by the same id": {before: func(v *vault, _ url.Values, key *authenticator) { key.key = newAuthenticator(v).key }},
		"a newer challenge": {after: func(v *vault, form url.Values, _ *authenticator) {
			again := maps.Clone(form)
			again.Del("passkey-get")
			v.approval(again)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := openVault(t)
			key := v.alice.enrolled("Phone", nil)
			a, form := v.waits()
			get := v.approval(form)
			if c.before != nil {
				c.before(v, form, key)
			}
			form.Set("passkey-get", key.get(get))
			right := maps.Clone(form)
			if c.after != nil {
				c.after(v, form, key)
			}
			status, page, _ := v.alice.form(form)
			if status != http.StatusForbidden || strings.Contains(page, "You have approved") {
				t.Errorf("%d %s", status, page)
			}
			v.ahead.Store(0)
			if status, _, _ := v.alice.form(right); status != http.StatusForbidden {
				t.Errorf("the answer was not used up: %d", status)
			}
			if !v.isPending(a) {
				t.Error("something was granted")
			}
		})
	}
}

// An answer works once, for who was asked.
func TestPasskeyAnswersOnce(t *testing.T) {
	v := openVault(t)
	key := v.alice.enrolled("Phone", nil)
	_, form := v.waits()
	form.Set("passkey-get", key.get(v.approval(form)))
	if status, page, _ := v.alice.form(form); status != http.StatusOK {
		t.Fatalf("approve: %d %s", status, page)
	}
	a, second := v.waits()
	said := form.Get("passkey-get")
	key.counter-- // as a copy of it, made before, would count
	second.Set("passkey-get", key.get(v.approval(second)))
	if status, page, _ := v.alice.form(second); status != http.StatusForbidden || !v.isPending(a) || !strings.Contains(page, "counter went back") {
		t.Errorf("a counter that the approval has passed: %d", status)
	}
	second.Del("passkey-get")
	v.approval(second)
	second.Set("passkey-get", said)
	if status, _, _ := v.alice.form(second); status != http.StatusForbidden || !v.isPending(a) {
		t.Errorf("a replay: %d", status)
	}
	bob := v.signIn("bob")
	second.Del("passkey-get")
	third := maps.Clone(second)
	third.Set("passkey-get", key.get(v.approval(second)))
	third.Set("forgery", bob.forgery)
	if status, _, _ := bob.form(third); status != http.StatusForbidden || !v.isPending(a) {
		t.Errorf("by another person: %d", status)
	}
}

// Nothing weaker than a passkey approves.
func TestNothingInPlaceOfPasskey(t *testing.T) {
	v := openVault(t)
	a, form := v.waits()
	status, page, _ := v.alice.form(form)
	if status != http.StatusForbidden || !strings.Contains(page, `href="/agent/passkeys"`) || !strings.Contains(page, "you have none") {
		t.Errorf("without a passkey: %d %s", status, page)
	}
	key := v.alice.enrolled("Phone", nil)
	body := object{"agent_id": a.id, "user_code": code(a.was), "action": "approve"}
	status, out := v.alice.answer(body)
	v.want("as JSON", status, out, 403, "webauthn_required")
	if text, _ := out["message"].(string); !strings.Contains(text, "/agent/device") {
		t.Errorf("the refusal does not say where: %v", out)
	}
	body["capabilities"] = []any{"write_again", "guarded_read"}
	status, out = v.alice.answer(body)
	v.want("less, as JSON", status, out, 403, "webauthn_required")
	body["webauthn_response"] = json.RawMessage(key.get(v.approval(form)))
	status, out = v.alice.answer(body)
	v.want("with an answer as JSON", status, out, 403, "webauthn_required")
	if !v.isPending(a) {
		t.Fatal("something was granted")
	}
	body["capabilities"] = []any{"write_again"}
	if status, out = v.alice.answer(body); status != http.StatusOK {
		t.Fatalf("what takes none: %d %v", status, out)
	}
	// what stands in the approvals is not approved there
	_, out = v.post("/agent/request-capability", a.jwt(nil), object{"capabilities": []any{"guarded_write"}})
	pending, _ := v.alice.user.Invoke(t.Context(), "approval:list", object{})
	var list struct {
		Requests []struct{ ID string }
	}
	if err := json.Unmarshal(pending, &list); err != nil || len(list.Requests) != 1 {
		t.Fatalf("%v waits: %s %v", out, pending, err)
	}
	_, err := v.alice.user.Invoke(t.Context(), "approval:approve", object{"id": list.Requests[0].ID})
	if err == nil || !strings.Contains(err.Error(), "/agent/device") {
		t.Errorf("approved by its request: %v", err)
	}
	form = url.Values{"request": {list.Requests[0].ID}, "action": {"approve"}, "seen": {"1"}, "allow": {"guarded_write"}, "forgery": {v.alice.forgery}}
	form.Set("passkey-get", key.get(v.approval(form)))
	if status, page, _ := v.alice.form(form); status != http.StatusOK {
		t.Errorf("on the page: %d %s", status, page)
	}
	if status, out := a.execute("guarded_write", object{"path": "w/accounts/one", "value": 5}); status != http.StatusOK {
		t.Errorf("execute: %d %v", status, out)
	}
}

// Passkeys are made and removed by who has signed in a moment ago, with one that they have.
func TestPasskeys(t *testing.T) {
	v := openVault(t)
	nobody := &visitorPerson{w: v.world}
	if status, page, _ := nobody.listed(); status != http.StatusOK || !strings.Contains(page, "/login?to=") {
		t.Errorf("a stranger sees %d %s", status, page)
	}
	if status, _ := nobody.passkeys(url.Values{"action": {"add"}, "name": {"Mine"}}); status != http.StatusUnauthorized {
		t.Errorf("a stranger begins: %d", status)
	}
	forged := *v.alice
	forged.forgery = ""
	if status, _ := forged.passkeys(url.Values{"action": {"add"}, "name": {"Mine"}}); status != http.StatusForbidden {
		t.Errorf("another site begins: %d", status)
	}
	for name, text := range map[string]string{"none": " ", "two lines": "a\nb", "too long": strings.Repeat("x", 201)} {
		if status, _ := v.alice.passkeys(url.Values{"action": {"add"}, "name": {text}}); status != http.StatusBadRequest {
			t.Errorf("a name, %s: %d", name, status)
		}
	}
	first := v.alice.enrolled("Phone", nil)
	second := v.alice.enrolled("Stick", first)
	if _, page, _ := v.alice.listed(); !strings.Contains(page, "Phone") || !strings.Contains(page, "Stick") || strings.Contains(page, "<script") {
		t.Errorf("the list: %s", page)
	}
	if _, page, _ := v.signIn("bob").listed(); strings.Contains(page, "Phone") {
		t.Errorf("somebody else sees %s", page)
	}
	remove := url.Values{"action": {"remove"}, "id": {b64.EncodeToString(first.id)}}
	_, page := v.alice.passkeys(remove)
	if _, list, _ := v.alice.listed(); !strings.Contains(list, "Phone") {
		t.Fatal("removed without a passkey")
	}
	remove.Set("passkey-get", second.get(asked(page, "get")))
	if status, page := v.alice.passkeys(remove); status != http.StatusOK || strings.Contains(page, "Phone") {
		t.Fatalf("remove: %d %s", status, page)
	}
	a, form := v.waits()
	form.Set("passkey-get", first.get(v.approval(form)))
	if status, _, _ := v.alice.form(form); status != http.StatusForbidden || !v.isPending(a) {
		t.Errorf("a passkey that was removed: %d", status)
	}
	results := map[string]int{}
	for _, n := range v.noted(func(n *visitorNoted) bool { return n.User == v.alice.user.DID().String() }) {
		if n.Refused {
			n.Detail = ""
		}
		results[n.Call+" "+n.Result+" "+n.Detail]++
	}
	for _, row := range []string{"passkey added Phone", "passkey added Stick", "passkey removed Phone", "approve webauthn_verification_failed "} {
		if results[row] != 1 {
			t.Errorf("the ledger has %q %d times: %v", row, results[row], results)
		}
	}
}

// What does not prove that the person makes a passkey makes none.
func TestNoPasskeyIsMade(t *testing.T) {
	for name, c := range map[string]struct {
		by     bool // one that they have confirms
		change func(v *vault, a *authenticator, form url.Values, page string) *authenticator
		forged func(form url.Values)
	}{
		"the one that they have does not confirm": {},
		"it confirms itself": {change: func(_ *vault, a *authenticator, form url.Values, page string) *authenticator {
			form.Set("passkey-get", a.get(asked(page, "get")))
			return a
		}},
		"after five minutes": {by: true, change: func(v *vault, a *authenticator, _ url.Values, _ string) *authenticator {
			v.ahead.Store(int64(5*time.Minute + 2*time.Second))
			return a
		}},
		"another origin": {by: true, change: func(_ *vault, a *authenticator, _ url.Values, _ string) *authenticator {
			a.origin = "https://example.com"
			return a
		}},
		"nobody verified": {by: true, change: func(_ *vault, a *authenticator, _ url.Values, _ string) *authenticator {
			a.unverified = true
			return a
		}},
		"another name": {by: true, forged: func(form url.Values) { form.Set("name", "Other") }},
	} {
		t.Run(name, func(t *testing.T) {
			v := openVault(t)
			has := v.alice.enrolled("Phone", nil)
			form, page := v.alice.begun("Stick")
			a := newAuthenticator(t)
			if c.by {
				form.Set("passkey-get", has.get(asked(page, "get")))
			}
			if c.change != nil {
				a = c.change(v, a, form, page)
			}
			form.Set("passkey-create", a.create(asked(page, "create")))
			if c.forged != nil {
				c.forged(form)
			}
			status, text := v.alice.passkeys(form)
			if _, list, _ := v.alice.listed(); status != http.StatusForbidden || strings.Contains(list, "Stick") || strings.Contains(list, "Other") {
				t.Errorf("%d %s", status, text)
			}
		})
	}
	v := openVault(t)
	v.ahead.Store(int64(5*time.Minute + 2*time.Second))
	if status, page := v.alice.passkeys(url.Values{"action": {"add"}, "name": {"Late"}}); status != http.StatusForbidden || asked(page, "create") != "" {
		t.Errorf("begun long after the sign-in: %d", status)
	}
}

// A person has few passkeys.
func TestPasskeysAreFew(t *testing.T) {
	v := openVault(t)
	var last *authenticator
	for range 10 {
		last = v.alice.enrolled("Key", last)
	}
	if status, page := v.alice.passkeys(url.Values{"action": {"add"}, "name": {"More"}}); status != http.StatusTooManyRequests || asked(page, "create") != "" {
		t.Errorf("one more: %d", status)
	}
}

// Passkeys that are lost are forgotten by who owns the data folder: they confirm nothing from
// then on, also what one was asked before, and the person makes a new one without them.
func TestLostPasskeys(t *testing.T) {
	v := openVault(t)
	lost := v.alice.enrolled("Phone", nil)
	a, form := v.waits()
	form.Set("passkey-get", lost.get(v.approval(form)))
	who := v.alice.user.DID()
	if n, err := v.venue.Visitors().ResetPasskeys(t.Context(), v.signIn("bob").user.DID()); n != 0 || err != nil {
		t.Fatalf("of somebody without one %d are forgotten, %v", n, err)
	}
	for _, want := range []int{1, 0} {
		if n, err := v.venue.Visitors().ResetPasskeys(t.Context(), who); n != want || err != nil {
			t.Fatalf("%d are forgotten, %v; want %d", n, err, want)
		}
	}
	if status, page, _ := v.alice.form(form); status != http.StatusForbidden || !v.isPending(a) {
		t.Errorf("the lost one confirms: %d %s", status, page)
	}
	if rows := v.noted(func(n *visitorNoted) bool {
		return n.Call == "passkey" && n.Result == "reset" && n.User == who.String()
	}); len(rows) != 1 || rows[0].Detail != "1 forgotten" {
		t.Errorf("the ledger has %v", rows)
	}
	other := v.alice.enrolled("Stick", nil)
	form.Del("passkey-get")
	form.Set("passkey-get", other.get(v.approval(form)))
	if status, page, _ := v.alice.form(form); status != http.StatusOK || v.isPending(a) {
		t.Errorf("the new one: %d %s", status, page)
	}
}
