package caps

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const owner = "did:key:zA"

// The laws cost microseconds a case: a hundred cases, which rapid takes by
// default, would leave corners unseen.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "2000"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func genResource() *rapid.Generator[Resource] {
	return rapid.Custom(func(t *rapid.T) Resource {
		name := rapid.SampledFrom(smallNames).Draw(t, "namespace")
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(smallSegments), 0, 3).Draw(t, "segments"), "/")
		if strings.HasPrefix(name, didPrefix) && text != "" {
			text = "/" + text
		}
		return mustResource(name + text)
	})
}

func genAbility() *rapid.Generator[Ability] {
	return rapid.Custom(func(t *rapid.T) Ability {
		if rapid.IntRange(0, 9).Draw(t, "any") == 0 {
			return anyAbility
		}
		return Ability(strings.Join(rapid.SliceOfN(rapid.SampledFrom(smallAbilities[:4]), 1, 3).Draw(t, "ability"), "/"))
	})
}

func genCapability() *rapid.Generator[Capability] {
	return rapid.Custom(func(t *rapid.T) Capability {
		with := genResource().Draw(t, "with").String()
		if rapid.Bool().Draw(t, "slash") && !strings.HasSuffix(with, "/") {
			with += "/"
		}
		return MustCapability(with, string(genAbility().Draw(t, "can")))
	})
}

func genSet() *rapid.Generator[Set] {
	return rapid.Custom(func(t *rapid.T) Set {
		if rapid.IntRange(0, 19).Draw(t, "unrestricted") == 0 {
			return Unrestricted()
		}
		return Of(rapid.SliceOfN(genCapability(), 0, 8).Draw(t, "list")...)
	})
}

func genRequest() *rapid.Generator[Request] {
	return rapid.Custom(func(t *rapid.T) Request {
		return NeedOn(genAbility().Draw(t, "can"), genResource().Draw(t, "on"))
	})
}

func law(t *testing.T, name string, check func(*rapid.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { rapid.Check(t, check) })
}

func TestIntersectLaws(t *testing.T) {
	law(t, "commutative", func(t *rapid.T) {
		s, u := genSet().Draw(t, "s"), genSet().Draw(t, "u")
		if a, b := s.Intersect(u), u.Intersect(s); !a.Equal(b) {
			t.Fatalf("%v ∩ %v = %v one way, %v the other", s, u, a, b)
		}
	})
	law(t, "associative", func(t *rapid.T) {
		s, u, v := genSet().Draw(t, "s"), genSet().Draw(t, "u"), genSet().Draw(t, "v")
		if a, b := s.Intersect(u).Intersect(v), s.Intersect(u.Intersect(v)); !a.Equal(b) {
			t.Fatalf("%v ∩ %v ∩ %v = %v one way, %v the other", s, u, v, a, b)
		}
	})
	law(t, "idempotent", func(t *rapid.T) {
		s := genSet().Draw(t, "s")
		if got := s.Intersect(s); !got.Equal(s) {
			t.Fatalf("%v with itself = %v", s, got)
		}
	})
	law(t, "covered by both", func(t *rapid.T) {
		s, u := genSet().Draw(t, "s"), genSet().Draw(t, "u")
		if both := s.Intersect(u); !s.Covers(both) || !u.Covers(both) {
			t.Fatalf("%v ∩ %v = %v, wider than one of them", s, u, both)
		}
	})
	law(t, "allows what both allow", func(t *rapid.T) {
		s, u, r := genSet().Draw(t, "s"), genSet().Draw(t, "u"), genRequest().Draw(t, "r")
		both := s.Intersect(u)
		want := s.Check(r).IsAllowed() && u.Check(r).IsAllowed()
		if got := both.Check(r).IsAllowed(); got != want {
			t.Fatalf("%v ∩ %v = %v: Check(%v) = %v, want %v", s, u, both, r, got, want)
		}
		a := NeedAbility(string(r.can))
		if both.Check(a).IsAllowed() && !(s.Check(a).IsAllowed() && u.Check(a).IsAllowed()) {
			t.Fatalf("%v ∩ %v = %v allows %v", s, u, both, a)
		}
	})
	law(t, "minimal and as the slow way", func(t *rapid.T) {
		s, u := genSet().Draw(t, "s"), genSet().Draw(t, "u")
		if s.IsUnrestricted() || u.IsUnrestricted() {
			return
		}
		var all []Capability
		for a := range s.All() {
			for b := range u.All() {
				with, can := a, a.can
				if oracleResource(a.Resource(), b.Resource()) {
					with = b
				} else if !oracleResource(b.Resource(), a.Resource()) {
					continue
				}
				if oracleAbility(a.can, b.can) {
					can = b.can
				} else if !oracleAbility(b.can, a.can) {
					continue
				}
				all = append(all, Capability{with: with.with, can: can})
			}
		}
		both := s.Intersect(u)
		if want := Of(all...); !both.Equal(want) {
			t.Fatalf("%v ∩ %v = %v, want %v", s, u, both, want)
		}
		if s.Covers(u) || u.Covers(s) {
			return // the narrower is returned as it is
		}
		list := slices.Collect(both.All())
		for i, c := range list {
			for j, d := range list {
				if i != j && c.Covers(d) {
					t.Fatalf("%v ∩ %v = %v: %v covers %v", s, u, both, c, d)
				}
			}
		}
	})
}

