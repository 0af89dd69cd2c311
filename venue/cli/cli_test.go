package cli_test

import (
	"context"
	"os"
	"os/signal"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"usher/venue/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"usher": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			status := new(cli.Program).Run(ctx, os.Args[1:])
			stop()
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
