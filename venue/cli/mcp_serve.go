package cli

import (
	"context"
	"io"

	"usher/venue"
	"usher/venue/mcp"
)

type mcpCmd struct {
	Add       mcpAddCmd       `cmd:"" help:"Start an MCP server, list its tools, and propose lines for the configuration."`
	List      mcpListCmd      `cmd:"" help:"List the MCP servers of the configuration."`
	Inspect   mcpInspectCmd   `cmd:"" help:"Show what an MCP server says of its tools, what is accepted of that, and what calls need."`
	Accept    mcpAcceptCmd    `cmd:"" help:"Accept tools that are new, or others than they were: the difference is shown."`
	Test      mcpTestCmd      `cmd:"" help:"Call a tool of an MCP server through the gate, as you."`
	Questions mcpQuestionsCmd `cmd:"" help:"List what MCP servers ask you in the middle of calls."`
	Answer    mcpAnswerCmd    `cmd:"" help:"Answer what an MCP server asks."`
	Login     mcpLoginCmd     `cmd:"" help:"Sign in to an MCP server that asks who calls (OAuth)."`
	Logout    mcpLogoutCmd    `cmd:"" help:"Forget the tokens for an MCP server."`
	Serve     mcpServeCmd     `cmd:"" help:"Serve a client of MCP over standard input and output."`
}

type mcpServeCmd struct {
	fromConfig
	Agent string `placeholder:"NAME" help:"Serve as this agent: what the client does is bounded by what the agent may do."`
	Caps  string `placeholder:"JSON|@FILE" help:"Bound what the client does: a list of {with, can}."`
}

// Run serves the client at the other end of the standard streams, as the configuration's
// user, until that closes them. A venue that is up serves it itself.
func (c *mcpServeCmd) Run(ctx context.Context, s *streams) error {
	bound := func(u *venue.User) *venue.User { return u }
	if c.Caps != "" {
		set, err := s.capabilities(c.Caps)
		if err != nil {
			return err
		}
		s.noteAbilities(set)
		bound = func(u *venue.User) *venue.User { return u.Narrow(set) }
	}
	defer s.observe(ctx)()
	c.works = true // for as long as the client stays
	return c.withVenue(ctx, s, func(v *venue.Venue, u *venue.User) error {
		if c.Agent != "" {
			var err error
			if u, err = u.As(ctx, c.Agent); err != nil {
				return err
			}
		}
		return mcp.Stdio(ctx, bound(u), v.Name(), closer(s.in), openWriter{s.out}, nil)
	})
}

// closer is a stream that closes where it can, which ends a read that waits.
func closer(r io.Reader) io.ReadCloser {
	if c, ok := r.(io.ReadCloser); ok {
		return c
	}
	return io.NopCloser(r)
}

// openWriter is standard output, which is left open.
type openWriter struct{ io.Writer }

func (openWriter) Close() error { return nil }
