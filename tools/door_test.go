package tools_test

import (
	"os/exec"
	"regexp"
	"testing"
)

// The gate is the only door: what would walk around it does not compile.
func TestNoWayAroundTheGateCompiles(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "build", "./testdata/around/...").CombinedOutput()
	if err == nil {
		t.Fatal("it compiles")
	}
	for name, want := range map[string]string{
		"handler":   "op.run undefined",
		"prepare":   "op.prepare undefined",
		"ticket":    "cannot refer to unexported field ticket",
		"authority": "auth.live undefined",
	} {
		says := regexp.MustCompile(`(?m)^testdata/around/` + name + `/x\.go:\d+:\d+: ` + regexp.QuoteMeta(want))
		if !says.Match(out) {
			t.Errorf("go build says:\n%s\nwant %q of %s", out, want, name)
		}
	}
}
