package venue_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"usher/caps"
	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/delegation"
	"usher/ucan"
	"usher/venue"
	"usher/venue/ledger"
)

// delegate hands on authority and returns the CID of the token.
func delegate(t testing.TB, u *venue.User, audience, can, with string) string {
	t.Helper()
	out := invoke(t, u, "ucan:delegate", fmt.Sprintf(`{"audience":%q,"capabilities":[{"can":%q,"with":%q}]}`, audience, can, with))
	return tokenCID(t, out)
}

// What says no expiry can be handed on, a while later, without one: it ends with
// what it rests on.
func TestADelegationWithoutAnExpiryEndsWithItsProof(t *testing.T) {
	clock := newHands(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC))
	v := open(t, &venue.Options{Now: clock.Now})
	alice, bob, carol := user(t, v, "alice"), user(t, v, "bob"), user(t, v, "carol")
	ends := func(u *venue.User, audience, life string) (string, error) {
		out, err := u.Invoke(t.Context(), "ucan:delegate", json.RawMessage(fmt.Sprintf(
			`{"audience":%q,"capabilities":[{"can":"crud/read","with":"%s/w/a"}]%s}`, audience, alice.DID(), life)))
		if err != nil {
			return "", err
		}
		var got struct{ Tokens []delegation.Token }
		if err := json.Unmarshal(out, &got); err != nil || len(got.Tokens) != 1 {
			t.Fatalf("%s: %v", out, err)
		}
		return got.Tokens[0].Expires, nil
	}
	const tomorrow = "2026-05-05T12:00:00Z"
	for _, step := range []struct {
		from *venue.User
		to   ucan.DID
	}{{alice, bob.DID()}, {bob, carol.DID()}} {
		if got, err := ends(step.from, step.to.String(), ""); got != tomorrow || err != nil {
			t.Errorf("it ends at %s, %v; want %s", got, err, tomorrow)
		}
		clock.Add(time.Minute)
	}
	if got, err := ends(bob, carol.DID().String(), `,"ttl":"24h"`); err == nil || !strings.Contains(err.Error(), "the proof ends at "+tomorrow) {
		t.Errorf("24 hours that were asked for: %s, %v; want a refusal that names the proof's end", got, err)
	}
}

// Two hops with the same ttl hold, though time passes between them: the second ends
// with the first.
func TestTwoHopsWithTheSameTTL(t *testing.T) {
	clock := newHands(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC))
	v := open(t, &venue.Options{Now: clock.Now})
	alice, bob, carol := user(t, v, "alice"), user(t, v, "bob"), user(t, v, "carol")
	for _, step := range []struct {
		from, to *venue.User
	}{{alice, bob}, {bob, carol}} {
		out := invoke(t, step.from, "ucan:delegate", fmt.Sprintf(
			`{"audience":%q,"capabilities":[{"can":"crud/read","with":"%s/w/a"}],"ttl":"1h"}`, step.to.DID(), alice.DID()))
		if !strings.Contains(out, `"expires":"2026-05-04T13:00:00Z"`) {
			t.Errorf("it says %s", out)
		}
		clock.Add(time.Second)
	}
	if err := canRead(t, carol, alice.DID().String()+"/w/a"); err != nil {
		t.Errorf("by the two: %v", err)
	}
}

// A token that is not understood refuses nothing that the others allow, and is named.
func TestATokenThatIsNotUnderstoodStandsAside(t *testing.T) {
	v := open(t, nil)
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	out := invoke(t, alice, "ucan:delegate", fmt.Sprintf(`{"audience":%q,"capabilities":[{"can":"crud/read","with":"w/a"}]}`, bob.DID()))
	var made struct{ Tokens []delegation.Token }
	if err := json.Unmarshal([]byte(out), &made); err != nil || len(made.Tokens) != 1 {
		t.Fatalf("%s: %v", out, err)
	}
	ask := func(tokens ...string) string {
		raw, err := json.Marshal(map[string]any{"tokens": tokens, "caller": bob.DID(), "can": "crud/read", "with": "w/a"})
		if err != nil {
			t.Fatal(err)
		}
		return invoke(t, alice, "ucan:verify", string(raw))
	}
	if got := ask("eyJ9", made.Tokens[0].Token); !strings.Contains(got, `"decision":"allow"`) || !strings.Contains(got, `"aside":[{"token":0,`) {
		t.Errorf("beside one that is not understood: %s", got)
	}
	if got := ask("eyJ9"); !strings.Contains(got, `"decision":"deny"`) {
		t.Errorf("with that one alone: %s", got)
	}
}

