// Command usher runs LLM agents whose every tool call must show its ticket.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for schedules, where the system has no time zones

	"usher/examples/a2a"
	"usher/examples/agentauth/visit"
	"usher/examples/ap"
	"usher/examples/delegation"
	"usher/venue/cli"
)

func main() {
	end := []os.Signal{syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		end = append(end, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), end...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	p := program()
	p.Interrupts = true // Ctrl-C, which a chat takes for its turn
	status := p.Run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

func program() *cli.Program {
	return &cli.Program{
		Providers: ap.Providers(),
		Demos:     map[string]cli.Demo{"a2a": a2a.Demo, "agentauth": visit.Demo, "ap": ap.Demo, "delegation": delegation.Demo},
	}
}
