package caps

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"usher/caps/value"
)

// The laws of sets with terms hold by verdict: deny is tighter than ask, ask than
// allow.

var day = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func genWhen() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		``, ``, `{"/n":{"max":2}}`, `{"/n":{"min":1,"max":3}}`, `{"/n":{"max":1}}`, `{"/n":1}`, `{"/n":{"in":[1,2,"x"]}}`, `{"/n":{"in":[2,3]}}`,
		`{"/n":{"not_in":[1]}}`, `{"/n":{"not_in":["x",2]}}`, `{"/n":{"not_in":["x"]}}`, `{"/s":"x"}`, `{"/s":{"not_in":["x"]},"/n":{"max":2}}`,
		`{"/s":{"in":[{"a":1},[1]]}}`, `{"/n":{"min":2,"in":[1,2,3]}}`,
	})
}

func genTerms() *rapid.Generator[Capability] {
	return rapid.Custom(func(t *rapid.T) Capability {
		c := genCapability().Draw(t, "plain")
		if rapid.IntRange(0, 2).Draw(t, "terms") == 0 {
			return c
		}
		terms := Terms{When: json.RawMessage(genWhen().Draw(t, "when"))}
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			terms.Deny = true
		case 1:
			terms.Ask = true
		}
		if n := rapid.IntRange(0, 4).Draw(t, "until"); n < 3 {
			terms.Until = day.AddDate(0, 0, n)
		}
		c, err := c.On(terms)
		if err != nil {
			t.Fatal(err)
		}
		return c
	})
}

func genTermSet() *rapid.Generator[Set] {
	return rapid.Custom(func(t *rapid.T) Set {
		if rapid.IntRange(0, 19).Draw(t, "unrestricted") == 0 {
			return Unrestricted()
		}
		list := rapid.SliceOfN(genTerms(), 0, 4).Draw(t, "list")
		for range rapid.IntRange(0, 3).Draw(t, "near") { // what has to do with another
			if len(list) == 0 {
				break
			}
			c := genTerms().Draw(t, "terms")
			r := near(t, rapid.SampledFrom(list).Draw(t, "by"))
			list = append(list, Capability{with: r.on.String(), can: r.can, terms: c.terms})
		}
		return Of(list...)
	})
}

// genNearSet draws a set of which much has to do with what s holds, on other terms.
func genNearSet(s Set) *rapid.Generator[Set] {
	return rapid.Custom(func(t *rapid.T) Set {
		u := genTermSet().Draw(t, "u")
		if s.Len() == 0 || u.IsUnrestricted() || rapid.IntRange(0, 3).Draw(t, "any") == 0 {
			return u
		}
		list := slices.Clone(u.list())
		for range rapid.IntRange(1, 3).Draw(t, "more") {
			r := near(t, rapid.SampledFrom(s.list()).Draw(t, "by"))
			if r.Err() == nil {
				list = append(list, Capability{with: r.on.String(), can: r.can, terms: genTerms().Draw(t, "terms").terms})
			}
		}
		return Of(list...)
	})
}

// near is a request on what a capability is about, or on something above or below.
func near(t *rapid.T, c Capability) Request {
	with, can := c.Resource().String(), string(c.can)
	up := func(text string) string { return text[:max(0, strings.LastIndexByte(text, '/'))] }
	switch rapid.IntRange(0, 3).Draw(t, "place") {
	case 0:
		if _, err := ParseResource(up(with)); err == nil {
			with = up(with)
		}
	case 1:
		if r, err := ParseResource(strings.TrimPrefix(strings.TrimSuffix(with, "/")+"/a", "/")); err == nil {
			with = r.String()
		}
	}
	switch rapid.IntRange(0, 3).Draw(t, "ability") {
	case 0:
		can = cmp.Or(up(can), can)
	case 1:
		if can != "*" {
			can += "/a"
		}
	}
	return Need(can, with)
}

// genNear draws a request that often has to do with what s holds.
func genNear(s ...Set) *rapid.Generator[Request] {
	return rapid.Custom(func(t *rapid.T) Request {
		list := rapid.SampledFrom(s).Draw(t, "of").list()
		if len(list) == 0 || rapid.IntRange(0, 3).Draw(t, "any") == 0 {
			return genRequest().Draw(t, "request")
		}
		if r := near(t, rapid.SampledFrom(list).Draw(t, "by")); r.Err() == nil {
			return r
		}
		return genRequest().Draw(t, "request")
	})
}

func genFacts() *rapid.Generator[Facts] {
	return rapid.Custom(func(t *rapid.T) Facts {
		text := rapid.SampledFrom([]string{
			`{}`, `{"n":0}`, `{"n":1}`, `{"n":1.0,"s":"x"}`, `{"n":2,"s":"y"}`, `{"n":3}`, `{"n":"x"}`, `{"n":null,"s":{"a":1}}`, `{"n":4,"s":[1]}`,
			`{"n":1,"N":3}`, `{"n":2.00000000000000000000001}`, `{"s":{"a":2}}`, `{"n":"2"}`,
		}).Draw(t, "input")
		v, err := value.Decode([]byte(text), 8)
		if err != nil {
			t.Fatal(err)
		}
		return Facts{Now: day.AddDate(0, 0, rapid.IntRange(-1, 3).Draw(t, "day")).Add(time.Second), Input: v}
	})
}

