package caps

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDenialText(t *testing.T) {
	const tail = " Retrying the same call will not succeed — the denial is structural."
	set := Of(MustCapability("w/decisions/", "crud"), MustCapability("", "invoke"))
	for _, c := range []struct {
		name    string
		denial  *Denial
		message string
		hint    string
	}{
		{
			"resource", set.Check(Need("crud/write", "w/audits/INV-123")).Denial("v/ops/covia/write"),
			"Capability denied: v/ops/covia/write requires crud/write on w/audits/INV-123. Your capabilities are: crud on w/decisions/, invoke on (any)." + tail,
			"You may crud/write below w/decisions/.",
		},
		{
			"empty", Set{}.Check(NeedAbility("invoke")).Denial("grid:run"),
			"Capability denied: grid:run requires invoke on (any). Your capabilities are: (none)." + tail, "",
		},
		{
			"root", set.Check(Need("crud/read", "/")).Denial("covia:list"),
			"Capability denied: covia:list requires crud/read on (any). Your capabilities are: crud on w/decisions/, invoke on (any)." + tail,
			"You may crud/read below w/decisions/.",
		},
		{
			"never", Unrestricted().Check(Never("crud/write", "g/x", "Agents are written by agent:update only.")).Denial("covia:write"),
			"Capability denied: covia:write requires crud/write on g/x. Your capabilities are: (unrestricted)." + tail + " Agents are written by agent:update only.", "",
		},
		{
			"invalid", Unrestricted().Check(Invalid(errors.New("path is missing"))).Denial("covia:write"),
			"Capability denied: covia:write requires (invalid) on (any). Your capabilities are: (unrestricted)." + tail + " The request is invalid: path is missing.", "",
		},
		{
			"operation that does not print", Set{}.Check(NeedAbility("a")).Denial("x\x1b[2J\n"),
			`Capability denied: "x\x1b[2J\n" requires a on (any). Your capabilities are: (none).` + tail, "",
		},
	} {
		if got := c.denial.Error(); got != c.message {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.message)
		}
		if c.denial.Hint != c.hint {
			t.Errorf("%s: hint %q, want %q", c.name, c.denial.Hint, c.hint)
		}
	}
}

func TestHint(t *testing.T) {
	for _, c := range []struct {
		caps, can, on, want string
	}{
		{"w/a/ crud", "crud/read", "w/b/c", "w/a/"},
		{"w/a/x crud, w/b/y crud", "crud/read", "w/b/z", "w/b/y"},
		{"w/a crud, w/ab crud", "crud", "w/abc", "w/ab"},
		{"w/a/b/c crud", "crud", "w/a", "w/a/b/c"},
		{"w/a-x crud, w/a/b crud", "crud", "w/a", "w/a/b"},
		{"g/x crud", "crud", "w/a", ""},
		{"g/Carol agent/request", "agent/request", "g/Dan", "g/Carol"},
		{"widgets crud", "crud", "w/a", ""},
		{"w/a crud/read", "crud/write", "w/b", ""},
		{" crud", "crud", "did:key:zB/w", ""},
		{"did:key:zB/w crud", "crud", "did:key:zB/x", "did:key:zB/w"},
		{"did:key:zB/w crud", "crud", "did:key:zC/w", ""},
		{"did:key:zB/w crud", "crud", "", ""},
		{"did:key:zB/w crud, w/x crud", "crud", "", "w/x"},
		{"file:// crud", "crud", "", "file://"},
		{"file://s crud", "crud", "file://t", "file://s"},
		{"https://a net", "net/get", "https://b/c", "https://a"},
	} {
		var list []Capability
		for entry := range strings.SplitSeq(c.caps, ", ") {
			with, can, _ := strings.Cut(entry, " ")
			list = append(list, MustCapability(with, can))
		}
		want := ""
		if c.want != "" {
			place := "on "
			if strings.HasSuffix(c.want, "/") {
				place = "below "
			}
			want = "You may " + c.can + " " + place + c.want + "."
		}
		if got := Of(list...).Check(Need(c.can, c.on)).Denial("op").Hint; got != want {
			t.Errorf("%s: hint for %s on %q = %q, want %q", c.caps, c.can, c.on, got, want)
		}
	}
}

func TestDenialJSON(t *testing.T) {
	for want, set := range map[string]Set{
		`[{"with":"w/","can":"crud/read"}]`: Of(MustCapability("w/", "crud/read")),
		`[]`:                                {},
		`null`:                              Unrestricted(),
	} {
		denial := set.Check(Never("crud/write", "w/x", "")).Denial("covia:write")
		out, err := json.Marshal(denial)
		if err != nil {
			t.Fatal(err)
		}
		wantJSON := `{"error":"capability_denied","operation":"covia:write","ability":"crud/write","resource":"w/x",` +
			`"capabilities":` + want + `,"retryable":false,"message":"` + denial.Error() + `"}`
		if diff := cmp.Diff(wantJSON, string(out)); diff != "" {
			t.Error(diff)
		}
	}
	out, err := json.Marshal(Of(MustCapability("w/a", "crud")).Check(Need("crud", "w/b")).Denial("op"))
	if err != nil || !strings.Contains(string(out), `"hint":"You may crud on w/a."`) {
		t.Errorf("Marshal = %s, %v, want a hint", out, err)
	}
}

func TestLongDenialIsCut(t *testing.T) {
	list := make([]Capability, 40)
	for i := range list {
		list[i] = MustCapability(fmt.Sprintf("w/%02d", i), "crud")
	}
	exact := Of(list[:32]...).Check(Need("crud", "g")).Denial("op")
	if got := exact.Error(); !strings.Contains(got, "are: "+exact.Capabilities.String()+". Retrying") {
		t.Errorf("32 capabilities: %s", got)
	}
	cut := Of(list...).Check(Need("crud", "g")).Denial("op")
	if got := cut.Error(); !strings.Contains(got, "crud on w/31 and 8 more. Retrying") || strings.Contains(got, "w/32") {
		t.Errorf("40 capabilities: %s", got)
	}
	var out struct {
		Capabilities        []Capability
		CapabilitiesOmitted int
	}
	data, err := json.Marshal(cut)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil || len(out.Capabilities) != 32 || out.CapabilitiesOmitted != 8 {
		t.Errorf("40 capabilities: %s, %v", data, err)
	}
	if cut.Capabilities.Len() != 40 {
		t.Errorf("the denial itself holds %d capabilities, want 40", cut.Capabilities.Len())
	}
}