func tokenCID(t testing.TB, out string) string {
	t.Helper()
	var got struct {
		CID    string
		Tokens []struct{ CID string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if got.CID == "" {
		got.CID = got.Tokens[0].CID
	}
	return got.CID
}

func TestACallAcrossUsersNeedsAChain(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	his := bob.DID().String() + "/w/shared"
	scribe := create(t, alice, spec("scribe", "", `[{"with":"`+his+`","can":"crud"}]`))
	write := `{"path":"` + his + `/note","value":"hi"}`

	refused := func(when string) {
		t.Helper()
		done := attempt(t, scribe, p, "covia_write", write)
		if done.Outcome != runtime.ToolDenied || !strings.Contains(done.Result, "belongs to another user, who has delegated nothing for this call") {
			t.Errorf("%s: %s %s, want a denial that tells no more", when, done.Outcome, done.Result)
		}
	}
	refused("without a chain")

	cid := delegate(t, bob, alice.DID().String(), "crud/write", "w/shared")
	if done := attempt(t, scribe, p, "covia_write", write); done.Outcome != runtime.ToolOK {
		t.Errorf("with a chain: %s", done.Result)
	}
	if got := read(t, bob, "w/shared/note"); got != `{"exists":true,"value":"hi"}` {
		t.Errorf("bob reads %s", got)
	}
	var last ledger.Row
	var reasons []string
	for row, err := range v.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Entry != nil && row.Operation == "v/ops/covia/write" {
			if last = row; row.Reason != "" {
				reasons = append(reasons, row.Reason)
			}
		}
	}
	if len(last.Needs) != 1 || len(last.Needs[0].Proofs) != 1 || last.Needs[0].Proofs[0] != cid {
		t.Errorf("the ledger names %+v, want the token %s", last.Needs, cid)
	}
	if len(reasons) != 1 || !strings.Contains(reasons[0], "no valid token made out to the caller") {
		t.Errorf("the ledger's reasons are %q, want what the chain lacked", reasons)
	}
	if done := attempt(t, scribe, p, "covia_read", `{"path":"`+his+`/note"}`); done.Outcome != runtime.ToolDenied {
		t.Errorf("a read by a delegation to write: %s", done.Result)
	}

	// Revoked between two calls of one turn.
	p.Ask("covia_write", write)
	p.Ask("covia_write", write)
	p.Between(func() { invoke(t, bob, "ucan:revoke", `{"cid":"`+cid+`"}`) })
	var outcomes []string
	for ev, err := range scribe.Chat(t.Context(), "write twice") {
		if err != nil {
			t.Fatal(err)
		}
		if done, ok := ev.(runtime.ToolEnd); ok {
			outcomes = append(outcomes, done.Outcome)
		}
	}
	if got := strings.Join(outcomes, " "); got != "ok denied" {
		t.Errorf("with a revocation in between: %s, want ok denied", got)
	}
	refused("after the revocation")
}

func TestTheAgentsOwnCapsBoundADelegationToo(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	his := bob.DID().String()
	delegate(t, bob, alice.DID().String(), "crud", "w/")
	narrow := create(t, alice, spec("narrow", "", `[{"with":"`+his+`/w/a","can":"crud/read"}]`))
	for arguments, want := range map[string]string{
		`{"path":"` + his + `/w/a"}`: runtime.ToolOK,
		`{"path":"` + his + `/w/b"}`: runtime.ToolDenied,
	} {
		if done := attempt(t, narrow, p, "covia_read", arguments); done.Outcome != want {
			t.Errorf("read %s: %s, want %s", arguments, done.Outcome, want)
		}
	}
	if sys := p.Systems()[len(p.Systems())-1]; !strings.Contains(sys, "- crud/read on "+his+"/w/a (from "+his+", until ") || strings.Contains(sys, "crud on "+his) {
		t.Errorf("the disclosure shows more or less than holds:\n%s", sys)
	}
}

func TestIndependentAgents(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	independent := func(u *venue.User, id string) (*venue.Agent, string) {
		s := spec(id, "", "")
		s.Identity, s.Tools = agents.IdentityOwn, append(s.Tools, "ucan:*")
		a := create(t, u, s)
		info, err := a.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info.DID == u.DID().String() {
			t.Fatalf("%s acts as its owner", id)
		}
		return a, info.DID
	}
	carol, carolDID := independent(alice, "carol")
	dan, danDID := independent(bob, "dan")
	hers, his := alice.DID().String(), bob.DID().String()

	if done := attempt(t, carol, p, "covia_write", `{"path":"w/mine","value":1}`); done.Outcome != runtime.ToolOK {
		t.Errorf("in its own namespace: %s", done.Result)
	}
	if got := read(t, alice, "w/mine"); got != `{"exists":false}` {
		t.Errorf("its own namespace is its owner's: %s", got)
	}
	if done := attempt(t, carol, p, "covia_read", `{"path":"`+hers+`/w/x"}`); done.Outcome != runtime.ToolDenied {
		t.Errorf("its owner's namespace without a delegation: %s", done.Result)
	}

	// Delegations from two users, each used where it belongs, and one handed on.
	fromAlice := delegate(t, alice, carolDID, "crud", "w/reports")
	delegate(t, bob, carolDID, "crud/read", "w/in")
	for arguments, want := range map[string]string{
		`{"path":"` + hers + `/w/reports/q3","value":1}`: runtime.ToolOK,
		`{"path":"` + hers + `/w/other","value":1}`:      runtime.ToolDenied,
		`{"path":"` + his + `/w/in/a","value":1}`:        runtime.ToolDenied,
	} {
		if done := attempt(t, carol, p, "covia_write", arguments); done.Outcome != want {
			t.Errorf("write %s: %s %s, want %s", arguments, done.Outcome, done.Result, want)
		}
	}
	if done := attempt(t, carol, p, "covia_read", `{"path":"`+his+`/w/in/a"}`); done.Outcome != runtime.ToolOK {
		t.Errorf("read by bob's delegation: %s", done.Result)
	}
	if sys := p.Systems()[len(p.Systems())-1]; !strings.Contains(sys, "You act as "+carolDID) || !strings.Contains(sys, "- crud on "+hers+"/w/reports (from "+hers+", until ") {
		t.Errorf("the disclosure lacks what is delegated:\n%s", sys)
	}

	wide := `{"audience":"` + danDID + `","capabilities":[{"with":"` + hers + `/w/","can":"crud/read"}],"ttl":"1h"}`
	if done := attempt(t, carol, p, "ucan_delegate", wide); done.Outcome == runtime.ToolOK || !strings.Contains(done.Result, "wider than what the issuer holds") {
		t.Errorf("delegating more than it holds: %s %s", done.Outcome, done.Result)
	}
	narrow := `{"audience":"` + danDID + `","capabilities":[{"with":"` + hers + `/w/reports/q3","can":"crud/read"}],"ttl":"1h"}`
	if done := attempt(t, carol, p, "ucan_delegate", narrow); done.Outcome != runtime.ToolOK {
		t.Fatalf("delegating less: %s", done.Result)
	}
	if done := attempt(t, dan, p, "covia_read", `{"path":"`+hers+`/w/reports/q3"}`); done.Outcome != runtime.ToolOK {
		t.Errorf("read by a chain of two: %s", done.Result)
	}
	if done := attempt(t, dan, p, "covia_read", `{"path":"`+hers+`/w/reports/q4"}`); done.Outcome != runtime.ToolDenied {
		t.Errorf("a sibling of what was handed on: %s", done.Result)
	}
	invoke(t, alice, "ucan:revoke", `{"cid":"`+fromAlice+`"}`)
	if done := attempt(t, dan, p, "covia_read", `{"path":"`+hers+`/w/reports/q3"}`); done.Outcome != runtime.ToolDenied {
		t.Errorf("after the first link was revoked: %s", done.Result)
	}
}

func TestChildrenOfIndependentAgents(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice := user(t, v, "alice")
	s := spec("carol", "", `[{"with":"w/","can":"crud"},{"with":"g/","can":"agent"}]`)
	s.Identity = agents.IdentityOwn
	carol := create(t, alice, s)
	if done := attempt(t, carol, p, "agent_create", `{"agentId":"kid","config":{"tools":["covia:*"]}}`); done.Outcome != runtime.ToolOK {
		t.Fatalf("create: %s", done.Result)
	}
	ask := func() runtime.ToolEnd {
		p.Ask("agent_request", `{"agentId":"kid","input":"go"}`)
		p.Ask("covia_write", `{"path":"w/kid","value":1}`)
		var done runtime.ToolEnd
		for _, ev := range chat(t, carol, "go") {
			if ev, ok := ev.(runtime.ToolEnd); ok {
				done = ev
			}
		}
		return done
	}
	if done := ask(); !strings.Contains(p.Results()[len(p.Results())-2], "written") {
		t.Errorf("the child's write: %v, %s", p.Results(), done.Result)
	}
	invoke(t, alice, "agent:update", `{"agentId":"carol","config":{"caps":[{"with":"w/","can":"crud/read"},{"with":"g/","can":"agent"}]}}`)
	ask()
	if !strings.Contains(p.Results()[len(p.Results())-2], "Capability denied") {
		t.Errorf("after its creator was narrowed the child's write: %s", p.Results()[len(p.Results())-2])
	}
}

func TestIssue(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	v := open(t, &venue.Options{Now: func() time.Time { return now }})
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	invoke(t, alice, "covia:write", `{"path":"w/shared/a","value":1}`)
	exp := now.Add(time.Hour).Unix()
	body := func(rest string) string { return `{"audience":"` + bob.DID().String() + `",` + rest + `}` }
	att := `"attenuations":[{"with":"w/shared/","can":"crud/read"}]`
	for _, tc := range []struct{ name, input, want string }{
		{"COG-13's names, milliseconds", body(fmt.Sprintf(`%s,"expiry":%d`, att, exp*1000)), ""},
		{"seconds", body(fmt.Sprintf(`%s,"exp":%d`, att, exp)), ""},
		{"both expiries", body(fmt.Sprintf(`%s,"expiry":%d,"exp":%d`, att, exp*1000, exp)), "give one"},
		{"no expiry", body(att), "expiry is missing"},
		{"milliseconds as seconds", body(fmt.Sprintf(`%s,"exp":%d`, att, exp*1000)), "lives longer"},
		{"expired", body(fmt.Sprintf(`%s,"exp":%d`, att, now.Unix()-1)), "expired"},
		{"no attenuations", body(fmt.Sprintf(`"exp":%d`, exp)), "attenuations is missing"},
		{"another's namespace", body(fmt.Sprintf(`"attenuations":[{"with":%q,"can":"crud/read"}],"exp":%d`, bob.DID().String()+"/w/", exp)), "not in your own namespace"},
		{"no audience", fmt.Sprintf(`{%s,"exp":%d}`, att, exp), "audience is missing"},
		{"a bad audience", fmt.Sprintf(`{"audience":"bob",%s,"exp":%d}`, att, exp), "not a usable DID"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := alice.Invoke(t.Context(), "ucan:issue", json.RawMessage(tc.input))
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("ucan:issue: %s, %v; want an error with %q", out, err, tc.want)
				}
				return
			}
			var got struct{ Token, CID, Issuer string }
			if err != nil || json.Unmarshal(out, &got) != nil || got.Issuer != v.DID().String() || strings.Count(got.Token, ".") != 2 {
				t.Fatalf("ucan:issue = %s, %v; want a JWT of the venue", out, err)
			}
			if got := read(t, bob, alice.DID().String()+"/w/shared/a"); got != `{"exists":true,"value":1}` {
				t.Errorf("bob reads %s by it", got)
			}
			verdict := invoke(t, alice, "ucan:verify", fmt.Sprintf(`{"tokens":[%q],"caller":%q,"can":"crud/read","with":"w/shared/a"}`, got.Token, bob.DID()))
			if !strings.Contains(verdict, `"decision":"allow"`) {
				t.Errorf("ucan:verify: %s", verdict)
			}
			if list := invoke(t, alice, "ucan:list", `{"issued":true}`); !strings.Contains(list, got.CID) {
				t.Errorf("ucan:list lacks what the venue issued for alice: %s", list)
			}
			if list := invoke(t, bob, "ucan:list", `{"issued":true}`); strings.Contains(list, got.CID) {
				t.Errorf("bob's issued tokens have alice's: %s", list)
			}
			invoke(t, alice, "ucan:revoke", `{"cid":"`+got.CID+`"}`)
			if _, err := bob.Invoke(t.Context(), "covia:read", map[string]string{"path": alice.DID().String() + "/w/shared/a"}); err == nil {
				t.Error("bob still reads by a revoked token")
			}
		})
	}
}

