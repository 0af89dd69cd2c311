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
	"os"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"usher/runtime"
	"usher/runtime/telemetry"
	"usher/venue"
	"usher/venue/config"
)

// Exit statuses.
const (
	ExitOK     = 0
	ExitFailed = 1 // denied or failed
	ExitMisuse = 2
)

// Program is the command with what the main program adds to it.
type Program struct {
	Providers runtime.Providers // model providers that configurations may name
	Demos     map[string]Demo   // by name; "ap" is the default one
	Stdin     io.Reader         // nil is the process's own; so for the others
	Stdout    io.Writer
	Stderr    io.Writer

	// Interrupts takes Ctrl-C from the process while a command runs: it ends
	// the command, and in a chat the turn. Where it is false, ctx says when to
	// end.
	Interrupts bool
}

// streams is where a command reads and writes.
type streams struct {
	program *Program
	in      io.Reader
	out     io.Writer
	err     io.Writer
	paint   paint // for out
	notes   paint // for err

	interrupts *interrupts
	telemetry  telemetry.Options // of the commands that run turns; see observe
}

type command struct {
	Demo     demoCmd     `cmd:"" help:"See the gate at work: agents process invoices, and some try what they may not."`
	Init     initCmd     `cmd:"" help:"Make a project to begin with."`
	Run      runCmd      `cmd:"" help:"Run one turn of an agent and print its answer."`
	Chat     chatCmd     `cmd:"" help:"Talk with an agent."`
	Agents   agentsCmd   `cmd:"" help:"List and manage agents."`
	Caps     capsCmd     `cmd:"" help:"Check and disclose capabilities, without a venue."`
	Sessions sessionsCmd `cmd:"" help:"List an agent's sessions, and read them."`
	Invoke   invokeCmd   `cmd:"" help:"Run one operation as the configuration's user, and print its result."`
	Audit    auditCmd    `cmd:"" help:"Read the audit ledger."`
	Secrets  secretsCmd  `cmd:"" help:"Keep keys and other secrets, sealed."`
	Ucan     ucanCmd     `cmd:"" help:"Make keys, hand on authority in signed tokens, and check them."`
	Lint     lintCmd     `cmd:"" help:"Say what is wrong in a configuration before it runs."`
	Schema   schemaCmd   `cmd:"" help:"Print the JSON Schema of the configuration, for editors."`
}

// errQuiet is a failure that has been told already.
var errQuiet = errors.New("failed")

// misuse is an error of how the command was called.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

func misusef(format string, args ...any) error { return misuse{fmt.Errorf(format, args...)} }

// Misuse marks an error as one of how the command was called: exit status 2.
func Misuse(err error) error { return misuse{err} }

// Run runs the command with its arguments, without the program's name, and
// returns the exit status.
func (p *Program) Run(ctx context.Context, args []string) int {
	io := p.streams()
	ctx, io.interrupts = listen(ctx, p.Interrupts)
	defer io.interrupts.stop()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	var cmd command
	if args[0] == "--version" {
		fmt.Fprintln(io.out, "usher", version())
		return ExitOK
	}
	exited, status := false, ExitOK
	parser, err := kong.New(&cmd,
		kong.Name("usher"),
		kong.Description("Runs LLM agents whose every tool call must show its ticket."),
		kong.Writers(io.out, io.err),
		kong.Exit(func(code int) { exited, status = true, code }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(io),
	)
	if err != nil {
		return io.fail(err)
	}
	parsed, err := parser.Parse(args)
	if exited {
		return status
	}
	if err != nil {
		return io.fail(misuse{err})
	}
	if err := parsed.Run(); err != nil {
		return io.fail(err)
	}
	return ExitOK
}

// version is what the build knows of itself.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown version)"
}

