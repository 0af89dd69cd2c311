package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"usher/tools/fault"
	"usher/tools/mcp"
	"usher/venue"
)

type mcpListCmd struct{ onVenue }

func (c *mcpListCmd) Run(ctx context.Context, s *streams) error {
	return withAnswer(ctx, s, &c.onVenue, "mcp:list", mcp.Query{}, func(list mcp.Listing) error {
		header := []string{"SERVER", "STATE", "TOOLS", "REACHED BY"}
		return printList(s, c.JSON, list.Servers, "there are no MCP servers; usher mcp add makes one", header, func(srv *mcp.Summary) []string {
			state := srv.State
			if srv.Error != "" {
				state += ": " + srv.Error
			}
			return []string{srv.Server, state, countStates(srv.Tools, srv.Listed), cmp.Or(srv.URL, strings.Join(srv.Command, " "))}
		})
	})
}

// countStates is how many tools are in which state.
func countStates(states map[string]int, listed bool) string {
	if !listed {
		return "not listed yet"
	}
	var parts []string
	for _, state := range []string{mcp.Usable, mcp.Added, mcp.Changed, mcp.Gone, mcp.Unfit} {
		if n := states[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return orDash(strings.Join(parts, ", "))
}

// onServer is what commands on one server take.
type onServer struct {
	onVenue
	Server string `arg:"" help:"Id of the server in the configuration."`
}

type mcpInspectCmd struct {
	onServer
	Tool string `arg:"" optional:"" help:"Name of a tool; without it, all of them."`
}

// Run shows what is known of a server, which is started for it.
func (c *mcpInspectCmd) Run(ctx context.Context, s *streams) error {
	return c.absent(answer(ctx, s, &c.onVenue, "mcp:inspect", mcp.Ref{Server: c.Server, Tool: c.Tool}, func(seen mcp.Inspection) error {
		if seen.Error != "" {
			s.warn("the server could not be asked: " + seen.Error)
			s.words(seen.Stderr)
		}
		return s.print(s.paint.inspection(&seen, c.Tool != ""))
	}), "mcp list")
}

// words shows what a server wrote on its standard error.
func (s *streams) words(lines []string) {
	if len(lines) == 0 {
		return
	}
	s.note("It said on its standard error:")
	for _, line := range lines {
		s.note("  " + line)
	}
}

// inspection is what a server says of itself, and what counts of it.
func (p paint) inspection(seen *mcp.Inspection, whole bool) string {
	var b strings.Builder
	line := func(indent, text string) {
		for part := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
			fmt.Fprintf(&b, "%s%s\n", indent, p.safe(part))
		}
	}
	line("", fmt.Sprintf("%s (%s %s), in its own words:", seen.Server, seen.Name, seen.Version))
	if seen.Instructions != "" {
		line("  ", seen.Instructions)
	}
	for i := range seen.Tools {
		d := &seen.Tools[i]
		b.WriteByte('\n')
		line("", d.Operation+"  "+d.State)
		if d.Why != "" {
			line("  ", d.Why)
		}
		for _, n := range d.Needs {
			line("  ", "needs "+n.Can+" on "+n.With)
		}
		switch about := cmpTool(d); {
		case d.Accepted != nil && d.Listed != nil:
			b.WriteString(p.difference(d))
		case about != nil && whole:
			line("  ", describe(about))
		case about != nil:
			first, _, _ := strings.Cut(strings.TrimSpace(about.Description), "\n")
			line("  ", first)
			if len(about.Hints) > 0 {
				line("  ", "hints, which nobody believes: "+string(about.Hints))
			}
		}
	}
	return b.String()
}

// cmpTool is what is to be shown of a tool.
func cmpTool(d *mcp.Detail) *mcp.Tool { return cmp.Or(d.Accepted, d.Listed) }

// describe returns a tool as JSON that people read.
func describe(t *mcp.Tool) string {
	text, _ := document(t) // it came as JSON
	return text
}

// difference returns the difference between what was accepted of a tool and what is listed.
func (p paint) difference(d *mcp.Detail) string {
	text := string(diff.Diff("accepted", []byte(describe(d.Accepted)), "listed", []byte(describe(d.Listed))))
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		line = p.safe(line)
		switch {
		case strings.HasPrefix(line, "-"):
			line = p.bad(line)
		case strings.HasPrefix(line, "+"):
			line = p.good(line)
		}
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

type mcpAcceptCmd struct {
	onServer
	Tool string `arg:"" optional:"" help:"Name of a tool; without it, all of them."`
}

// Run shows what is to be accepted, and accepts that: nothing that the server has made of
// it since.
func (c *mcpAcceptCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		seen, err := ask[mcp.Inspection](ctx, u, "mcp:inspect", mcp.Ref{Server: c.Server, Tool: c.Tool})
		if err == nil && seen.Error != "" {
			err = fmt.Errorf("%s", seen.Error)
		}
		if err != nil {
			return c.absent(err, "mcp list")
		}
		seen.Tools = slices.DeleteFunc(seen.Tools, func(d mcp.Detail) bool { return d.State == mcp.Usable || d.State == mcp.Unfit })
		digests := make(map[string]string, len(seen.Tools))
		for i := range seen.Tools {
			d := &seen.Tools[i]
			digests[cmpTool(d).Name] = d.Digest
		}
		if len(digests) > 0 {
			fmt.Fprint(s.err, s.notes.inspection(&seen, true))
		}
		done, err := ask[mcp.Acceptance](ctx, u, "mcp:accept", mcp.Acceptable{Ref: mcp.Ref{Server: c.Server, Tool: c.Tool}, Seen: digests})
		if err != nil {
			return err
		}
		text := "nothing is there to accept\n"
		if len(done.Accepted) > 0 {
			text = s.paint.safe("accepted "+strings.Join(done.Accepted, ", ")) + "\n"
		}
		return s.answer(c.JSON, done, text)
	})
}

type mcpTestCmd struct {
	onServer
	Tool  string `arg:"" help:"Name of the tool."`
	Input string `arg:"" optional:"" default:"{}" placeholder:"JSON|@FILE" help:"Its input, a JSON object; @FILE reads it from a file."`
}

// Run calls a tool through the gate, as the configuration's user.
func (c *mcpTestCmd) Run(ctx context.Context, s *streams) error {
	input, err := s.object(c.Input)
	if err != nil {
		return err
	}
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		err := c.call(ctx, s, u, input)
		if err == nil || fault.Of(err) == fault.InvalidInput || fault.Of(err) == fault.Denied { // the server was asked nothing
			return err
		}
		seen, failed := ask[mcp.Inspection](ctx, u, "mcp:inspect", mcp.Ref{Server: c.Server})
		if fault.Of(failed) == fault.NotFound {
			return c.absent(failed, "mcp list")
		}
		s.words(seen.Stderr)
		return c.absent(err, "mcp inspect "+c.Server)
	})
}

func (c *mcpTestCmd) call(ctx context.Context, s *streams, u *venue.User, input json.RawMessage) error {
	operation := "mcp/" + c.Server + "/" + c.Tool
	ruling, err := u.Decide(ctx, operation, input)
	if err != nil {
		return err
	}
	for need := range ruling.Needs() {
		s.note("needs " + need.String())
	}
	out, err := u.Invoke(ctx, operation, input)
	if err != nil {
		return err
	}
	return s.printJSON(out)
}