// verdictOf is 0 for a denial, 1 where a person is asked, 2 where it is allowed.
func verdictOf(s Set, r Request, f Facts) int {
	switch d := s.Check(r).Settle(f); {
	case d.IsAllowed():
		return 2
	case d.IsAsk():
		return 1
	}
	return 0
}

// oracleTerms is the rule read aloud, over the limits as they are written.
func oracleTerms(list []Capability, r Request, f Facts) int {
	best := 0
	for _, c := range list {
		over := !c.Until().IsZero() && f.Now.After(c.Until())
		holds := hold(c.When(), f.Input)
		switch {
		case over:
		case c.Denies():
			able := oracleAbility(c.can, r.can) || oracleAbility(r.can, c.can)
			near := oracleResource(c.Resource(), r.on) || oracleResource(r.on, c.Resource())
			if able && near && holds != no {
				return 0
			}
		case oracleCovers(c, r.can, r.on) && holds == yes && c.Asks():
			best = max(best, 1)
		case oracleCovers(c, r.can, r.on) && holds == yes:
			best = 2
		}
	}
	return best
}

func TestTermsLaws(t *testing.T) {
	law(t, "as the slow way", func(t *rapid.T) {
		s, f := genTermSet().Draw(t, "s"), genFacts().Draw(t, "f")
		r := genNear(s).Draw(t, "r")
		want := oracleTerms(s.list(), r, f)
		if s.IsUnrestricted() {
			want = 2
		}
		if got := verdictOf(s, r, f); got != want {
			t.Fatalf("%v settles %v as %d, want %d", s, r, got, want)
		}
		if d := s.Check(r); d.IsAllowed() && want < 2 || want > 0 && !d.Possible() {
			t.Fatalf("%v checks %v as allowed %v, possible %v, and settles it as %d", s, r, d.IsAllowed(), d.Possible(), want)
		}
		if got := verdictOf(s.At(f.Now), r, f); got != want {
			t.Fatalf("%v at %v settles %v as %d, want %d", s, f.Now, r, got, want)
		}
	})
	law(t, "the intersection is the tighter verdict", func(t *rapid.T) {
		s, f := genTermSet().Draw(t, "s"), genFacts().Draw(t, "f")
		u := genNearSet(s).Draw(t, "u")
		r := genNear(s, u).Draw(t, "r")
		both := s.Intersect(u)
		want := min(verdictOf(s, r, f), verdictOf(u, r, f))
		if got := verdictOf(both, r, f); got != want {
			t.Fatalf("%v ∩ %v = %v settles %v as %d, want %d", s, u, both, r, got, want)
		}
		if got := verdictOf(u.Intersect(s), r, f); got != want {
			t.Fatalf("%v ∩ %v settles %v as %d, and the other way as %d", s, u, r, want, got)
		}
		a := NeedAbility(string(r.can))
		if got, most := verdictOf(both, a, f), min(verdictOf(s, a, f), verdictOf(u, a, f)); got > most {
			t.Fatalf("%v ∩ %v = %v settles %v as %d, above %d", s, u, both, a, got, most)
		}
	})
	law(t, "the same of two capabilities for the same", func(t *rapid.T) {
		on := MustCapability("w", "crud")
		one := func(name string) Set {
			return Of(on, Capability{with: "w", can: "crud", terms: genTerms().Draw(t, name).terms})
		}
		if rapid.Bool().Draw(t, "on terms alone") {
			one = func(name string) Set {
				return Of(Capability{with: "w", can: "crud", terms: genTerms().Draw(t, name).terms})
			}
		}
		s, u, f := one("s"), one("u"), genFacts().Draw(t, "f")
		r := Need("crud", "w")
		want := min(verdictOf(s, r, f), verdictOf(u, r, f))
		if got := verdictOf(s.Intersect(u), r, f); got != want {
			t.Fatalf("%v ∩ %v = %v settles as %d, want %d", s, u, s.Intersect(u), got, want)
		}
		if s.Covers(u) && verdictOf(u, r, f) > verdictOf(s, r, f) {
			t.Fatalf("%v covers %v, which settles wider", s, u)
		}
	})
	law(t, "associative by verdict", func(t *rapid.T) {
		s := genTermSet().Draw(t, "s")
		u := genNearSet(s).Draw(t, "u")
		v := genNearSet(u).Draw(t, "v")
		r, f := genNear(s, u, v).Draw(t, "r"), genFacts().Draw(t, "f")
		if a, b := verdictOf(s.Intersect(u).Intersect(v), r, f), verdictOf(s.Intersect(u.Intersect(v)), r, f); a != b {
			t.Fatalf("%v ∩ %v ∩ %v settle %v as %d one way, %d the other", s, u, v, r, a, b)
		}
	})
	law(t, "what covers is nowhere tighter", func(t *rapid.T) {
		s, f := genTermSet().Draw(t, "s"), genFacts().Draw(t, "f")
		r := genNear(s).Draw(t, "r")
		u := s.Intersect(genNearSet(s).Draw(t, "u"))
		if rapid.Bool().Draw(t, "by itself") {
			u = genNearSet(s).Draw(t, "v")
		}
		if s.Covers(u) && verdictOf(u, r, f) > verdictOf(s, r, f) {
			t.Fatalf("%v covers %v, which settles %v wider", s, u, r)
		}
		if !s.Covers(s) {
			t.Fatalf("%v does not cover itself", s)
		}
	})
	law(t, "what may be handed on is never wider, below the giver", func(t *rapid.T) {
		s, f := genTermSet().Draw(t, "s"), genFacts().Draw(t, "f")
		u := genNearSet(s).Draw(t, "u")
		r := genNear(s, u).Draw(t, "r")
		if len(s.Gaps(u)) > 0 {
			return
		}
		grants := slices.DeleteFunc(slices.Clone(s.list()), Capability.Denies)
		if !s.IsUnrestricted() && verdictOf(u, r, f) > verdictOf(Of(grants...), r, f) {
			t.Fatalf("%v hands on %v, which settles %v wider", s, u, r)
		}
		if got, most := verdictOf(s.Intersect(u), r, f), verdictOf(s, r, f); got > most {
			t.Fatalf("%v with the child %v settles %v as %d, above %d", s, u, r, got, most)
		}
	})
	law(t, "round trip", func(t *rapid.T) {
		s, f := genTermSet().Draw(t, "s"), genFacts().Draw(t, "f")
		r := genNear(s).Draw(t, "r")
		if rapid.Bool().Draw(t, "met") {
			s = s.Intersect(genTermSet().Draw(t, "u"))
		}
		text, err := s.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseSet(text)
		if err != nil || back.String() != s.String() || verdictOf(back, r, f) != verdictOf(s, r, f) || !slices.EqualFunc(back.list(), s.list(), Capability.Equal) {
			t.Fatalf("%s comes back as %v, %v", text, back, err)
		}
	})
	law(t, "seen by another", func(t *rapid.T) {
		s, f := genTermSet().Draw(t, "s"), genFacts().Draw(t, "f")
		r := genNear(s).Draw(t, "r")
		there, seen := r, s.AsSeenBy("did:key:zR", "did:key:zW")
		if r.on.bare() {
			there = NeedOn(r.can, mustResource(under("did:key:zW", r.on.text)))
		}
		got, want := verdictOf(seen, there, f), verdictOf(s, r, f)
		// The root of one's own words holds URIs, too, and that of a namespace does not.
		if !s.IsUnrestricted() && !r.on.IsRoot() && (got > want || r.on.bare() && got != want) {
			t.Fatalf("%v settles %v as %d, and as %v elsewhere as %d", s, r, want, seen, got)
		}
	})
}

