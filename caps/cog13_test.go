package caps_test

import (
	"encoding/json"
	"os"
	"testing"

	"usher/caps"
)

// corpus is testdata/cog13.json: the tables and examples of COG-13 as they stand.
type corpus struct {
	ResourceMatching []struct {
		With, Resource string
		Covered        bool
	}
	CrossUser caps.Capability
	Abilities []struct {
		Can         string
		Covers, Not []string
	}
	Operations      []struct{ Operation, Can string }
	NullVersusEmpty []struct {
		Caps    caps.Set
		Allowed bool
	}
	Denial struct {
		Caps                              caps.Set
		Operation, Can, Resource, Message string
	}
	Attenuation struct {
		Grantor     caps.Capability
		May, MayNot []caps.Capability
	}
	Examples []struct {
		Name            string
		Caps            caps.Set
		Allowed, Denied [][2]string
	}
}

func readCorpus(t *testing.T) (c corpus) {
	t.Helper()
	data, err := os.ReadFile("testdata/cog13.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCOG13ResourceMatching(t *testing.T) {
	for _, row := range readCorpus(t).ResourceMatching {
		set := caps.Of(caps.MustCapability(row.With, "crud"))
		if got := set.Check(caps.Need("crud/read", row.Resource)).IsAllowed(); got != row.Covered {
			t.Errorf("%q covers %q = %v, want %v", row.With, row.Resource, got, row.Covered)
		}
	}
}

func TestCOG13CrossUser(t *testing.T) {
	set := caps.Of(readCorpus(t).CrossUser)
	for resource, want := range map[string]bool{
		"did:key:zAlice.../w/shared-data/report": true,
		"did:key:zAlice.../w/shared-data":        true,
		"did:key:zAlice.../w/other":              false,
		"did:key:zAlice...x/w/shared-data":       false,
		"w/shared-data":                          false,
	} {
		if got := set.Check(caps.Need("crud/read", resource)).IsAllowed(); got != want {
			t.Errorf("Check(crud/read on %q) = %v, want %v", resource, got, want)
		}
	}
}

func TestCOG13Abilities(t *testing.T) {
	c := readCorpus(t)
	for _, row := range c.Abilities {
		set := caps.Of(caps.MustCapability("", row.Can))
		check := func(can string, want bool) {
			t.Helper()
			if got := caps.Ability(row.Can).Covers(caps.Ability(can)); got != want {
				t.Errorf("Ability(%q).Covers(%q) = %v, want %v", row.Can, can, got, want)
			}
			if got := set.Check(caps.Need(can, "w/x")).IsAllowed(); got != want {
				t.Errorf("{\"\", %q} allows %q = %v, want %v", row.Can, can, got, want)
			}
			if got := set.Check(caps.NeedAbility(can)).IsAllowed(); got != want {
				t.Errorf("{\"\", %q} allows %q without resource = %v, want %v", row.Can, can, got, want)
			}
		}
		for _, can := range row.Covers {
			check(can, true)
		}
		for _, can := range row.Not {
			check(can, false)
		}
	}
	for _, row := range c.Operations {
		if _, err := caps.ParseAbility(row.Can); err != nil {
			t.Errorf("%s: %v", row.Operation, err)
		}
	}
}

func TestCOG13NullVersusEmpty(t *testing.T) {
	for _, row := range readCorpus(t).NullVersusEmpty {
		for _, r := range []caps.Request{caps.Need("crud/write", "w/x"), caps.Need("crud/read", ""), caps.NeedAbility("invoke")} {
			if got := row.Caps.Check(r).IsAllowed(); got != row.Allowed {
				t.Errorf("%v.Check(%v) = %v, want %v", row.Caps, r, got, row.Allowed)
			}
		}
	}
}

func TestCOG13Denial(t *testing.T) {
	d := readCorpus(t).Denial
	denial := d.Caps.Check(caps.Need(d.Can, d.Resource)).Denial(d.Operation)
	if denial == nil || denial.Error() != d.Message {
		t.Errorf("Denial = %q, want %q", denial, d.Message)
	}
}

func TestCOG13Attenuation(t *testing.T) {
	a := readCorpus(t).Attenuation
	for _, c := range a.May {
		if !a.Grantor.Covers(c) || !caps.Of(a.Grantor).Covers(caps.Of(c)) {
			t.Errorf("%v does not cover %v, want it to", a.Grantor, c)
		}
	}
	for _, c := range a.MayNot {
		if a.Grantor.Covers(c) || caps.Of(a.Grantor).Covers(caps.Of(c)) {
			t.Errorf("%v covers %v, want it not to", a.Grantor, c)
		}
	}
}

func TestCOG13Examples(t *testing.T) {
	for _, row := range readCorpus(t).Examples {
		t.Run(row.Name, func(t *testing.T) {
			check := func(list [][2]string, want bool) {
				for _, r := range list {
					if got := row.Caps.Check(caps.Need(r[0], r[1])).IsAllowed(); got != want {
						t.Errorf("Check(%s on %s) = %v, want %v", r[0], r[1], got, want)
					}
				}
			}
			check(row.Allowed, true)
			check(row.Denied, false)
		})
	}
}
