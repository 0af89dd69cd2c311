package tools_test

import (
	"testing"

	"usher/caps"
)

// What an agent may do for one caller says nothing of what it may do for the next.
func TestAnAgentIsBoundByWhoeverCallsIt(t *testing.T) {
	_, mint := gate(t, nil, writer(new([]string)))
	alice := owner(t, 1)
	everything := func() caps.Set { return caps.Unrestricted() }
	clerk := mint.Agent(alice, "clerk", everything)
	wide := mint.Agent(alice, "wide", everything)
	narrow := mint.Agent(alice, "narrow", func() caps.Set { return caps.Of(caps.MustCapability("w/notes/", "crud")) })
	need := caps.Need("crud/write", "w/secret")
	for i, c := range []struct {
		own  bool
		want bool
		by   string
	}{{false, true, "wide"}, {false, false, "narrow"}, {true, true, "narrow"}, {false, false, "narrow"}, {false, true, "wide"}} {
		caller := wide
		if c.by == "narrow" {
			caller = narrow
		}
		if got := clerk.ByCaller(caller, c.own).Caps().Check(need).IsAllowed(); got != c.want {
			t.Errorf("call %d, by %s (own %t): allowed %t, want %t", i, c.by, c.own, got, c.want)
		}
	}
}
