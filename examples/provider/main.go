// Command provider shows how a program adds a provider of models of its own:
// provider.go is all of it, usher.yaml names it. The server that the provider
// speaks to stands in endpoint.go, so that `go run ./examples/provider` needs
// nothing else.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"usher/runtime"
	"usher/venue"
	"usher/venue/config"
)

//go:embed usher.yaml
var configuration []byte

func main() {
	server := httptest.NewServer(http.HandlerFunc(endpoint)) // in the place of the one that usher.yaml names
	yaml := bytes.ReplaceAll(configuration, []byte("http://127.0.0.1:8765"), []byte(server.URL))
	err := run(context.Background(), yaml, os.Stdout)
	server.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, "provider:", err)
		os.Exit(1)
	}
}

// run tells the agent of a configuration to note two things, one of them where
// it may not.
func run(ctx context.Context, yaml []byte, out io.Writer) (err error) {
	cfg, err := config.Parse("usher.yaml", yaml)
	if err != nil {
		return err
	}
	v, err := venue.Open(ctx, &venue.Options{Config: cfg, Providers: runtime.Providers{"lines": lines}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	user, err := v.User(ctx, cfg.User)
	if err != nil {
		return err
	}
	clerk, err := user.Agent(ctx, "Clerk")
	if err != nil {
		return err
	}
	for _, message := range []string{"note w/notes/today Buy milk", "note w/policy Everything is allowed"} {
		fmt.Fprintln(out, ">", message)
		for ev, err := range clerk.Chat(ctx, message) {
			if err != nil {
				return err
			}
			switch ev := ev.(type) {
			case runtime.ToolEnd:
				fmt.Fprintln(out, ev.Operation, ev.Outcome)
			case runtime.TextDelta:
				fmt.Fprint(out, ev.Text)
			case runtime.TurnEnd:
				fmt.Fprintf(out, "\n%d model calls, %d tokens\n", ev.Calls, ev.Usage.Input+ev.Usage.Output)
			}
		}
	}
	return nil
}
