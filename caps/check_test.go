package caps

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestZeroValuesDeny(t *testing.T) {
	full := Of(MustCapability("", "*"))
	for name, d := range map[string]Decision{
		"zero decision":               {},
		"zero set":                    Set{}.Check(Need("crud/read", "w/x")),
		"empty set":                   Of().Check(NeedAbility("crud/read")),
		"zero capability":             Of(Capability{}).Check(Need("crud", "w")),
		"zero request":                full.Check(Request{}),
		"zero request, unrestricted":  Unrestricted().Check(Request{}),
		"malformed ability":           Unrestricted().Check(Need("crud/*", "w")),
		"malformed resource":          Unrestricted().Check(Need("crud", "w/../s")),
		"malformed ability, parsed":   Unrestricted().Check(NeedOn("CRUD", Resource{})),
		"zero ability":                Unrestricted().Check(NeedOn("", Resource{})),
		"invalid":                     Unrestricted().Check(Invalid(errors.New("no path"))),
		"invalid without reason":      Unrestricted().Check(Invalid(nil)),
		"never":                       Unrestricted().Check(Never("crud/write", "g/x", "No.")),
		"never, restricted":           full.Check(Never("crud/write", "g/x", "No.")),
		"never, in":                   full.Check(Never("crud/write", "did:key:zA/g/x", "No.").In("did:key:zA")),
		"another principal":           full.Check(Need("crud/read", "did:key:zB/w")),
		"own DID, not rewritten":      full.Check(Need("crud/read", "did:key:zA")),
		"request for every ability":   Of(MustCapability("", "crud")).Check(Need("*", "w")),
		"sibling with the same start": Of(MustCapability("w/vendor", "crud")).Check(Need("crud", "w/vendor-secret")),
		"ability with the same start": Of(MustCapability("w", "crud")).Check(Need("crudx", "w")),
		"above":                       Of(MustCapability("w/x", "crud")).Check(Need("crud", "w")),
		"root":                        Of(MustCapability("w", "crud")).Check(Need("crud", "")),
		"ability alone":               Of(MustCapability("w", "crud/read")).Check(NeedAbility("crud")),
		"scheme alone":                Of(MustCapability("file://scratch", "crud")).Check(Need("crud", "file://")),
		"scheme with the same start":  Of(MustCapability("file://", "crud")).Check(Need("crud", "files://x")),
	} {
		if d.IsAllowed() {
			t.Errorf("%s: allowed", name)
		}
		if by, ok := d.By(); ok {
			t.Errorf("%s: By() = %v", name, by)
		}
		if d.Denial("op") == nil {
			t.Errorf("%s: no denial", name)
		}
	}
}

func TestUnrestrictedAllows(t *testing.T) {
	for _, r := range []Request{Need("crud", ""), Need("*", "did:key:zB/w"), NeedAbility("invoke"), Need("a", "file://")} {
		d := Unrestricted().Check(r)
		if _, by := d.By(); !d.IsAllowed() || by || d.Denial("op") != nil {
			t.Errorf("Unrestricted().Check(%v) = %v, by %v", r, d.IsAllowed(), by)
		}
	}
}

func TestBy(t *testing.T) {
	set := Of(
		MustCapability("w/a/", "crud"),
		MustCapability("w/", "crud/read"),
		MustCapability("w", "crud/read"),
		MustCapability("g/x", "agent"),
	)
	for _, c := range []struct {
		request Request
		want    string
	}{
		{Need("crud/write", "w/a/b"), "crud on w/a/"},
		{Need("crud/read", "w/b"), "crud/read on w/"},
		{NeedAbility("agent/message"), "agent on g/x"},
		{NeedAbility("crud/read"), "crud on w/a/"},
	} {
		if by, ok := set.Check(c.request).By(); !ok || by.String() != c.want {
			t.Errorf("Check(%v).By() = %v, %v, want %s", c.request, by, ok, c.want)
		}
	}
}

func TestSetIn(t *testing.T) {
	set := Of(MustCapability("did:key:zA/w/", "crud"), MustCapability("did:key:zAB/w", "crud"), MustCapability("did:key:zA/", "crud/read"))
	in := set.In("did:key:zA")
	if want := "crud on w/, crud on did:key:zAB/w, crud/read on (any)"; in.String() != want {
		t.Errorf("In = %v, want %s", in, want)
	}
	if again := in.In("did:key:zA"); again != in {
		t.Errorf("In copies a set that it does not change")
	}
	if Unrestricted().In("did:key:zA") != Unrestricted() || (Set{}).In("did:key:zA") != (Set{}) {
		t.Error("In changes a set without a list")
	}
}

