package cli_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"usher/runtime"
	"usher/venue/cli"
	"usher/venue/venuetest"
)

func TestMain(m *testing.M) {
	if os.Getenv("GORACE") == "" { // otherwise each command waits a second at its end
		_ = os.Setenv("GORACE", "atexit_sleep_ms=10")
	}
	venuetest.CollectLess()
	testscript.Main(m, map[string]func(){
		"usher": func() {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
			status := (&cli.Program{Interrupts: true}).Run(ctx, os.Args[1:])
			stop()
			if err := goleak.Find(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				status = 99
			}
			os.Exit(status)
		},
		"files-server": serveFiles, // an MCP server
		"docs-server":  serveDocs,
	})
}

// project writes a configuration and returns its name.
func project(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "usher.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// modelled is the command with a provider "test", whose model is m. Its standard
// input says hello.
func modelled(m runtime.Model, out, notes io.Writer) *cli.Program {
	return &cli.Program{
		Providers: runtime.Providers{"test": func(context.Context, runtime.ModelConfig) (runtime.Model, error) { return m, nil }},
		Stdin:     strings.NewReader("hello\n"), Stdout: out, Stderr: notes,
	}
}
