// Command usher runs LLM agents whose every tool call must show its ticket.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"usher/examples/ap"
	"usher/examples/delegation"
	"usher/venue/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	status := program().Run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

func program() *cli.Program {
	return &cli.Program{
		Providers: ap.Providers(),
		Demos:     map[string]cli.Demo{"ap": ap.Demo, "delegation": delegation.Demo},
	}
}
