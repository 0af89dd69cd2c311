package cli_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"usher/venue/cli"
)

func TestInvokeStatus(t *testing.T) {
	file := filepath.Join(t.TempDir(), "usher.yaml")
	if err := os.WriteFile(file, []byte("user: me\nstore: memory\nmodels: {default: {provider: offline}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
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
			var log strings.Builder
			p := cli.Program{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &log}
			if got := p.Run(t.Context(), []string{"invoke", tc.operation, tc.input, "-c", file}); got != tc.want {
				t.Errorf("invoke %s %s = %d, want %d\n%s", tc.operation, tc.input, got, tc.want, log.String())
			}
		})
	}
}
