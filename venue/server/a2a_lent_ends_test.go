package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"usher/tools/tokens"
	"usher/ucan"
)

// A capability ends with the token by which it was asked for, and so does what was made of it.
func TestACapabilityEndsWithItsBearer(t *testing.T) {
	p := lends(t, "")
	first := a2aAsk{token: p.tokenOf(t, p.alice, tokens.New{Name: "first"}), head: aware.head}
	second := a2aAsk{token: p.tokenOf(t, p.alice, tokens.New{Name: "second"}), head: aware.head}
	borrow := func(a a2aAsk) lent { return capabilities(t, p.rpc(t, a, "", "a2a/capabilities/request", q1))[0] }
	made := func(a a2aAsk, of lent) lent {
		return capabilities(t, p.rpc(t, a, "", "a2a/capabilities/attenuate", `{"capabilityId":"`+of.ID+`","constraints":{}}`))[0]
	}
	one, other := borrow(first), borrow(a2aAsk{head: aware.head})
	list := map[string]lent{"its own": one, "made of it by another": made(second, one), "made by another of another's": made(second, made(first, other)), "another's": other}
	get := func(c lent) string { return use("retrieve_document", c.ID, c.handle("Q1 Sales Report"), "") }
	for name, c := range list {
		if r := p.ext(t, "a2a/skill/invoke", get(c)); r.code != 0 {
			t.Errorf("%s before: %s", name, r.raw)
		}
	}
	if _, err := p.alice.Invoke(t.Context(), "token:revoke", tokens.Ref{Name: "first"}); err != nil {
		t.Fatal(err)
	}
	for name, c := range list {
		want := -32054
		if name == "another's" {
			want = 0
		}
		if r := p.ext(t, "a2a/skill/invoke", get(c)); r.code != want {
			t.Errorf("%s after: %s, want %d", name, r.raw, want)
		}
	}
}

// An identity token that its signer revokes ends what was lent to who came by it.
func TestACapabilityEndsWithAnIdentityToken(t *testing.T) {
	p := lends(t, "")
	session, err := p.venue.Session(t.Context(), p.alice, 1e12)
	if err != nil {
		t.Fatal(err)
	}
	r := p.rpc(t, a2aAsk{token: session, head: aware.head}, "", "a2a/capabilities/request", q1)
	c := capabilities(t, r)[0]
	get := use("retrieve_document", c.ID, c.handle("Q1 Sales Report"), "")
	if r := p.ext(t, "a2a/skill/invoke", get); r.code != 0 {
		t.Fatalf("before: %s", r.raw)
	}
	l, err := ucan.OpenText(session)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.alice.Invoke(t.Context(), "ucan:revoke", map[string]string{"cid": l.CID.String()}); err != nil {
		t.Fatal(err)
	}
	if r := p.ext(t, "a2a/skill/invoke", get); r.code != -32054 {
		t.Errorf("after: %s", r.raw)
	}
}

// What a skill does is charged to the call that uses it, with all that comes of that.
func TestWhatIsLentIsMetered(t *testing.T) {
	p := lends(t, "limits: {calls: 7}\n")
	c := p.borrow(t, q1)
	for steps, want := range map[int]bool{3: true, 4: false} { // each is two calls, and one runs them
		step := fmt.Sprintf(`{"op":"capability:use","input":{"skill":["const","retrieve_document"],"arguments":["const",{"resourceHandle":%q}]}}`, c.handle("Q1 Sales Report"))
		program := `{"operation":{"adapter":"orchestrator","steps":[` + strings.Repeat(step+",", steps-1) + step + `]}}`
		if _, err := p.alice.Invoke(t.Context(), "covia:write", json.RawMessage(`{"path":"o/all","value":`+program+`}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := p.alice.Invoke(t.Context(), "o/all", struct{}{}); (err == nil) != want {
			t.Errorf("%d steps: %v", steps, err)
		}
	}
}
