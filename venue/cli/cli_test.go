package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"usher/venue/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"usher": func() {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			status := (&cli.Program{Interrupts: true}).Run(ctx, os.Args[1:])
			stop()
			if err := goleak.Find(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				status = 99
			}
			os.Exit(status)
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
	})
}
