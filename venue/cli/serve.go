package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"

	"usher/tools/tokens"
	"usher/venue/rest"
	"usher/venue/server"
)

type serveCmd struct {
	upCmd
	Listen string `default:"127.0.0.1:7475" placeholder:"HOST:PORT" help:"Address to listen at. Default: ${default}; :7475 is every interface, where only a proxy with TLS should reach it."`
}

// served is what the command prints as JSON once the venue is on its port.
type served struct {
	up
	URL   string `json:"url"`
	DID   string `json:"did"`             // of the venue: the audience of tokens
	Token string `json:"token,omitempty"` // made where the user has none
}

func (c *serveCmd) Run(ctx context.Context, s *streams) error {
	c.beside = c.listen
	return c.upCmd.Run(ctx, s)
}

// firstToken is the token that a user gets who has none.
const firstToken = "first"

func (c *serveCmd) listen(ctx context.Context, s *streams, k *kept) (run func(context.Context) error, tell func() error, err error) {
	srv, err := server.New(k.venue, &server.Options{Logger: slog.New(s.log())})
	if err != nil {
		return nil, nil, err
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, nil, fmt.Errorf("listen at %s: %w: choose another address with --listen", c.Listen, err)
	}
	out := served{up: up{k.dir, k.file, os.Getpid()}, URL: "http://" + l.Addr().String(), DID: k.venue.DID().String()}
	tell = func() error {
		list, err := ask[tokens.Listing](ctx, k.user, "token:list", tokens.Query{})
		if err == nil && len(list.Tokens) == 0 {
			var made tokens.Created
			made, err = ask[tokens.Created](ctx, k.user, "token:create", tokens.New{Name: firstToken})
			out.Token = made.Secret
		}
		if err != nil {
			return err
		}
		if c.JSON {
			return s.printLine(out)
		}
		return c.address(s, &out)
	}
	return func(ctx context.Context) error { return srv.Serve(ctx, l) }, tell, nil
}

// address says where the venue is, and how to call it.
func (c *serveCmd) address(s *streams, out *served) error {
	token := out.Token
	if token != "" {
		s.note("The token is you, holds for 24 hours, and is not told again: usher token makes, lists and revokes them.")
	} else {
		s.note("usher token create NAME makes a token: it is not told again.")
		token = "TOKEN"
	}
	_, err := fmt.Fprintf(s.out, "%s\n\ncurl -H 'Authorization: Bearer %s' %s%s/me\n", out.URL, token, out.URL, rest.Prefix)
	return err
}