func (p *Program) streams() *streams {
	s := &streams{program: p, in: p.Stdin, out: p.Stdout, err: p.Stderr}
	if s.in == nil {
		s.in = os.Stdin
	}
	if s.out == nil {
		s.out = os.Stdout
	}
	if s.err == nil {
		s.err = os.Stderr
	}
	s.paint, s.notes = paintFor(s.out), paintFor(s.err)
	return s
}

// fail tells an error and returns the exit status that it means.
func (s *streams) fail(err error) int {
	if !errors.Is(err, errQuiet) {
		s.tell(err)
	}
	var m misuse
	if errors.As(err, &m) {
		return ExitMisuse
	}
	return ExitFailed
}

// tell prints an error, which may repeat what a model or a tool said.
func (s *streams) tell(err error) {
	fmt.Fprintf(s.err, "%s %s\n", s.notes.bad("usher:"), s.notes.safe(err.Error()))
}

// fromConfig is the flag of every command that works on a venue.
type fromConfig struct {
	Config string `short:"c" default:"usher.yaml" placeholder:"FILE" help:"Configuration: a file, or a folder of them."`
	Data   string `placeholder:"DIR" help:"Data folder, instead of the configuration's."`

	dir    string         // the data folder of the venue that is open; empty in memory
	config *config.Config // that it was opened with
}

// load reads the configuration.
func (f *fromConfig) load() (*config.Config, error) {
	c, err := config.Load(f.Config)
	if errors.Is(err, os.ErrNotExist) {
		return nil, misusef("there is no configuration %s: name one with -c, or make a project with usher init", f.Config)
	}
	if err != nil {
		return nil, misuse{err}
	}
	return c, nil
}

// open opens the venue of the configuration, for its user.
func (f *fromConfig) open(ctx context.Context, io *streams) (*venue.Venue, *venue.User, error) {
	c, err := f.load()
	if err != nil {
		return nil, nil, err
	}
	f.config = c
	if f.dir = f.Data; f.dir == "" {
		f.dir = c.StoreDir()
	}
	v, err := venue.Open(ctx, &venue.Options{Dir: f.dir, Config: c, Providers: io.program.Providers, Telemetry: io.telemetry})
	if err != nil {
		return nil, nil, f.unopened(ctx, io, c, err)
	}
	for _, id := range v.Strays() {
		fmt.Fprintf(io.err, "%s agent %s is not in the configuration any more, and still there: end it with usher agents delete %s\n", io.notes.warn("note:"), id, id)
	}
	for _, kept := range v.Kept() {
		fmt.Fprintf(io.err, "%s %s\n", io.notes.warn("note:"), io.notes.safe(f.kept(kept)))
	}
	u, err := v.User(ctx, c.User)
	if err != nil {
		return nil, nil, errors.Join(err, v.Close())
	}
	return v, u, nil
}

// unopened is why the venue did not open. A fault in the configuration is one of
// how the command was called, and lint may know of more.
func (f *fromConfig) unopened(ctx context.Context, s *streams, c *config.Config, err error) error {
	if findings, lintErr := s.lint(ctx, c); lintErr == nil && failed(findings) {
		err = fmt.Errorf("%w\n(usher lint -c %s says what is wrong in the configuration)", err, f.Config)
	}
	if _, fault := errors.AsType[*config.Error](err); fault {
		return misuse{err}
	}
	return err
}

// withVenue runs fn with the venue of the configuration, and closes it.
func (f *fromConfig) withVenue(ctx context.Context, io *streams, fn func(*venue.Venue, *venue.User) error) (err error) {
	v, u, err := f.open(ctx, io)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	return fn(v, u)
}

// argument returns s itself, or the content of the file that "@FILE" names.
func argument(s string) (string, error) {
	name, isFile := strings.CutPrefix(s, "@")
	if !isFile {
		return s, nil
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return "", misuse{err}
	}
	return string(raw), nil
}

// source opens a file to read, or standard input for "-".
func (s *streams) source(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(s.in), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, misuse{err}
	}
	return f, nil
}
