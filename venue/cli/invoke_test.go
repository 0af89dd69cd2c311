package cli_test

import (
	"testing"

	"usher/venue/cli"
)

func TestInvokeStatus(t *testing.T) {
	file := project(t, "user: me\nstore: memory\nmodels: {default: {provider: offline}}\n")
	for _, tc := range []struct {
		name, operation, input string
		want                   int
	}{
		{"done", "covia:write", `{"path":"w/a","value":1}`, cli.ExitOK},
		{"denied", "covia:write", `{"path":"g/a","value":1}`, cli.ExitFailed},
		{"failed", "secret:extract", `{"name":"K"}`, cli.ExitFailed},
		{"unknown", "covia:wirte", `{}`, cli.ExitMisuse},
		{"no object", "covia:read", `[]`, cli.ExitMisuse},
		{"no JSON", "covia:read", `w/a`, cli.ExitMisuse},
		{"two objects", "covia:read", `{"path":"w/a"} {}`, cli.ExitMisuse},
		{"no input that it takes", "covia:read", `{}`, cli.ExitMisuse},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, _, notes := usher(t, "", "invoke", tc.operation, tc.input, "-c", file); got != tc.want {
				t.Errorf("invoke %s %s = %d, want %d\n%s", tc.operation, tc.input, got, tc.want, notes)
			}
		})
	}
}
