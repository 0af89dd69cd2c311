package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools"
	tool "usher/tools/mcp"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/mcp"
)

type gatewayCmd struct {
	Command []string          `arg:"" name:"command|url" passthrough:"partial" help:"The command of the MCP server with its arguments, after --, or its URL."`
	Caps    string            `placeholder:"JSON|@FILE" help:"What the client may do: a list of {with, can}."`
	Learn   string            `placeholder:"FILE" help:"Let everything through, and write a configuration that would have allowed what was used; one that it has written gets what it lacks."`
	ID      string            `name:"id" default:"server" help:"What the server is called in resources: file://ID/… and mcp/ID/…. Default: ${default}."`
	Root    string            `placeholder:"DIR" help:"A local folder of the server's: its paths are resolved below it."`
	Env     map[string]string `placeholder:"NAME=VALUE" help:"A variable of the command."`
}

func (*gatewayCmd) Help() string {
	return "It stands before one MCP server, for a client that starts it in the server's place. What the tools need is guessed from their names and fields, as usher mcp add shows; a configuration with usher mcp serve says it exactly."
}

// Run serves the client at the other end of the standard streams until that closes them.
func (c *gatewayCmd) Run(ctx context.Context, s *streams) (err error) {
	switch {
	case c.Caps == "" && c.Learn == "":
		return misusef("say what the client may do with --caps, or have --learn find out what it uses")
	case c.Caps != "" && c.Learn != "":
		return misusef("give --caps, which says what the client may do, or --learn, which finds out what it uses: not both")
	}
	server, err := serverOf(c.ID, c.Command, c.Root)
	if err != nil {
		return err
	}
	if server.URL == "" {
		server.Env = c.Env
	}
	more := c.Learn != "" && s.exists(c.Learn)
	var had []tool.Line
	if more {
		l, err := c.knows(s, &server)
		if err != nil {
			return err
		}
		had = l.server.Tools
	}
	found, err := tool.Probe(ctx, server, nil)
	if err != nil {
		return err
	}
	server.Tools = slices.Concat(had, tool.Propose(&server, found.Tools))
	var ops []*tools.Operation
	for i := range found.Tools {
		if op, err := server.Declaration(found.Tools[i].Name); err == nil { // else its name names nothing
			ops = append(ops, op)
		}
	}
	set, err := c.bounds(s, ops)
	if err != nil {
		return err
	}
	if server.HasFiles() && server.Root == "" {
		s.warn("its tools take paths of files and there is no --root: a link, or another spelling, reaches what no capability covers")
	}
	conf := &config.Config{User: "owner", MCP: []tool.Server{server}}
	v, err := venue.Open(ctx, &venue.Options{Config: conf, Logger: slog.New(s.log())})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	u, err := v.User(ctx, conf.User)
	if err == nil {
		_, err = ask[tool.Inspection](ctx, u, "mcp:inspect", tool.Ref{Server: c.ID}) // the tools are there before they are listed
	}
	if err != nil {
		return err
	}
	err = mcp.Stdio(ctx, u.Narrow(set), v.Name(), closer(s.in), openWriter{s.out}, &mcp.Options{Below: "mcp/" + c.ID + "/"})
	if c.Learn != "" {
		err = errors.Join(err, c.write(context.WithoutCancel(ctx), s, v, server, more))
	}
	return err
}

// serverOf is the server that somebody typed.
func serverOf(id string, command []string, root string) (server tool.Server, err error) {
	server.ID = id
	if command[0] == "--" {
		command = command[1:]
	}
	switch isURL := strings.Contains(command[0], "://"); {
	case isURL && len(command) > 1:
		return server, misusef("%q stands after the URL: write flags before %s", strings.Join(command[1:], " "), id)
	case isURL:
		server.URL = command[0]
	default:
		server.Command = command
	}
	if root != "" {
		if server.Root, err = filepath.Abs(root); err != nil {
			return server, err
		}
	}
	if err := server.Check(); err != nil {
		return server, misuse{err}
	}
	return server, nil
}

