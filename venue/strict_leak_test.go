package venue_test

import (
	"strings"
	"testing"
)

// A step that is checked by its schema tells no more of names below o/ than a
// call does: the same of one that is there and of one that is not.
func TestAStrictStepTellsNoNames(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice := user(t, v, "alice")
	invoke(t, alice, "covia:write", `{"path":"o/initech","value":{"operation":{"adapter":"orchestrator","steps":[{"op":"covia:list"}]}}}`)
	dave := create(t, alice, spec("dave", "", `[{"with":"o/mine","can":"crud"},{"with":"o/mine","can":"invoke"}]`))
	told := func(name string) string {
		attempt(t, dave, p, "covia_write", `{"path":"o/mine","value":{"operation":{"adapter":"orchestrator","steps":[{"op":"o/`+name+`","strict":true}]}}}`)
		return strings.ReplaceAll(attempt(t, dave, p, "grid_run", `{"operation":"o/mine"}`).Result, name, "NAME")
	}
	if there, missing := told("initech"), told("initrode"); there != missing {
		t.Errorf("of a name that is there dave is told\n%s\nand of one that is not\n%s", there, missing)
	}
}
