package tools_test

import (
	"os/exec"
	"strings"
	"testing"
)

// The gate is the only door: what would walk around it does not compile.
func TestNoWayAroundTheGateCompiles(t *testing.T) {
	for name, want := range map[string]string{
		"handler":   "op.run undefined",
		"prepare":   "op.prepare undefined",
		"ticket":    "cannot refer to unexported field ticket",
		"authority": "auth.live undefined",
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), "go", "build", "./testdata/around/"+name).CombinedOutput()
			if err == nil {
				t.Fatal("it compiles")
			}
			if !strings.Contains(string(out), want) {
				t.Errorf("go build says:\n%s\nwant %q", out, want)
			}
		})
	}
}
