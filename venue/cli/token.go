package cli

import (
	"context"
	"fmt"
	"time"

	"usher/tools/tokens"
)

type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Make a token, and print it: nobody is told it again."`
	List   tokenListCmd   `cmd:"" reads:"" help:"List tokens: their names and times."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a token: it proves nothing from then on."`
}

type tokenCreateCmd struct {
	onVenue
	Name string `arg:"" help:"What to call it, for example laptop."`
	For  string `placeholder:"DURATION" help:"How long it holds, for example 720h. Default: 24h."`
}

func (c *tokenCreateCmd) Run(ctx context.Context, s *streams) error {
	return answer(ctx, s, &c.onVenue, "token:create", tokens.New{Name: c.Name, For: c.For}, func(made tokens.CreateResult) error {
		if err := s.print(made.Secret + "\n"); err != nil {
			return err
		}
		s.note(fmt.Sprintf("It holds until %s. usher token revoke %s ends it before.", s.local(time.UnixMilli(made.Expires)).Format(time.DateTime), made.Name))
		return nil
	})
}

type tokenListCmd struct{ onVenue }

func (c *tokenListCmd) Run(ctx context.Context, s *streams) error {
	return withAnswer(ctx, s, &c.onVenue, "token:list", tokens.Query{}, func(list tokens.Listing) error {
		stamp := func(ms int64) string {
			if ms == 0 {
				return "never"
			}
			return s.local(time.UnixMilli(ms)).Format(time.DateTime)
		}
		header := []string{"TOKEN", "MADE", "HOLDS UNTIL", "USED"}
		return printList(s, c.JSON, list.Tokens, "there are no tokens; usher token create makes one", header, func(t *tokens.Token) []string {
			until := stamp(t.Expires)
			if time.UnixMilli(t.Expires).Before(time.Now()) {
				until += " (expired: revoke it, or its name stays taken)"
			}
			return []string{t.Name, stamp(t.Created), until, stamp(t.Used)}
		})
	})
}

type tokenRevokeCmd struct {
	onVenue
	Name string `arg:"" help:"Name of the token."`
}

func (c *tokenRevokeCmd) Run(ctx context.Context, s *streams) error {
	return withAnswer(ctx, s, &c.onVenue, "token:revoke", tokens.Ref{Name: c.Name}, func(gone tokens.RevokeResult) error {
		if !gone.Revoked {
			return noSuchName(fmt.Sprintf("there is no token %s: %s shows which there are", c.Name, c.command("token list")))
		}
		return s.answer(c.JSON, gone, "revoked "+gone.Name+"\n")
	})
}