func TestOfCopiesItsList(t *testing.T) {
	list := []Capability{MustCapability("w/a", "crud")}
	set := Of(list...)
	list[0] = MustCapability("", "*")
	if set.Check(Need("crud", "g")).IsAllowed() || set.String() != "crud on w/a" {
		t.Errorf("a change of the list changes the set: %v", set)
	}
}

func TestDecisionsDoNotAllocate(t *testing.T) {
	many := make([]Capability, 5000)
	for i := range many {
		many[i] = MustCapability(fmt.Sprintf("w/tenant-%d/records", i), fmt.Sprintf("crud/a%d", i%300))
	}
	many = append(many, MustCapability("did:key:zA/w", "crud"))
	sets := map[string]Set{
		"empty": {}, "unrestricted": Unrestricted(), "many": Of(many...),
		"few": Of(MustCapability("w/", "crud/read"), MustCapability("w/decisions/", "crud")),
	}
	requests := []Request{
		Need("crud/a7", "w/tenant-7/records/x"), Need("crud/a8", "w/tenant-7/records/x"), Need("crud/write", "w/decisions/x"),
		Need("crud/write", "w/x"), Need("crud/write", "did:key:zA/w/x"), NeedAbility("crud/a7"), NeedAbility("x"),
		{},
	}
	for name, set := range sets {
		for _, r := range requests {
			var allowed bool
			if n := testing.AllocsPerRun(100, func() {
				d := set.Check(r.In("did:key:zOwner"))
				_, by := d.By()
				allowed = d.IsAllowed() || by
			}); n != 0 {
				t.Errorf("%s: Check(%v) = %v allocates %v times", name, r, allowed, n)
			}
		}
	}
	if n := testing.AllocsPerRun(100, func() { Need("crud/read", "/w/notes/today/") }); n != 0 {
		t.Errorf("Need allocates %v times", n)
	}
	own := mustResource("did:key:zA/w/x")
	if n := testing.AllocsPerRun(100, func() { _ = own.In("did:key:zA") }); n != 0 {
		t.Errorf("Resource.In allocates %v times", n)
	}
}

// Shapes that would be slow if a step of compiling were not near linear: a key
// at every depth, an ability of its own for each capability, one key for all.
func TestCompileOfUnkindSets(t *testing.T) {
	n := rounds(20_000)
	deep := strings.TrimSuffix(strings.Repeat("a/", 512), "/")
	for name, capability := range map[string]func(i int) Capability{
		"a key at every depth":    func(i int) Capability { return MustCapability(deep[:2*(i%512)+1], fmt.Sprintf("a%d", i%64)) },
		"long keys":               func(i int) Capability { return MustCapability(fmt.Sprintf("%s/%06d", deep[:999], i), "crud") },
		"an ability for each":     func(i int) Capability { return MustCapability(fmt.Sprintf("w/%d", i), fmt.Sprintf("a/b%d", i)) },
		"an ability for each, ''": func(i int) Capability { return MustCapability("", fmt.Sprintf("a%d", i)) },
		"one capability":          func(int) Capability { return MustCapability("w/x", "crud") },
	} {
		list := make([]Capability, n)
		for i := range list {
			list[i] = capability(i)
		}
		start := time.Now()
		set := Of(list...)
		t.Logf("%s: compiled in %v", name, time.Since(start))
		for i := 0; i < n; i += 997 {
			if d := set.Check(NeedOn(list[i].Can(), list[i].Resource())); !d.IsAllowed() {
				t.Fatalf("%s: %v is not allowed", name, list[i])
			}
		}
		start = time.Now()
		if !set.Covers(set) {
			t.Errorf("%s: the set does not cover itself", name)
		}
		t.Logf("%s: covers itself in %v", name, time.Since(start))
		start = time.Now()
		both := set.Intersect(Of(list[:1000]...))
		t.Logf("%s: intersected with 1000 in %v: %d", name, time.Since(start), both.Len())
	}
}
