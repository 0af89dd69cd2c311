package caps

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestIntersectReturnsTheNarrower(t *testing.T) {
	wide := Of(MustCapability("w/", "crud"), MustCapability("w/a", "crud"), MustCapability("g/", "agent"))
	narrow := Of(MustCapability("w/a/", "crud/read"), MustCapability("w/a/b", "crud/read"))
	for name, tc := range map[string]struct{ s, t, want Set }{
		"unrestricted with a set":   {Unrestricted(), narrow, narrow},
		"a set with unrestricted":   {narrow, Unrestricted(), narrow},
		"unrestricted with itself":  {Unrestricted(), Unrestricted(), Unrestricted()},
		"a set with itself":         {wide, wide, wide},
		"a set with a narrower one": {wide, narrow, narrow},
		"a set with a wider one":    {narrow, wide, narrow},
		"nothing with a set":        {Set{}, wide, Set{}},
		"a set with nothing":        {wide, Set{}, Set{}},
		"nothing with unrestricted": {Set{}, Unrestricted(), Set{}},
		"unrestricted with nothing": {Unrestricted(), Set{}, Set{}},
		"too much with a set":       {Set{crowded}, wide, Set{crowded}},
		"a set with too much":       {wide, Set{crowded}, Set{crowded}},
		"too much with everything":  {Unrestricted(), Set{crowded}, Set{crowded}},
	} {
		if got := tc.s.Intersect(tc.t); got != tc.want {
			t.Errorf("%s: %v, want %v as it is", name, got, tc.want)
		}
		if n := testing.AllocsPerRun(10, func() { tc.s.Intersect(tc.t) }); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// product returns two sets of n capabilities that have n*n in common.
func product(n int) (abilities, places Set) {
	var a, p []Capability
	for i := range n {
		a = append(a, MustCapability("w/", fmt.Sprintf("crud/a%d", i)))
		p = append(p, MustCapability(fmt.Sprintf("w/p%d", i), "crud"))
	}
	return Of(a...), Of(p...)
}

func TestIntersectionIsBounded(t *testing.T) {
	abilities, places := product(64)
	if got := abilities.Intersect(places).Len(); got != 64*64 {
		t.Errorf("64 by 64 have %d in common, want %d", got, 64*64)
	}
	abilities, places = product(65)
	got := abilities.Intersect(places)
	if !got.IsEmpty() || got.Len() != 0 || got.String() != "(none)" || got.IsUnrestricted() {
		t.Errorf("65 by 65 have %d in common: %v", got.Len(), got)
	}
	for _, r := range []Request{Need("crud/a1", "w/p1"), Need("crud/a1", ""), NeedAbility("crud/a1"), {}} {
		d := got.Check(r)
		if d.IsAllowed() || got.CouldAllow(ScopeUnder("crud/a1", "w", 0, 0)) || got.Covers(Of(MustCapability("w/p1", "crud/a1"))) {
			t.Fatalf("too much in common allows %v", r)
		}
		if why := d.Denial("op").Why; r.Err() == nil && !strings.Contains(why, "more than 4096") {
			t.Errorf("the denial of %v says %q", r, why)
		}
	}
	if seen := got.In("did:key:zA").AsSeenBy("did:key:zA", "did:key:zB"); seen != got {
		t.Errorf("seen by another it is %v", seen)
	}
}

// A deep lineage costs no more than its bound, whatever it is made of.
func TestIntersectionOfDeepLineages(t *testing.T) {
	const actors, each = 16, 256
	for name, capability := range map[string]func(actor, i int) Capability{
		"places by abilities": func(actor, i int) Capability {
			if actor%2 == 0 {
				return MustCapability(fmt.Sprintf("w/p%d", i), "crud")
			}
			return MustCapability("w/", fmt.Sprintf("crud/a%d", i))
		},
		"just below the bound": func(actor, i int) Capability {
			if actor%2 == 0 {
				return MustCapability(fmt.Sprintf("w/p%d", i%16), "crud")
			}
			return MustCapability("w/", fmt.Sprintf("crud/a%d", i))
		},
		"each deeper than the last": func(actor, i int) Capability {
			return MustCapability(strings.Repeat("a/", i+actor), fmt.Sprintf("a%d", (i+actor)%100))
		},
		"abilities in each other": func(actor, i int) Capability {
			return MustCapability(fmt.Sprintf("w/%d", i%(actor+3)), strings.TrimSuffix(strings.Repeat("a/", 1+i%8), "/"))
		},
		"nothing in common": func(actor, i int) Capability {
			return MustCapability(fmt.Sprintf("w/%d/%d", actor, i), "crud")
		},
		"halves": func(actor, i int) Capability {
			return MustCapability(fmt.Sprintf("w/%d", i<<actor%each), "crud")
		},
	} {
		sets := make([]Set, actors)
		for actor := range sets {
			list := make([]Capability, each)
			for i := range list {
				list[i] = capability(actor, i)
			}
			sets[actor] = Of(list...)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		both, longest := Unrestricted(), 0
		for _, s := range sets {
			both = both.Intersect(s)
			longest = max(longest, both.Len())
		}
		runtime.ReadMemStats(&after)
		taken := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%s: %d at the end, %d at most, %d MiB", name, both.Len(), longest, taken)
		if longest > maxIntersection || taken > 64 {
			t.Errorf("%s: %d capabilities at most, %d MiB in all", name, longest, taken)
		}
		for c := range both.All() {
			for i, s := range sets {
				if !s.holds(c) {
					t.Fatalf("%s: %v is in the intersection and not in set %d", name, c, i)
				}
			}
		}
	}
}
