package approvals

import (
	"context"
	"testing"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/tools/toolstest"
	"usher/ucan"
)

// Whoever reads a request cannot find its input out by trying all: another venue's key
// makes another digest of the same call. Any change of the call makes another one, too.
func TestDigestsAreKeyed(t *testing.T) {
	registry := new(tools.Registry)
	gate, mint := toolstest.NewGate(registry, nil)
	op := tools.New("test:op", "Do.", func(struct{ PIN string }) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(context.Context, tools.Call, struct{ PIN string }) (string, error) { return "", nil }, tools.Within(caps.ScopeAbility("invoke")))
	if err := registry.Register(op); err != nil {
		t.Fatal(err)
	}
	key, err := ucan.KeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	all := func() caps.Set { return caps.Unrestricted() }
	auth := mint.Agent(key.DID(), "bob", all).InRun("r1")
	digest := func(venue string, auth tools.Authority, input string, at tools.At) string {
		t.Helper()
		ruling, err := gate.Decide(t.Context(), auth, tools.Invocation{Operation: "test:op", Input: []byte(input)})
		if err != nil {
			t.Fatal(err)
		}
		room := New(Options{Key: []byte(venue)})
		asked, err := value.Decode(ruling.Input(), value.MaxDepth)
		if err != nil {
			t.Fatal(err)
		}
		d, err := room.digest(ruling, at.In(auth.Run()), asked)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	at := tools.At{Event: 1, N: 1}
	first := digest("a", auth, `{"PIN":"1234"}`, at)
	if again := digest("a", auth, `{ "PIN": "1234" }`, at); again != first {
		t.Error("the same call has two digests")
	}
	for name, other := range map[string]string{
		"another venue": digest("b", auth, `{"PIN":"1234"}`, at),
		"another input": digest("a", auth, `{"PIN":"1235"}`, at),
		"another place": digest("a", auth, `{"PIN":"1234"}`, tools.At{Event: 1, N: 2}),
		"another run":   digest("a", auth.InRun("r2"), `{"PIN":"1234"}`, at),
		"another agent": digest("a", mint.Agent(key.DID(), "eve", all).InRun("r1"), `{"PIN":"1234"}`, at),
		"a user":        digest("a", mint.User(key.DID()).InRun("r1"), `{"PIN":"1234"}`, at),
	} {
		if other == first {
			t.Errorf("%s has the same digest", name)
		}
	}
}
