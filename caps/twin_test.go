package caps

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The oracle is the specification read aloud: split both texts, compare the
// segments one by one, try every capability.

func oracleSegments(r Resource) []string {
	switch {
	case r.text == "":
		return nil
	case strings.HasPrefix(r.text, "did:"):
		return strings.Split(r.text, "/")
	}
	return append([]string{"(own)"}, strings.Split(r.text, "/")...)
}

func oraclePrefix(a, b []string) bool {
	return len(a) <= len(b) && slices.Equal(a, b[:len(a)])
}

func oracleResource(grant, want Resource) bool {
	if grant.text == "" {
		return !strings.HasPrefix(want.text, "did:")
	}
	return oraclePrefix(oracleSegments(grant), oracleSegments(want))
}

func oracleAbility(grant, want Ability) bool {
	if grant == "" || want == "" {
		return false
	}
	return grant == "*" || oraclePrefix(strings.Split(string(grant), "/"), strings.Split(string(want), "/"))
}

func oracleCovers(c Capability, can Ability, on Resource) bool {
	return oracleAbility(c.can, can) && oracleResource(c.Resource(), on)
}

func oracleCheck(list []Capability, r Request) bool {
	return slices.ContainsFunc(list, func(c Capability) bool {
		if r.kind == onAbility {
			return oracleAbility(c.can, r.can) && !strings.HasPrefix(c.with, "did:")
		}
		return r.kind >= onResource && oracleCovers(c, r.can, r.on)
	})
}

// linear is the plain alternative to compiling: prefix comparison on strings,
// one capability after the other.
type linear []Capability

func (l linear) check(r Request) bool {
	for i := range l {
		c := &l[i]
		on := strings.TrimSuffix(c.with, "/")
		if (on == "" && !strings.HasPrefix(r.on.text, didPrefix) || on != "" && coversText(on, r.on.text)) &&
			(c.can == anyAbility || coversText(string(c.can), string(r.can))) {
			return true
		}
	}
	return false
}

// The alphabets are small and overlap, so that prefixes, siblings and segments
// that begin alike meet all the time.
var (
	smallSegments  = []string{"a", "ab", "b", "a-b", "a.b", "é", "z"}
	smallNames     = []string{"", "", "", "did:key:zA", "did:key:zAB", "did:key:zA:b", "file://", "files://"}
	smallAbilities = []string{"a", "ab", "b", "a-b", "a_b", "0"}
)

func randomResource(rnd *rand.Rand) Resource {
	name := smallNames[rnd.IntN(len(smallNames))]
	segs := make([]string, rnd.IntN(4))
	for i := range segs {
		segs[i] = smallSegments[rnd.IntN(len(smallSegments))]
	}
	text := strings.Join(segs, "/")
	switch {
	case strings.HasSuffix(name, "/"), name == "":
		text = name + text
	case text != "":
		text = name + "/" + text
	default:
		text = name
	}
	return mustResource(text)
}

func randomAbility(rnd *rand.Rand, wide bool) Ability {
	if rnd.IntN(12) == 0 {
		return anyAbility
	}
	segs := make([]string, 1+rnd.IntN(3))
	for i := range segs {
		segs[i] = smallAbilities[rnd.IntN(len(smallAbilities))]
		if wide {
			segs[i] += fmt.Sprint(rnd.IntN(6))
		}
	}
	return Ability(strings.Join(segs, "/"))
}

func randomCapability(rnd *rand.Rand, wide bool) Capability {
	with := randomResource(rnd).String()
	if rnd.IntN(2) == 0 && !strings.HasSuffix(with, "/") {
		with += "/"
	}
	return MustCapability(with, string(randomAbility(rnd, wide)))
}

func mustResource(s string) Resource {
	r, err := ParseResource(s)
	if err != nil {
		panic(err)
	}
	return r
}

func TestCheckAgreesWithOracle(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 7))
	allowed, checked := 0, 0
	for round := range rounds(1200) {
		wide := round%4 == 0
		size := rnd.IntN(8)
		if wide {
			size = rnd.IntN(400)
		}
		list := make([]Capability, size)
		for i := range list {
			list[i] = randomCapability(rnd, wide)
		}
		set := Of(list...)
		for range 50 {
			r := NeedOn(randomAbility(rnd, wide), randomResource(rnd))
			if rnd.IntN(8) == 0 {
				r = NeedAbility(string(r.can))
			}
			want := oracleCheck(list, r)
			d := set.Check(r)
			if d.IsAllowed() != want {
				t.Fatalf("%v.Check(%v) = %v, want %v", set, r, d.IsAllowed(), want)
			}
			if by, ok := d.By(); ok != want || want && !oracleCheck([]Capability{by}, r) {
				t.Fatalf("%v.Check(%v).By() = %v, %v", set, r, by, ok)
			}
			if r.kind >= onResource && linear(list).check(r) != want {
				t.Fatalf("linear(%v).check(%v) = %v, want %v", set, r, !want, want)
			}
			if denial := d.Denial("op"); (denial == nil) != want {
				t.Fatalf("%v.Check(%v).Denial = %v", set, r, denial)
			}
			checked++
			if want {
				allowed++
			}
		}
	}
	t.Logf("%d of %d allowed", allowed, checked)
	if allowed < checked/20 || allowed > checked*19/20 {
		t.Errorf("%d of %d allowed: the cases decide too little", allowed, checked)
	}
}
