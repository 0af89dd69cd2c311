// Command agentauth is a client of Agent-Auth that takes the whole course at one server:
// it finds the server, registers an agent, waits until a person has approved it, executes,
// asks for more, changes its keys, and revokes itself. It knows of the server what its
// configuration document and the wire say, and nothing else.
//
//	go run ./examples/agentauth -do 'read_note={"id":"n-1"}' -more 'send_note={"id":"n-1"}' https://venue.example
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"usher/tools/agentauth/client"
)

func main() {
	c := course{out: os.Stdout}
	flag.Var(&c.do, "do", "a capability to register for and execute, as NAME or NAME=ARGUMENTS; may stand more than once")
	flag.Var(&c.batch, "batch", "a capability to register for and execute in one request with all others of this flag; may stand more than once")
	flag.Var(&c.more, "more", "a capability to ask for later on; may stand more than once")
	flag.StringVar(&c.name, "name", "agentauth example", "what the agent is called")
	flag.StringVar(&c.reason, "reason", "to show the protocol", "what the person who approves is told")
	flag.StringVar(&c.credential, "introspect", "", "the credential of a service, by which to ask whose a token is")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: agentauth [flags] URL")
		flag.PrintDefaults()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := c.take(ctx, flag.Arg(0))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agentauth:", err)
		os.Exit(1)
	}
}

// deeds are capabilities and the arguments to execute them with.
type deeds []client.Call

// String is for package flag.
func (*deeds) String() string { return "" }

// Set adds one, as NAME or NAME=ARGUMENTS.
func (d *deeds) Set(text string) error {
	name, arguments, given := strings.Cut(text, "=")
	call := client.Call{ID: fmt.Sprintf("%s.%d", name, len(*d)+1), Capability: name}
	if given {
		if call.Arguments = json.RawMessage(arguments); !json.Valid(call.Arguments) {
			return errors.New("the arguments are no JSON")
		}
	}
	*d = append(*d, call)
	return nil
}

// wants are the capabilities of deeds, once each.
func (d deeds) wants() (list []client.Want, names []string) {
	seen := map[string]bool{}
	for _, c := range d {
		if !seen[c.Capability] {
			seen[c.Capability] = true
			list, names = append(list, client.Want{Name: c.Capability}), append(names, c.Capability)
		}
	}
	return list, names
}

// say prints a line.
func say(out io.Writer, format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
