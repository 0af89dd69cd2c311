// Package cli is the `usher` command: it reads arguments, opens a venue, and
// prints. The answer goes to standard output, the conversation to standard
// error. [Program.Run] is the one to call; the exit status is 0 for done or
// allowed, 1 for denied or failed, 2 for misused.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
)

// Exit statuses.
const (
	ExitOK     = 0
	ExitFailed = 1 // denied or failed
	ExitMisuse = 2
)

// Program is the command with what the main program adds to it.
type Program struct {
	Providers runtime.Providers  // model providers that configurations may name
	Tools     []*tools.Operation // operations beside the built-in ones, for every command
	Demos     map[string]Demo    // by name; "ap" is the default one
	Stdin     io.Reader          // nil is the process's own; so for the others
	Stdout    io.Writer
	Stderr    io.Writer

	// Interrupts takes Ctrl-C from the process while a command runs: it ends
	// the command, and in a chat the turn. Where it is false, ctx says when to
	// end.
	Interrupts bool

	place          // where the command was typed
	client *client // that handed the command over; nil is none
}

type command struct {
	Demo      demoCmd      `cmd:"" help:"Watch the gate at work: agents process invoices, and some try what they may not."`
	Init      initCmd      `cmd:"" help:"Make a new project."`
	Up        upCmd        `cmd:"" help:"Keep a venue running in the foreground, and its configuration applied; other commands work with it meanwhile."`
	Serve     serveCmd     `cmd:"" help:"Put a venue on a port, beside what up does."`
	Token     tokenCmd     `cmd:"" help:"Make, list and revoke tokens, by which their bearer is you at the port."`
	Run       runCmd       `cmd:"" help:"Run one turn of an agent and print its answer."`
	Chat      chatCmd      `cmd:"" help:"Talk with an agent."`
	Agents    agentsCmd    `cmd:"" help:"List and manage agents."`
	Caps      capsCmd      `cmd:"" help:"Check and disclose capabilities, without a venue."`
	Runs      runsCmd      `cmd:"" help:"List what was done, follow it, and stop it."`
	Jobs      jobsCmd      `cmd:"" help:"List what runs in the background, wait for it, and stop it."`
	Approvals approvalsCmd `cmd:"" help:"List the calls that wait for you, and allow or refuse them."`
	Schedules schedulesCmd `cmd:"" help:"Have operations run later, list them, and remove them."`
	Visitors  visitorsCmd  `cmd:"" help:"List the agents that came in from elsewhere by Agent-Auth, and their hosts, and revoke them."`
	Passkeys  passkeysCmd  `cmd:"" help:"List the passkeys that confirm approvals, and forget them where they are lost."`
	Webhooks  webhooksCmd  `cmd:"" help:"List the webhooks of the configuration, and what waits to be told."`
	Sessions  sessionsCmd  `cmd:"" help:"List an agent's sessions, and read them."`
	Mcp       mcpCmd       `cmd:"" help:"Use servers of the Model Context Protocol, and serve its clients."`
	Gateway   gatewayCmd   `cmd:"" help:"Stand before one MCP server, for a client that starts it, and bound what that may do."`
	Invoke    invokeCmd    `cmd:"" help:"Run one operation as the configuration's user, and print its result."`
	Ops       opsCmd       `cmd:"" help:"List the operations, and what each does, needs and takes."`
	Audit     auditCmd     `cmd:"" help:"Read the audit ledger."`
	Secrets   secretsCmd   `cmd:"" help:"Store keys and other secrets, sealed."`
	Ucan      ucanCmd      `cmd:"" help:"Make keys, hand on authority in signed tokens, and check them."`
	Backup    backupCmd    `cmd:"" help:"Write a data folder to one encrypted file, also while it is in use."`
	Restore   restoreCmd   `cmd:"" help:"Make a data folder of a backup, as it was at any moment that is kept."`
	Export    exportCmd    `cmd:"" help:"Write down all that is the user's in a data folder, as lines of JSON."`
	Doctor    doctorCmd    `cmd:"" help:"Check that a data folder is sound, and say what to do where it is not."`
	Diff      diffCmd      `cmd:"" help:"Say what a change of the configuration would allow and forbid, agent by agent."`
	Lint      lintCmd      `cmd:"" help:"Find mistakes in a configuration before it runs."`
	Schema    schemaCmd    `cmd:"" help:"Print the JSON Schema of the configuration, for editors."`
}

// errQuiet is a failure that has been told already.
var errQuiet = errors.New("failed")

// misuse is an error of how the command was called.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

// Code is that of the error, where it has one: a corrected call may succeed.
func (m misuse) Code() fault.Code {
	if code := fault.Of(m.error); code != fault.Failed {
		return code
	}
	return fault.InvalidInput
}

func misusef(format string, args ...any) error { return misuse{fmt.Errorf(format, args...)} }

// Run runs the command with its arguments, without the program's name, and
// returns the exit status.
func (p *Program) Run(ctx context.Context, args []string) int {
	s := p.streams()
	s.asJSON = wantsJSON(args)
	ctx, s.interrupts = listen(ctx, p.keyboard())
	defer s.interrupts.stop()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if args[0] == "--version" {
		fmt.Fprintln(s.out, "usher", version())
		return ExitOK
	}
	exited, status := false, ExitOK
	parser, err := kong.New(grammar(args[0]),
		kong.Name("usher"),
		kong.Description("Runs LLM agents whose every tool call must show its ticket."),
		kong.Writers(s.out, s.err),
		kong.Help(help),
		kong.Exit(func(code int) { exited, status = true, code }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(s),
	)
	if err != nil {
		return s.fail(err)
	}
	parsed, err := parser.Parse(args)
	if exited {
		return status
	}
	if err != nil {
		return s.fail(misusef("%w (%s --help says more)", err, commandOf(err)))
	}
	if status, done := s.handOver(ctx, parsed, args); done {
		return status
	}
	if err := parsed.Run(); err != nil {
		return s.fail(err)
	}
	return ExitOK
}

// wantsJSON reports whether arguments, which need not be right, ask for JSON.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// commandOf is the command that could not be read, as far as it was.
func commandOf(err error) string {
	if bad, ok := errors.AsType[*kong.ParseError](err); ok {
		if node := bad.Context.Selected(); node != nil {
			return node.FullPath()
		}
	}
	return "usher"
}

// grammar is what kong is to know: of a command that is named at once only that
// one, since to know all takes most of the time of a short command.
func grammar(name string) any {
	all := reflect.TypeFor[command]()
	for i := range all.NumField() {
		if one := all.Field(i); strings.ToLower(one.Name) == name {
			return reflect.New(reflect.StructOf([]reflect.StructField{one})).Interface()
		}
	}
	return new(command)
}

// help prints the help of a command without the arguments that are taken to be
// refused alone.
func help(options kong.HelpOptions, at *kong.Context) error {
	if node := at.Selected(); node != nil {
		node.Positional = slices.DeleteFunc(node.Positional, func(arg *kong.Positional) bool { return arg.Tag.Hidden })
	}
	return kong.DefaultHelpPrinter(options, at)
}

// version is what the build knows of itself.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown version)"
}
