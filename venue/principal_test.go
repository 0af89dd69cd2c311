package venue_test

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue"
	"usher/venue/runs"
)

// stuck is a model that answers nobody: it says that it was asked, and waits.
type stuck chan struct{}

func (s stuck) Generate(ctx context.Context, _ *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		s <- struct{}{}
		<-ctx.Done()
		yield(runtime.Chunk{}, context.Cause(ctx))
	}
}

// newIssuer signs with a key that no venue has.
func newIssuer(t *testing.T) *ucan.Issuer {
	t.Helper()
	key, err := ucan.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &ucan.Issuer{Key: key, Verifier: new(ucan.Verifier), Rand: rand.Reader}
}

func identity(t *testing.T, issuer *ucan.Issuer, audience ucan.DID) string {
	t.Helper()
	l, err := issuer.Identity(audience, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return l.Text()
}

// An identity token is one that grants nothing and names the venue. A delegation,
// a token for somebody else and one that has ended authenticate nobody.
func TestAuthenticate(t *testing.T) {
	var later atomic.Int64
	v := open(t, &venue.Options{Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
	issuer := newIssuer(t)
	mine := identity(t, issuer, v.DID())
	delegation := func(format ucan.Format) string {
		t.Helper()
		links, err := issuer.Delegate(t.Context(), ucan.Delegation{
			Audience: v.DID(), Capabilities: []caps.Capability{caps.MustCapability("w/", "crud")}, Expires: time.Now().Add(time.Hour), Format: format,
		})
		if err != nil {
			t.Fatal(err)
		}
		return links[0].Text()
	}
	for name, token := range map[string]string{
		"H15 for another venue": identity(t, issuer, open(t, nil).DID()), "H14 a delegation": delegation(ucan.JWT), "H14 a native delegation": delegation(ucan.Native),
		"H13 forged": mine[:len(mine)-8] + "AAAAAAAA", "H19 nothing": "",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := v.Authenticate(t.Context(), token); err == nil {
				t.Error("it authenticates")
			}
		})
	}
	p, err := v.Authenticate(t.Context(), mine)
	if err != nil || p.DID() != issuer.Key.DID() {
		t.Fatalf("Authenticate() = %v, %v, want the issuer", p, err)
	}
	invoke(t, p, "covia:write", `{"path":"w/a","value":1}`)
	later.Store(int64(2 * time.Hour))
	input := map[string]string{"path": "w/a"}
	_, invoked := p.Invoke(t.Context(), "covia:read", input)
	_, decided := p.Decide(t.Context(), "covia:read", input)
	_, _, listed := p.Runs(t.Context(), "", 1)
	_, found := p.Agent(t.Context(), "ann")
	_, again := v.Authenticate(t.Context(), mine)
	for name, err := range map[string]error{"invokes": invoked, "decides": decided, "lists runs": listed, "finds agents": found, "is let in": again} {
		if !errors.Is(err, ucan.ErrExpired) {
			t.Errorf("after the token has ended it %s: %v", name, err)
		}
	}
}

// An agent serves its principal as long as that is one.
func TestAnAgentOfAPrincipalThatEnded(t *testing.T) {
	v := open(t, with(new(puppet)))
	alice := user(t, v, "alice")
	p, revoke := session(t, v, alice)
	ann, err := p.CreateAgent(t.Context(), spec("ann", "", "[]"))
	if err != nil {
		t.Fatal(err)
	}
	chat(t, ann, "hello")
	revoke()
	_, started := ann.Start(t.Context(), "", "hello")
	_, listed := ann.Sessions(t.Context())
	_, described := ann.Info(t.Context())
	_, briefed := ann.Brief(t.Context())
	var read error
	for _, read = range ann.History(t.Context(), "main") {
	}
	for name, err := range map[string]error{"starts": started, "lists sessions": listed, "is described": described, "is told": briefed, "is read": read} {
		if !errors.Is(err, ucan.ErrRevoked) {
			t.Errorf("after the token was revoked the agent %s: %v", name, err)
		}
	}
}

// What a principal brings along counts for its calls, and for no other's.
func TestProofsOfAPrincipal(t *testing.T) {
	v := open(t, nil)
	alice, bob := newIssuer(t), newIssuer(t)
	owner, err := v.Authenticate(t.Context(), identity(t, alice, v.DID()))
	if err != nil {
		t.Fatal(err)
	}
	invoke(t, owner, "covia:write", `{"path":"w/a","value":"seen"}`)
	links, err := alice.Delegate(t.Context(), ucan.Delegation{
		Audience: bob.Key.DID(), Capabilities: []caps.Capability{caps.MustCapability("w/", "crud/read")}, Expires: time.Now().Add(time.Hour), Format: ucan.JWT,
	})
	if err != nil {
		t.Fatal(err)
	}
	input := map[string]string{"path": alice.Key.DID().String() + "/w/a"}
	for proofs, want := range map[string]bool{"": false, links[0].Text(): true} {
		var list []string
		if proofs != "" {
			list = []string{proofs}
		}
		p, err := v.Authenticate(t.Context(), identity(t, bob, v.DID()), list...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Invoke(t.Context(), "covia:read", input); (err == nil) != want {
			t.Errorf("with %d proofs: %v", len(list), err)
		}
	}
}

// session returns the principal of a session, and what ends that.
func session(t *testing.T, v *venue.Venue, of *venue.User) (p *venue.Principal, revoke func()) {
	t.Helper()
	token, err := v.Session(t.Context(), of, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = v.Authenticate(t.Context(), token); err != nil || p.DID() != of.DID() {
		t.Fatalf("Authenticate() = %v, %v, want %s", p, err, of.DID())
	}
	link, err := ucan.OpenText(token)
	if err != nil {
		t.Fatal(err)
	}
	return p, func() { invoke(t, of, "ucan:revoke", `{"cid":"`+link.CID.String()+`"}`) }
}

// A session of a user leads back to the user until it is revoked, and the venue
// signs for nobody whose key it does not have.
func TestSessionOfAPrincipal(t *testing.T) {
	v := open(t, nil)
	again, revoke := session(t, v, user(t, v, "alice"))
	invoke(t, again, "covia:list", `{}`)
	revoke()
	if _, err := again.Invoke(t.Context(), "covia:list", struct{}{}); !errors.Is(err, ucan.ErrRevoked) {
		t.Errorf("after it was revoked: %v", err)
	}
	if token, err := v.Session(t.Context(), again, time.Hour); err == nil {
		t.Errorf("a session that was revoked is renewed: %s", token)
	}
	stranger, err := v.Authenticate(t.Context(), identity(t, newIssuer(t), v.DID()))
	if err != nil {
		t.Fatal(err)
	}
	if token, err := v.Session(t.Context(), stranger, time.Hour); err == nil {
		t.Errorf("the venue signs for a stranger: %s", token)
	}
}

// A decision runs nothing and is what the call would get.
func TestDecideOfAPrincipal(t *testing.T) {
	v := open(t, nil)
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	input := map[string]any{"path": "w/a", "value": 1}
	ruling, err := alice.Decide(t.Context(), "covia:write", input)
	if err != nil || ruling.Verdict() != tools.Allowed {
		t.Fatalf("Decide() = %v, %v, want that it is allowed", ruling, err)
	}
	if got := invoke(t, alice, "covia:read", `{"path":"w/a"}`); strings.Contains(got, `"exists":true`) {
		t.Errorf("it was written: %s", got)
	}
	input["path"] = alice.DID().String() + "/w/a"
	if ruling, err := bob.Decide(t.Context(), "covia:write", input); err != nil || ruling.Denial() == nil {
		t.Errorf("Decide() = %v, %v, want a denial", ruling, err)
	}
}

// Runs are found, followed and stopped by whose they are, and by nobody else.
func TestRunsOfAPrincipal(t *testing.T) {
	m := make(stuck, 1)
	v := open(t, with(m))
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	if _, err := alice.CreateAgent(t.Context(), spec("ann", "", "[]")); err != nil {
		t.Fatal(err)
	}
	id, err := alice.Start(t.Context(), "agent:request", map[string]any{"agentId": "ann", "input": "go"})
	if err != nil {
		t.Fatal(err)
	}
	<-m
	_, found := bob.Run(t.Context(), id)
	var followed error
	for _, followed = range bob.Events(t.Context(), id, 0) {
	}
	for name, err := range map[string]error{"found": found, "stopped": bob.Stop(t.Context(), id), "followed": followed} {
		if fault.Of(err) != fault.NotFound {
			t.Errorf("another's run is %s: %v", name, err)
		}
	}
	if list, more, err := bob.Runs(t.Context(), "", 10); len(list) > 0 || more != "" || err != nil {
		t.Errorf("Runs() of another = %v, %q, %v", list, more, err)
	}
	list, _, err := alice.Runs(t.Context(), "", 10)
	if err != nil || len(list) != 2 {
		t.Fatalf("Runs() = %+v, %v, want the job and its task", list, err)
	}
	if err := alice.Stop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for _, of := range list {
		rec, err := alice.Run(t.Context(), of.ID)
		if err != nil || rec.Status != runs.Cancelled {
			t.Errorf("stopped: %+v, %v", rec, err)
		}
		if len(rec.Authority)+len(of.Authority) > 0 {
			t.Errorf("it shows the authority that the venue keeps: %s, %s", rec.Authority, of.Authority)
		}
	}
	ended := false
	for e, err := range alice.Events(t.Context(), list[0].ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		_, end := e.Event.(runtime.TurnEnd)
		ended = ended || end
	}
	if !ended {
		t.Errorf("the events of the %s do not tell its end", list[0].Kind)
	}
}