// More abilities than are looked through one by one.
func TestIntersectOfManyAbilities(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 2))
	some := func() Set {
		list := make([]Capability, 60+rnd.IntN(60))
		for i := range list {
			list[i] = randomCapability(rnd, true)
		}
		return Of(list...)
	}
	met := 0
	for range rounds(1000) {
		s, u := some(), some()
		both := s.Intersect(u)
		met += both.Len()
		if !s.Covers(both) || !u.Covers(both) || !both.Equal(u.Intersect(s)) {
			t.Fatalf("%v ∩ %v = %v", s, u, both)
		}
		for c := range s.All() {
			r := NeedOn(c.can, c.Resource())
			if want := u.Check(r).IsAllowed(); both.Check(r).IsAllowed() != want {
				t.Fatalf("Check(%v) = %v, want %v", r, !want, want)
			}
		}
	}
	if met == 0 {
		t.Error("no two sets met")
	}
}

// rounds is how often a test draws cases, fewer with -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// What a set says as JSON is all there is to it.
func TestSetRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, r := genSet().Draw(t, "s"), genRequest().Draw(t, "r")
		stored, err := json.Marshal(struct{ Caps Set }{s})
		if err != nil {
			t.Fatal(err)
		}
		var back struct{ Caps Set }
		if err := json.Unmarshal(stored, &back); err != nil || !slices.Equal(back.Caps.list(), s.list()) ||
			back.Caps.IsUnrestricted() != s.IsUnrestricted() || back.Caps.Check(r).IsAllowed() != s.Check(r).IsAllowed() {
			t.Fatalf("%v comes back from %s as %v, %v", s, stored, back.Caps, err)
		}
	})
	for want, s := range map[string]Set{`null`: Unrestricted(), `[]`: {}, `[{"with":"w/a b/","can":"crud"}]`: Of(MustCapability("/w/a b/", "crud"))} {
		if got, err := json.Marshal(s); err != nil || string(got) != want {
			t.Errorf("Marshal(%v) = %s, %v, want %s", s, got, err, want)
		}
	}
	for _, s := range []Set{Of(), {crowded}} {
		if got, err := s.MarshalJSON(); err != nil || string(got) != "[]" {
			t.Errorf("MarshalJSON = %s, %v, want []", got, err)
		}
	}
	for _, broken := range []string{`{}`, `{"Caps":}`, `{"Caps":[{}]}`, `{"Caps":[null]}`, `{"Caps":"null"}`, `{"Caps":{}}`, `{"Caps":0}`, `{"Caps":[{"with":"w","can":"crud"}`} {
		var back struct{ Caps Set }
		if err := json.Unmarshal([]byte(broken), &back); (err == nil) != (broken == `{}`) || !back.Caps.IsEmpty() {
			t.Errorf("%s reads as %v, %v", broken, back.Caps, err)
		}
	}
}