func TestHandingOnTokensIsBoundedByCaps(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	s := spec("clerk", "", `[{"with":"w/a","can":"crud/read"},{"with":"","can":"ucan/delegate"}]`)
	s.Tools = []string{"ucan:*"}
	clerk := create(t, alice, s)
	for arguments, want := range map[string]string{
		`{"audience":"` + bob.DID().String() + `","capabilities":[{"with":"w/a/b","can":"crud/read"}],"ttl":"1h"}`: runtime.ToolOK,
		`{"audience":"` + bob.DID().String() + `","capabilities":[{"with":"w/a","can":"crud"}],"ttl":"1h"}`:        runtime.ToolDenied,
		`{"audience":"` + bob.DID().String() + `","capabilities":[{"with":"","can":"*"}],"ttl":"1h"}`:              runtime.ToolDenied,
	} {
		if done := attempt(t, clerk, p, "ucan_delegate", arguments); done.Outcome != want {
			t.Errorf("delegate %s: %s %s, want %s", arguments, done.Outcome, done.Result, want)
		}
	}
	if done := attempt(t, clerk, p, "ucan_revoke", `{"cid":"bafyreih5ryzsq6kh5k5fc2qimk2k4v2wcoffi3sctcqd3kpd6ubmh3rrdu"}`); done.Outcome != runtime.ToolDenied {
		t.Errorf("revoke without ucan/revoke: %s", done.Outcome)
	}
}

func TestARevocationSurvivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	v, err := venue.Open(t.Context(), &venue.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	invoke(t, alice, "covia:write", `{"path":"w/a","value":1}`)
	cid := delegate(t, alice, bob.DID().String(), "crud/read", "w/a")
	hers := alice.DID().String()
	invoke(t, bob, "covia:read", `{"path":"`+hers+`/w/a"}`)
	invoke(t, alice, "ucan:revoke", `{"cid":"`+cid+`"}`)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, &venue.Options{Dir: dir})
	if out, err := user(t, again, "bob").Invoke(t.Context(), "covia:read", map[string]string{"path": hers + "/w/a"}); err == nil {
		t.Errorf("after reopening bob reads %s by a revoked token", out)
	}
	if got := user(t, again, "alice").DID().String(); got != hers {
		t.Errorf("alice is %s after reopening, was %s", got, hers)
	}
}

// What an agent may revoke and list is bounded by the resources of its
// capabilities, not by the ability alone.
func TestRevokingAndListingAreBoundedByWith(t *testing.T) {
	p := new(puppet)
	v := open(t, &venue.Options{Models: map[string]runtime.Model{"default": p}})
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	s := spec("clerk", "", `[{"with":"w/clerk","can":"ucan"},{"with":"w/clerk","can":"crud"}]`)
	s.Tools = []string{"ucan:*"}
	clerk := create(t, alice, s)
	mine := delegate(t, alice, bob.DID().String(), "crud/read", "w/clerk/notes")
	other := delegate(t, alice, bob.DID().String(), "crud/read", "w/payroll")

	if done := attempt(t, clerk, p, "ucan_revoke", `{"cid":"`+other+`"}`); done.Outcome != runtime.ToolDenied || !strings.Contains(done.Result, "ucan/revoke on w/payroll") {
		t.Errorf("revoking what lies elsewhere: %s %s", done.Outcome, done.Result)
	}
	if done := attempt(t, clerk, p, "ucan_revoke", `{"cid":"bafyreiexf2seyzhdmsi6rgwepm5vuxbsqhznndbpprov7ypvemulovxunu"}`); done.Outcome != runtime.ToolDenied {
		t.Errorf("revoking what nobody knows: %s %s", done.Outcome, done.Result)
	}
	list := attempt(t, clerk, p, "ucan_list", `{}`)
	if list.Outcome != runtime.ToolOK || !strings.Contains(list.Result, mine) || strings.Contains(list.Result, other) || strings.Contains(list.Result, "payroll") {
		t.Errorf("the list is %s %s; want %s alone", list.Outcome, list.Result, mine)
	}
	if done := attempt(t, clerk, p, "ucan_export", `{"cid":"`+other+`"}`); done.Outcome != runtime.ToolDenied {
		t.Errorf("exporting what lies elsewhere: %s %s", done.Outcome, done.Result)
	}
	verify := func(with string) (outcome, result string) {
		done := attempt(t, clerk, p, "ucan_verify", `{"caller":"`+bob.DID().String()+`","can":"crud/read","with":"`+with+`"}`)
		return done.Outcome, done.Result
	}
	if outcome, result := verify("w/payroll"); outcome != runtime.ToolDenied || strings.Contains(result, other) {
		t.Errorf("asking who holds what lies elsewhere: %s %s", outcome, result)
	}
	if outcome, result := verify("w/clerk/notes"); outcome != runtime.ToolOK || !strings.Contains(result, mine) {
		t.Errorf("asking who holds what lies below: %s %s", outcome, result)
	}
	if err := canRead(t, bob, alice.DID().String()+"/w/payroll/x"); err != nil {
		t.Errorf("after the refusals: %v", err)
	}
	if done := attempt(t, clerk, p, "ucan_revoke", `{"cid":"`+mine+`"}`); done.Outcome != runtime.ToolOK {
		t.Errorf("revoking what lies below: %s %s", done.Outcome, done.Result)
	}
	if err := canRead(t, bob, alice.DID().String()+"/w/clerk/notes"); err == nil {
		t.Error("the revoked token still holds")
	}
}

