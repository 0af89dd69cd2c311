package server_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// form sends the form of the page.
func (p *visitorPerson) form(values url.Values) (int, string, http.Header) {
	p.w.Helper()
	r, _ := http.NewRequestWithContext(p.w.Context(), http.MethodPost, p.w.server.URL+"/agent/device", strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.open(r)
}

// see loads the page.
func (p *visitorPerson) see(query string) (int, string, http.Header) {
	r, _ := http.NewRequestWithContext(p.w.Context(), http.MethodGet, p.w.server.URL+"/agent/device"+query, nil)
	return p.open(r)
}

func (p *visitorPerson) open(r *http.Request) (int, string, http.Header) {
	if p.cookie != nil {
		r.AddCookie(p.cookie)
	}
	resp, err := p.w.server.Client().Do(r)
	if err != nil {
		p.w.Fatal(err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw), resp.Header
}

// The page says who asks for what, and why; a person approves less; nobody else's page can.
func TestPage(t *testing.T) {
	w := visitorOpen(t, nil)
	h := w.host()
	a, _ := h.register(object{"name": "Books <b>of</b> Acme", "host_name": "Desk", "reason": "to pay & file", "capabilities": []any{
		"read_account", object{"name": "write_account", "constraints": object{"value": object{"max": 100}}},
	}})
	asked := "?agent_id=" + a.id + "&code=" + code(a.was)
	if _, text, _ := w.alice.see(asked); strings.Contains(text, "Acme") || !strings.Contains(text, code(a.was)) {
		t.Errorf("a link alone shows %s", text)
	}
	look := url.Values{"agent_id": {a.id}, "code": {code(a.was)}, "action": {"look"}}
	if status, text, _ := w.alice.form(look); status != http.StatusForbidden || strings.Contains(text, "Acme") {
		t.Errorf("a look without what the page knows: %d", status)
	}
	look.Set("forgery", w.alice.forgery)
	status, text, head := w.alice.form(look)
	for _, part := range []string{"Books &lt;b&gt;of&lt;/b&gt; Acme", "Desk", "to pay &amp; file", "read_account", "Read an account.", "/value is at most 100", code(a.was), "crud/write on w/accounts/"} {
		if !strings.Contains(text, part) {
			t.Errorf("the page (%d) does not say %q", status, part)
		}
	}
	if strings.Contains(text, "<script") || !strings.Contains(head.Get("Content-Security-Policy"), "frame-ancestors 'none'") || head.Get("X-Frame-Options") != "DENY" || head.Get("Cache-Control") != "no-store" {
		t.Errorf("headers: %v", head)
	}
	nobody := &visitorPerson{w: w}
	if status, text, _ := nobody.see(asked); status != http.StatusOK || strings.Contains(text, "Acme") || !strings.Contains(text, "/login?to=") {
		t.Errorf("a stranger sees %d %s", status, text)
	}
	answer := url.Values{
		"agent_id": {a.id}, "code": {code(a.was)}, "action": {"approve"}, "allow": {"write_account"}, "limit-write_account": {`{"value":{"max":5}}`}, "ttl": {"900"},
	}
	if status, _, _ := w.alice.form(answer); status != http.StatusForbidden {
		t.Errorf("without what the page knows: %d", status)
	}
	if status, _, _ := nobody.form(answer); status != http.StatusUnauthorized {
		t.Errorf("nobody answers: %d", status)
	}
	answer.Set("forgery", w.alice.forgery)
	wider := url.Values{}
	for k, v := range answer {
		wider[k] = v
	}
	wider.Set("limit-write_account", `{"value":{"maximum":5}}`)
	wider.Set("seen", "1")
	for action, want := range map[string]int{"approve": http.StatusBadRequest, "look": http.StatusOK} {
		wider.Set("action", action)
		status, text, _ := w.alice.form(wider)
		if status != want || strings.Contains(text, "unknown operators") != (action == "approve") {
			t.Errorf("%s with an operator that nobody knows: %d", action, status)
		}
		for _, kept := range []string{`value="read_account">`, `value="write_account" checked>`, "{&#34;value&#34;:{&#34;maximum&#34;:5}}</textarea>", `<option value="900" selected>`} {
			if !strings.Contains(text, kept) {
				t.Errorf("%s: the page forgets %s: %s", action, kept, text)
			}
		}
	}
	if status, text, _ := w.alice.form(answer); status != http.StatusOK || !strings.Contains(text, "You have approved 1 of 2.") {
		t.Fatalf("approve: %d %s", status, text)
	}
	if status, out := a.execute("write_account", object{"path": "w/accounts/one", "value": 5}); status != http.StatusOK {
		t.Errorf("within: %d %v", status, out)
	}
	status, out := a.execute("write_account", object{"path": "w/accounts/one", "value": 6})
	w.want("beyond what the person allowed", status, out, 403, "constraint_violated")
	status, out = a.execute("read_account", object{"path": "w/accounts/one"})
	w.want("what was not ticked", status, out, 403, "capability_not_granted")
}

// A link uses up no code that a person may get wrong, and tells of none that is right; a form
// uses up one each.
func TestLinksUseUpNoCode(t *testing.T) {
	w := visitorOpen(t, nil)
	a, _ := w.host().register(object{"name": "Books", "capabilities": []any{"read_account"}})
	for range 20 {
		if status, text, _ := w.alice.see("?agent_id=" + a.id + "&code=AAAA-AAAA"); status != http.StatusOK || strings.Contains(text, "no request") {
			t.Fatalf("a link with a wrong code: %d %s", status, text)
		}
	}
	form := url.Values{"agent_id": {a.id}, "code": {"AAAA-AAAA"}, "action": {"approve"}, "allow": {"read_account"}, "forgery": {w.alice.forgery}}
	for n := range 4 {
		form.Set("action", []string{"approve", "look"}[n%2])
		if status, _, _ := w.alice.form(form); status != http.StatusForbidden {
			t.Fatalf("wrong code %d: %d", n, status)
		}
	}
	form.Set("code", code(a.was))
	form.Set("action", "look")
	if status, text, _ := w.alice.form(form); status != http.StatusOK || !strings.Contains(text, "Books") {
		t.Errorf("after four: %d %s", status, text)
	}
	form.Set("code", "AAAA-AAAA")
	if status, _, _ := w.alice.form(form); status != http.StatusForbidden {
		t.Errorf("the fifth: %d", status)
	}
	form.Set("code", code(a.was))
	if status, text, _ := w.alice.form(form); status != http.StatusTooManyRequests || strings.Contains(text, "Books") {
		t.Errorf("after five: %d %s", status, text)
	}
}

// The page says what a claim does.
func TestPageOfClaim(t *testing.T) {
	w := visitorOpen(t, nil)
	h := w.host()
	a, _ := h.register(object{"name": "Robot", "mode": "autonomous"})
	_, out := w.post("/agent/claim", h.jwt(nil), object{"agent_id": a.id})
	form := url.Values{"agent_id": {a.id}, "code": {code(out)}, "action": {"look"}, "forgery": {w.alice.forgery}}
	if status, text, _ := w.alice.form(form); status != http.StatusOK || !strings.Contains(text, "Robot") || !strings.Contains(text, "its host is yours from now on") || strings.Contains(text, "on your behalf") {
		t.Errorf("the page: %d %s", status, text)
	}
	form.Set("action", "approve")
	if status, text, _ := w.alice.form(form); status != http.StatusOK || !strings.Contains(text, "claimed it") {
		t.Errorf("approve: %d %s", status, text)
	}
}
