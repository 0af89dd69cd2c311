package main

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"usher/examples/a2a"
	"usher/venue/cli"
)

func TestDemoA2A(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for name, asJSON := range map[string]bool{"text": false, "JSON": true} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := a2a.Demo(t.Context(), cli.DemoOptions{Page: cli.NewPage(&out, false), JSON: asJSON}); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			for _, want := range []string{"-32051", "-32055", "-32054", "Q1 Sales Report", "The model obeys.", "denied"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in\n%s", want, out.String())
				}
			}
			if strings.Contains(out.String(), "4200") {
				t.Errorf("the payroll is told:\n%s", out.String())
			}
		})
	}
}