func TestCoversLaws(t *testing.T) {
	law(t, "order of capabilities", func(t *rapid.T) {
		a, b, c := genCapability().Draw(t, "a"), genCapability().Draw(t, "b"), genCapability().Draw(t, "c")
		if !a.Covers(a) {
			t.Fatalf("%v does not cover itself", a)
		}
		if a.Covers(b) && b.Covers(a) != a.Equal(b) {
			t.Fatalf("%v and %v: covering both ways is not equality", a, b)
		}
		if a.Covers(b) && b.Covers(c) && !a.Covers(c) {
			t.Fatalf("%v covers %v covers %v, and not the first the last", a, b, c)
		}
		if want := oracleCovers(a, b.can, b.Resource()); a.Covers(b) != want {
			t.Fatalf("%v covers %v = %v, want %v", a, b, !want, want)
		}
	})
	law(t, "order of sets", func(t *rapid.T) {
		s, u, v := genSet().Draw(t, "s"), genSet().Draw(t, "u"), genSet().Draw(t, "v")
		if !s.Covers(s) {
			t.Fatalf("%v does not cover itself", s)
		}
		if s.Covers(u) && u.Covers(v) && !s.Covers(v) {
			t.Fatalf("%v covers %v covers %v, and not the first the last", s, u, v)
		}
		if r := genRequest().Draw(t, "r"); s.Covers(u) && u.Check(r).IsAllowed() && !s.Check(r).IsAllowed() {
			t.Fatalf("%v covers %v and does not allow %v", s, u, r)
		}
	})
	law(t, "as the slow way", func(t *rapid.T) {
		s, u := genSet().Draw(t, "s"), genSet().Draw(t, "u")
		missing := s.Gaps(u)
		if (len(missing) == 0) != s.Covers(u) {
			t.Fatalf("%v.Missing(%v) = %v, Covers = %v", s, u, missing, s.Covers(u))
		}
		if s.IsUnrestricted() || u.IsUnrestricted() {
			return
		}
		var want []Capability
		for c := range u.All() {
			if !slices.ContainsFunc(s.list(), func(b Capability) bool { return oracleCovers(b, c.can, c.Resource()) }) {
				want = append(want, c)
			}
		}
		if !slices.Equal(missing, want) {
			t.Fatalf("%v.Missing(%v) = %v, want %v", s, u, missing, want)
		}
	})
}

// However a resource is spelt, and whether a capability or a request spells it,
// the decision is the same.
func TestSpellingsDecideAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSet().Draw(t, "s")
		can, on := genAbility().Draw(t, "can"), genResource().Draw(t, "on")
		s = s.In(owner)
		on = on.In(owner)
		want := s.Check(NeedOn(can, on)).IsAllowed()
		for _, spelling := range spellings(on) {
			if got := s.Check(Need(string(can), spelling).In(owner)).IsAllowed(); got != want {
				t.Fatalf("%v.Check(%s on %q) = %v, want %v as for %q", s, can, spelling, got, want, on)
			}
		}
		if !strings.Contains(on.text, ":/") {
			segs := on.Segments()
			if did := on.DID(); did != "" {
				segs = append([]string{did}, segs...)
			}
			if r, err := ParseSegments(segs); err != nil || r != on {
				t.Fatalf("ParseSegments(%q) = %q, %v, want %q", segs, r, err, on)
			}
		}
		if s.IsUnrestricted() {
			return
		}
		respelt := make([]Capability, 0, s.Len())
		for c := range s.All() {
			with := rapid.SampledFrom(spellings(c.Resource())).Draw(t, "with")
			respelt = append(respelt, MustCapability(with, string(c.can)))
		}
		if u := Of(respelt...).In(owner); !u.Equal(s) || u.Check(NeedOn(can, on)).IsAllowed() != want {
			t.Fatalf("%v and %v decide differently", s, u)
		}
	})
}

func spellings(r Resource) []string {
	list := []string{r.String(), "/" + r.String()}
	if r.IsRoot() {
		return append(list, owner, owner+"/")
	}
	if !r.isSchemeRoot() {
		list = append(list, r.String()+"/", "/"+r.String()+"/")
	}
	if !r.absolute() && !strings.Contains(r.text, ":/") {
		list = append(list, owner+"/"+r.text, "/"+owner+"/"+r.text+"/")
	}
	return list
}

