package caps_test

import (
	"testing"

	"usher/caps"
)

func TestNeedHolding(t *testing.T) {
	held := caps.Of(caps.MustCapability("w/a/", "crud"), caps.MustCapability("g/x", "agent/read"))
	for _, tc := range []struct {
		with, can string
		want      bool
	}{
		{"w/a", "crud", true},
		{"w/a/b", "crud/read", true},
		{"w/a/b/", "crud", true},
		{"w/", "crud/read", false},
		{"w/ab", "crud/read", false},
		{"w/a", "*", false},
		{"", "crud/read", false},
		{"g/x", "agent", false},
	} {
		c := caps.MustCapability(tc.with, tc.can)
		need := caps.NeedHolding(c)
		if !need.HandsOn() || need.Err() != nil {
			t.Errorf("NeedHolding(%v): HandsOn %v, Err %v", c, need.HandsOn(), need.Err())
		}
		if got := held.Check(need).IsAllowed(); got != tc.want || got != held.Covers(caps.Of(c)) {
			t.Errorf("%v hands on %v: %v, want %v as Covers says", held, c, got, tc.want)
		}
		if !caps.Unrestricted().Check(need).IsAllowed() {
			t.Errorf("an unrestricted holder cannot hand on %v", c)
		}
	}
	if caps.Need("crud", "w/a").HandsOn() {
		t.Error("a plain need hands on")
	}
}

func TestTarget(t *testing.T) {
	for _, tc := range []struct {
		need caps.Request
		want string
	}{
		{caps.Need("crud/read", "/w/a/"), "w/a"},
		{caps.Need("crud/read", ""), "(any)"},
		{caps.NeedAbility("invoke"), "(any)"},
	} {
		if got := tc.need.Target(); got != tc.want {
			t.Errorf("Target of %v = %q, want %q", tc.need, got, tc.want)
		}
	}
}

func TestScopeForeign(t *testing.T) {
	scope := caps.ScopeForeign("crud/write", "w", 1, 0)
	for held, want := range map[caps.Capability]bool{
		caps.MustCapability("did:key:zBob/w/a", "crud"):      true,
		caps.MustCapability("did:key:zBob/w/", "crud/write"): true,
		caps.MustCapability("did:key:zBob", "*"):             true,
		caps.MustCapability("did:key:zBob/g/", "crud"):       false,
		caps.MustCapability("did:key:zBob/w/a", "crud/read"): false,
		caps.MustCapability("w/", "crud"):                    false,
		caps.MustCapability("", "*"):                         false,
	} {
		if got := caps.Of(held).CouldAllow(scope); got != want {
			t.Errorf("CouldAllow with %v = %v, want %v", held, got, want)
		}
	}
	if !caps.Unrestricted().CouldAllow(scope) || (caps.Set{}).CouldAllow(scope) {
		t.Error("unrestricted must, and nothing must not")
	}
}

func TestScopeExactly(t *testing.T) {
	scope := caps.ScopeExactly("agent/read", "g")
	for held, want := range map[caps.Capability]bool{
		caps.MustCapability("g/", "agent/read"):  true,
		caps.MustCapability("", "agent"):         true,
		caps.MustCapability("g/x", "agent/read"): false,
		caps.MustCapability("g/", "agent/fork"):  false,
	} {
		if got := caps.Of(held).CouldAllow(scope); got != want {
			t.Errorf("CouldAllow with %v = %v, want %v", held, got, want)
		}
	}
	if !caps.Unrestricted().CouldAllow(scope) || (caps.Set{}).CouldAllow(scope) {
		t.Error("unrestricted must, and nothing must not")
	}
}