// A scope is offered if and only if some request within it would be allowed or
// asked about, on some input.
func TestCouldAllowAgreesWithSearchOnTerms(t *testing.T) {
	offered, total := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := genTermSet().Draw(t, "s")
		now := genFacts().Draw(t, "f").Now
		about := genNear(s).Draw(t, "about")
		under := about.on.String()
		sc := ScopeUnder(string(about.can), under, rapid.IntRange(0, 2).Draw(t, "min"), 0)
		if rapid.Bool().Draw(t, "bound") {
			sc.MaxDepth = max(1, sc.MinDepth+rapid.IntRange(0, 2).Draw(t, "max"))
		}
		s = s.At(now)
		could := func(r Request) bool { // by the best of inputs
			list := slices.Collect(s.All())
			if s.IsUnrestricted() {
				return true
			}
			if slices.ContainsFunc(list, func(c Capability) bool { return c.Denies() && len(c.When()) == 0 && c.touches(&r) }) {
				return false
			}
			return slices.ContainsFunc(list, func(c Capability) bool { return !c.Denies() && oracleCovers(c, r.can, r.on) })
		}
		bases := []Resource{mustResource(under)}
		for c := range s.All() {
			bases = append(bases, c.Resource())
		}
		if s.IsUnrestricted() {
			bases = append(bases, mustResource("did:key:zA"))
		}
		var universe []Resource
		for _, r := range bases { // each, and what no capability names below it
			for range 5 {
				universe = append(universe, r)
				switch {
				case r.IsRoot(), r.isSchemeRoot():
					r = mustResource(r.String() + "q")
				default:
					r = mustResource(r.String() + "/q")
				}
			}
		}
		want := slices.ContainsFunc(universe, func(r Resource) bool {
			return oracleScope(sc, mustResource(under), r) && could(NeedOn(sc.Can, r))
		})
		if got := s.CouldAllow(sc); got != want {
			t.Fatalf("%v.CouldAllow(%+v) = %v, want %v", s, sc, got, want)
		}
		if total++; want {
			offered++
		}
	})
	if offered < total/20 || offered == total {
		t.Errorf("%d of %d offered: the cases decide too little", offered, total)
	}
}
