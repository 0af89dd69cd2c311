package caps_test

import (
	"encoding/json"
	"fmt"

	"usher/caps"
)

func Example() {
	set, err := caps.ParseSet([]byte(`[{"with":"w/decisions/","can":"crud"},{"with":"w/","can":"crud/read"}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	read := set.Check(caps.Need("crud/read", "w/audits/INV-123"))
	by, _ := read.By()
	fmt.Println(read.IsAllowed(), "by", by)

	write := set.Check(caps.Need("crud/write", "w/audits/INV-123"))
	denial := write.Denial("v/ops/covia/write")
	fmt.Println(denial)
	fmt.Println(denial.Hint)
	// Output:
	// true by crud/read on w/
	// Capability denied: v/ops/covia/write requires crud/write on w/audits/INV-123. Your capabilities are: crud on w/decisions/, crud/read on w/. Retrying the same call will not succeed — the denial is structural.
	// You may crud/write below w/decisions/.
}

func ExampleParseResource() {
	for _, text := range []string{"/w/notes/", "w/../s", "did:key:zAlice/w/notes"} {
		r, err := caps.ParseResource(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%q\n", r.In("did:key:zAlice"))
	}
	// Output:
	// "w/notes"
	// resource "w/../s": a ".." segment: write the full path without it
	// "w/notes"
}

func ExampleSet_Intersect() {
	parent := caps.Of(caps.MustCapability("w/", "crud/read"), caps.MustCapability("w/out/", "crud"))
	child := caps.Of(caps.MustCapability("w/in/", "crud"), caps.MustCapability("w/out/a", "crud/write"))
	fmt.Println(parent.Intersect(child))
	fmt.Println(parent.Gaps(child))
	// Output:
	// crud/read on w/in/, crud/write on w/out/a
	// [crud on w/in/]
}

func ExampleSet_CouldAllow() {
	set := caps.Of(caps.MustCapability("w/decisions/", "crud/write"))
	fmt.Println(set.CouldAllow(caps.ScopeUnder("crud/write", "w", 1, 0)))
	fmt.Println(set.CouldAllow(caps.ScopeUnder("agent/message", "g", 1, 1)))
	// Output:
	// true
	// false
}

func ExampleDeclaration() {
	for _, text := range []string{`{}`, `{"caps":null}`, `{"caps":[]}`, `{"caps":"[]"}`} {
		var agent struct {
			Caps caps.Declaration `json:"caps,omitzero"`
		}
		if err := json.Unmarshal([]byte(text), &agent); err != nil {
			fmt.Println(err)
			continue
		}
		set, list := agent.Caps.Set()
		fmt.Println(agent.Caps.Present(), agent.Caps.IsNull(), list, set)
	}
	// Output:
	// false false false (none)
	// true true false (none)
	// true false true (none)
	// caps is a string: write a list of {with, can}, [] for nothing, or null for no restriction
}