func TestCouldAllowAgreesWithSearch(t *testing.T) {
	universe := smallUniverse()
	rnd := rand.New(rand.NewPCG(3, 1))
	shallow := slices.DeleteFunc(slices.Clone(universe), func(r Resource) bool { return r.depth() > 3 })
	some := func() Resource { return shallow[rnd.IntN(len(shallow))] }
	offered, total := 0, rounds(10_000)
	for range total {
		s := Unrestricted()
		if rnd.IntN(50) > 0 {
			list := make([]Capability, rnd.IntN(4))
			for i := range list {
				list[i] = Capability{with: some().String(), can: randomAbility(rnd, false)}
			}
			s = Of(list...)
		}
		sc := Scope{Can: randomAbility(rnd, false), MinDepth: rnd.IntN(3), AnyResource: rnd.IntN(10) == 0}
		for c := range s.All() { // a scope that has to do with a capability
			sc.Can, sc.Under = c.can, c.With()
			for range rnd.IntN(4) {
				sc.Under = sc.Under[:max(0, strings.LastIndexByte(sc.Under, '/'))]
			}
		}
		if _, err := ParseResource(sc.Under); err != nil {
			sc.Under = some().String()
		}
		if rnd.IntN(3) > 0 {
			sc.MaxDepth = max(1, sc.MinDepth+rnd.IntN(3))
		}
		under := mustResource(sc.Under)
		want := slices.ContainsFunc(universe, func(r Resource) bool {
			return s.Check(NeedOn(sc.Can, r)).IsAllowed() && oracleScope(sc, under, r)
		})
		if sc.AnyResource {
			want = s.Check(NeedAbility(string(sc.Can))).IsAllowed()
		}
		if got := s.CouldAllow(sc); got != want {
			t.Fatalf("%v.CouldAllow(%+v) = %v, want %v", s, sc, got, want)
		}
		if want {
			offered++
		}
	}
	if offered < total/10 || offered > total*9/10 {
		t.Errorf("%d of %d offered: the cases decide too little", offered, total)
	}
}

// oracleScope reports whether r is within sc, which is about under.
func oracleScope(sc Scope, under, r Resource) bool {
	depth := len(r.Segments())
	if !under.IsRoot() {
		if !oracleResource(under, r) {
			return false
		}
		depth -= len(under.Segments())
	}
	return depth >= sc.MinDepth && (sc.MaxDepth == 0 || depth <= sc.MaxDepth)
}

// smallUniverse holds every resource of a few segments, to the depth of any
// capability drawn from it and then one by one, to stand for all that lie below.
func smallUniverse() (all []Resource) {
	for _, name := range []string{"", "did:key:zA", "did:key:zAB", "file://", "files://"} {
		level := []string{name}
		for depth := range 6 {
			var next []string
			for _, text := range level {
				all = append(all, mustResource(text))
				join := "/"
				if text == "" || strings.HasSuffix(text, "/") {
					join = ""
				}
				segs := []string{"a", "ab", "a-b"}
				if depth >= 3 {
					segs = segs[:1]
				}
				for _, seg := range segs {
					next = append(next, text+join+seg)
				}
			}
			level = next
		}
	}
	return all
}

func TestCouldAllowAtTheLengthBound(t *testing.T) {
	full := "w/" + strings.Repeat("a", maxResourceBytes-2)
	set := Of(MustCapability(full, "crud"))
	for _, c := range []struct {
		scope Scope
		want  bool
	}{
		{ScopeUnder("crud", "w", 1, 0), true},
		{ScopeUnder("crud", "w", 1, 1), true},
		{ScopeUnder("crud", "w", 2, 0), false}, // nothing longer than the capability is a resource
		{ScopeUnder("crud", full, 0, 0), true},
		{ScopeUnder("crud", full, 1, 0), false},
		{ScopeUnder("crud", "w", 2, 1), false},
		{ScopeUnder("crud", "w", -1, 0), false},
		{ScopeUnder("Crud", "w", 0, 0), false},
		{ScopeUnder("crud", "w/..", 0, 0), false},
		{ScopeUnder("crud", "", 513, 0), false},
		{ScopeUnder("crud", "", 1<<62, 0), false},
		{ScopeAbility("crud"), true},
		{ScopeAbility("crude"), false},
		{ScopeAbility(""), false},
	} {
		if got := set.CouldAllow(c.scope); got != c.want {
			t.Errorf("CouldAllow(%.60v) = %v, want %v", c.scope, got, c.want)
		}
		if (Set{}).CouldAllow(c.scope) {
			t.Errorf("the empty set could allow %.60v", c.scope)
		}
	}
	if !Unrestricted().CouldAllow(ScopeUnder("crud", "", 512, 0)) || Unrestricted().CouldAllow(ScopeUnder("crud", "", 513, 0)) {
		t.Error("the unrestricted set does not know how deep a resource can be")
	}
}