// What an agent may import is bounded in the same way: tokens, those that pass on
// what another gives, and the revocations of what is known here or is not.
func TestImportingIsBoundedByWith(t *testing.T) {
	p := new(puppet)
	v := open(t, &venue.Options{Models: map[string]runtime.Model{"default": p}})
	alice := user(t, v, "alice")
	bob := user(t, v, "bob")
	eve, err := ucan.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	token := func(with string, to ucan.DID) *ucan.Link {
		is := ucan.Issuer{Key: eve, Verifier: &ucan.Verifier{}, Rand: rand.Reader}
		links, err := is.Delegate(t.Context(), ucan.Delegation{
			Audience: to, Capabilities: []caps.Capability{caps.MustCapability(with, "crud/read")}, Expires: time.Now().Add(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		return links[0]
	}
	hers := eve.DID().String()
	s := spec("clerk", "", `[{"with":"`+hers+`/w/clerk","can":"ucan"},{"with":"w/clerk","can":"ucan"}]`)
	s.Tools = []string{"ucan:*"}
	clerk := create(t, alice, s)
	within, outside, received := token("w/clerk/a", bob.DID()), token("w/payroll", bob.DID()), token("w/payroll", alice.DID())
	revocation := func(c ucan.CID) string {
		r, err := eve.Revocation(c, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return r.Text()
	}
	for _, tc := range []struct{ name, text, want string }{
		{"below", within.Text(), ""},
		{"elsewhere", outside.Text(), "ucan/delegate on " + hers + "/w/payroll"},
		{"made out to its owner", received.Text(), "ucan/delegate on " + hers + "/w/payroll"},
		{"the revocation of what is below", revocation(within.CID), ""},
		{"the revocation of what nobody knows", revocation(outside.CID), "ucan/delegate"},
	} {
		done := attempt(t, clerk, p, "ucan_import", fmt.Sprintf(`{"tokens":[%q]}`, tc.text))
		if tc.want == "" && done.Outcome != runtime.ToolOK || tc.want != "" && (done.Outcome != runtime.ToolDenied || !strings.Contains(done.Result, tc.want)) {
			t.Errorf("%s: %s %s, want %q", tc.name, done.Outcome, done.Result, tc.want)
		}
	}
	if list := invoke(t, alice, "ucan:list", `{}`); strings.Contains(list, received.CID.String()) {
		t.Errorf("what was denied is stored: %s", list)
	}
	invoke(t, alice, "ucan:import", fmt.Sprintf(`{"tokens":[%q]}`, received.Text()))
	if done := attempt(t, clerk, p, "ucan_import", fmt.Sprintf(`{"tokens":[%q]}`, revocation(received.CID))); done.Outcome != runtime.ToolDenied {
		t.Errorf("the revocation of what lies elsewhere: %s %s", done.Outcome, done.Result)
	}
}

// What an agent signs, with its own or its owner's key or the venue's, names it,
// lives a day, and counts as far as the agent's own capabilities go.
func TestWhatAnAgentSignsEndsWithIt(t *testing.T) {
	for _, op := range []string{"delegate", "issue"} {
		t.Run(op, func(t *testing.T) {
			p := new(puppet)
			v := open(t, &venue.Options{Models: map[string]runtime.Model{"default": p}})
			alice, bob := user(t, v, "alice"), user(t, v, "bob")
			invoke(t, alice, "covia:write", `{"path":"w/a/x","value":1}`)
			s := spec("clerk", "", `[{"with":"","can":"ucan"},{"with":"w","can":"crud"}]`)
			s.Tools = []string{"ucan:*"}
			clerk := create(t, alice, s)
			sign := func(expires string) runtime.ToolEnd {
				input := `{"audience":"` + bob.DID().String() + `","capabilities":[{"with":"w/a","can":"crud/read"}]` + expires + `}`
				if op == "issue" {
					input = `{"audience":"` + bob.DID().String() + `","attenuations":[{"with":"w/a","can":"crud/read"}]` + expires + `}`
				}
				return attempt(t, clerk, p, "ucan_"+op, input)
			}
			life := func(d time.Duration) string {
				if op == "issue" {
					return fmt.Sprintf(`,"exp":%d`, time.Now().Add(d).Unix())
				}
				return `,"expires":"` + time.Now().Add(d).UTC().Format(time.RFC3339) + `"`
			}
			if done := sign(life(48 * time.Hour)); done.Outcome == runtime.ToolOK || !strings.Contains(done.Result, "limits.delegation") {
				t.Errorf("for two days: %s %s", done.Outcome, done.Result)
			}
			if done := sign(life(time.Hour)); done.Outcome != runtime.ToolOK {
				t.Fatalf("for an hour: %s %s", done.Outcome, done.Result)
			}
			if list := invoke(t, alice, "ucan:list", `{"issued":true}`); !strings.Contains(list, `"agents":["`+alice.DID().String()+`/clerk#`) {
				t.Errorf("the list names no agent: %s", list)
			}
			hers := alice.DID().String() + "/w/a/x"
			holds := func(when string, want bool) {
				t.Helper()
				if err := canRead(t, bob, hers); (err == nil) != want {
					t.Errorf("%s: %v", when, err)
				}
			}
			holds("at once", true)
			// What bob makes of it goes the same way.
			carol := user(t, v, "carol")
			delegate(t, bob, carol.DID().String(), "crud/read", hers)
			below := func(when string, want bool) {
				t.Helper()
				if err := canRead(t, carol, hers); (err == nil) != want {
					t.Errorf("below, %s: %v", when, err)
				}
			}
			below("at once", true)
			for _, step := range []struct {
				op, input string
				want      bool
			}{
				{"agent:update", `{"agentId":"clerk","config":{"caps":[{"with":"w/b","can":"crud"}]}}`, false},
				{"agent:update", `{"agentId":"clerk","config":{"caps":[{"with":"w/a/x","can":"crud/read"}]}}`, true},
				{"agent:suspend", `{"agentId":"clerk"}`, false},
				{"agent:resume", `{"agentId":"clerk"}`, true},
				{"agent:delete", `{"agentId":"clerk"}`, false},
			} {
				invoke(t, alice, step.op, step.input)
				holds(step.op, step.want)
				below(step.op, step.want)
			}
			invoke(t, alice, "agent:create", `{"agentId":"clerk","config":{},"overwrite":true}`)
			holds("after another took its id", false)
		})
	}
}

// A denial across users lists what the caller has there, never "(unrestricted)".
func TestADenialListsWhatWasDelegated(t *testing.T) {
	v := open(t, nil)
	alice, bob, carol := user(t, v, "alice"), user(t, v, "bob"), user(t, v, "carol")
	delegate(t, alice, bob.DID().String(), "crud/read", "w/shared")
	delegate(t, carol, bob.DID().String(), "crud/read", "w/hers")
	text := func(path string) string {
		err := canRead(t, bob, alice.DID().String()+"/"+path)
		if err == nil {
			t.Fatalf("%s is read", path)
		}
		return err.Error()
	}
	if got := text("w/other"); !strings.Contains(got, "Your capabilities are: crud/read on "+alice.DID().String()+"/w/shared.") {
		t.Errorf("denied: %s", got)
	}
	if err := canRead(t, carol, alice.DID().String()+"/w/other"); err == nil || !strings.Contains(err.Error(), "Your capabilities are: (none).") {
		t.Errorf("with nothing delegated: %v", err)
	}
}

// Revocations come from elsewhere, too; one of what nobody knows says so.
func TestRevocationsTravel(t *testing.T) {
	v := open(t, nil)
	bob := user(t, v, "bob")
	ext := stranger(t)
	text := forge(t, ext, bob.DID().String(), []attenuation{{ext.DID().String() + "/w/x", "crud/read"}}, time.Hour)
	link, err := ucan.OpenText(text)
	if err != nil {
		t.Fatal(err)
	}
	revocation, err := ext.Revocation(link.CID, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	allowed := func() bool {
		return strings.Contains(invoke(t, bob, "ucan:verify", fmt.Sprintf(`{"caller":%q,"can":"crud/read","with":"%s/w/x"}`, bob.DID(), ext.DID())), `"allow"`)
	}
	if err := tryImport(bob, text); err != nil || !allowed() {
		t.Fatalf("imported: %v, allowed %v", err, allowed())
	}
	if out := invoke(t, bob, "ucan:import", `{"tokens":["`+revocation.Text()+`","eyJ9"]}`); !strings.Contains(out, `"revoked":["`+link.CID.String()) || !strings.Contains(out, `"aside":[{"token":1,`) {
		t.Errorf("imported %s", out)
	}
	if allowed() {
		t.Error("the revoked token still holds")
	}
	if out := invoke(t, bob, "ucan:export", `{"cid":"`+link.CID.String()+`"}`); !strings.Contains(out, revocation.Text()) || !strings.Contains(out, text) {
		t.Errorf("exported %s", out)
	}
	if out := invoke(t, bob, "ucan:revoke", `{"cid":"bafyreiexf2seyzhdmsi6rgwepm5vuxbsqhznndbpprov7ypvemulovxunu"}`); !strings.Contains(out, `"revoked":false`) || !strings.Contains(out, "no token of this name is known here") {
		t.Errorf("an unknown one: %s", out)
	}
	if out := invoke(t, bob, "ucan:whoami", `{}`); !strings.Contains(out, bob.DID().String()) || !strings.Contains(out, v.DID().String()) {
		t.Errorf("whoami: %s", out)
	}
	if _, err := user(t, v, "mallory").Invoke(t.Context(), "ucan:export", map[string]any{"cid": link.CID}); err == nil {
		t.Error("a stranger got the token")
	}
}

// A token that the venue signed for an owner is listed as revoked once the owner has revoked it.
func TestRevokedOfTheVenuesIsListed(t *testing.T) {
	v := open(t, nil)
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	var issued delegation.IssueResult
	raw := invoke(t, alice, "ucan:issue", fmt.Sprintf(`{"audience":%q,"attenuations":[{"with":"w/z","can":"crud/read"}],"exp":%d}`, bob.DID(), time.Now().Add(time.Hour).Unix()))
	if err := json.Unmarshal([]byte(raw), &issued); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{false, true} {
		for _, u := range []*venue.User{alice, bob} {
			var list delegation.Tokens
			if err := json.Unmarshal([]byte(invoke(t, u, "ucan:list", `{}`)), &list); err != nil || len(list.Tokens) != 1 || list.Tokens[0].Revoked != want {
				t.Errorf("%+v, %v, want one that is revoked: %t", list.Tokens, err, want)
			}
		}
		if !want {
			invoke(t, alice, "ucan:revoke", fmt.Sprintf(`{"cid":%q}`, issued.CID))
		}
	}
}