// bounds are what the client may do: what was given, or all that the server's tools need,
// and nothing else of a venue.
func (c *gatewayCmd) bounds(s *streams, ops []*tools.Operation) (set caps.Set, err error) {
	if c.Caps != "" {
		if set, err = s.capabilities(c.Caps); err != nil {
			return set, err
		}
		if set.IsUnrestricted() {
			return set, misusef("null is no bound: list what the client may do, or have --learn find out what it uses")
		}
		for have := range set.All() { // such as one that names the server otherwise
			if !have.Denies() && !slices.ContainsFunc(ops, func(op *tools.Operation) bool { return op.CouldAllow(caps.Of(have)) }) {
				s.warn(fmt.Sprintf("%s allows none of the server's tools: their resources are mcp/%s/… and file://%s/…, by --id", have, c.ID, c.ID))
			}
		}
		return set, nil
	}
	var all []caps.Capability
	for _, op := range ops {
		for _, sc := range slices.Concat(op.Scopes()...) {
			if have, err := caps.NewCapability(sc.Under, string(sc.Can)); err == nil {
				all = append(all, have)
			}
		}
	}
	return caps.Of(all...), nil
}

// write writes the configuration that would have allowed what was used, or adds to one that
// is there what it lacks.
func (c *gatewayCmd) write(ctx context.Context, s *streams, v *venue.Venue, server tool.Server, more bool) error {
	prefix := "mcp/" + c.ID + "/"
	var used []string
	var needed []caps.Capability
	for row, err := range v.Audit(ctx, 0) {
		if err != nil {
			return err
		}
		if row.Entry == nil {
			continue
		}
		name, mine := strings.CutPrefix(row.Operation, prefix)
		if !mine {
			continue
		}
		used = append(used, name)
		for _, need := range row.Needs {
			have, err := caps.NewCapability(need.Resource, need.Ability)
			if err == nil && !slices.ContainsFunc(needed, func(other caps.Capability) bool { return other.Covers(have) }) {
				needed = append(slices.DeleteFunc(needed, have.Covers), have)
			}
		}
		if row.Omitted > 0 {
			s.warn(fmt.Sprintf("a call of %s needed %d things more than are written", name, row.Omitted))
		}
	}
	server.Tools = slices.DeleteFunc(server.Tools, func(l tool.Line) bool { return !slices.Contains(used, l.Match) })
	if more {
		added, err := c.add(s, &server, needed)
		if err == nil {
			s.note(fmt.Sprintf("added %s to %s", many(added, "line"), c.Learn))
		}
		return err
	}
	for name := range server.Env { // its values are nobody's to write down
		server.Env[name] = "secret:" + name
	}
	var b strings.Builder
	b.WriteString("# What was used through usher gateway: read it, and widen it where that was little.\n")
	b.WriteString("# usher mcp serve -c FILE --agent client bounds a client of MCP to it.\n")
	b.WriteString("models:\n  default: {provider: offline}\n")
	b.WriteString(sectionOf(&server))
	b.WriteString("agents:\n  - id: client\n    tools: [" + prefix + "*]\n")
	if len(needed) == 0 {
		b.WriteString("    caps: []\n")
	} else {
		b.WriteString("    caps:\n")
	}
	for _, have := range needed {
		b.WriteString("      - " + grantLine(have) + "\n")
	}
	err := s.output(c.Learn, 0o600, func(out io.Writer) error {
		_, err := io.WriteString(out, b.String())
		return err
	})
	if err == nil {
		s.note(fmt.Sprintf("wrote %s: %s used", c.Learn, many(len(slices.Compact(slices.Sorted(slices.Values(used)))), "tool")))
	}
	return err
}

// grantLine is a capability as a line of a configuration.
func grantLine(c caps.Capability) string {
	return fmt.Sprintf("{with: %s, can: %s}", flow(c.With()), flow(c.Can()))
}
