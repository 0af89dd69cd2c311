package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"usher/caps"
	"usher/ucan"
	"usher/venue"
)

type ucanRevokeCmd struct {
	fromConfig
	CID  string `arg:"" name:"cid" help:"The token, as usher ucan list and inspect name it."`
	JSON bool   `name:"json" help:"Print as JSON."`
}

func (c *ucanRevokeCmd) Run(ctx context.Context, s *streams) error {
	cid, err := ucan.ParseCID(c.CID)
	if err != nil {
		return misusef("%w; usher ucan list shows those of your tokens", err)
	}
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		out, err := u.Invoke(ctx, "ucan:revoke", map[string]any{"cid": cid})
		if err != nil {
			return err
		}
		if c.JSON {
			return s.printJSON(out)
		}
		fmt.Fprintf(s.out, "revoked %s\n", cid)
		fmt.Fprintln(s.err, s.notes.dim("what was made from it is refused as well, and neither can be undone"))
		return nil
	})
}

type ucanListCmd struct {
	fromConfig
	Received bool `help:"Only tokens made out to the user."`
	Issued   bool `help:"Only tokens that the user issued."`
	JSON     bool `name:"json" help:"Print as JSON."`
}

// listed is a token as ucan:list returns it.
type listed struct {
	CID              ucan.CID
	Format           string
	Issuer, Audience ucan.DID
	Capabilities     []caps.Capability
	Expires          *time.Time
	Revoked          bool
	Direction        string
}

func (c *ucanListCmd) Run(ctx context.Context, s *streams) error {
	input := map[string]any{}
	if c.Received {
		input["received"] = true
	}
	if c.Issued {
		input["issued"] = true
	}
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		out, err := u.Invoke(ctx, "ucan:list", input)
		if err != nil {
			return err
		}
		if c.JSON {
			return s.printJSON(out)
		}
		var list struct{ Tokens []listed }
		if err := json.Unmarshal(out, &list); err != nil {
			return fmt.Errorf("read what ucan:list returned: %w", err)
		}
		if len(list.Tokens) == 0 {
			fmt.Fprintln(s.err, "there are no tokens; usher ucan issue makes one")
			return nil
		}
		now := time.Now()
		rows := [][]string{{"DIRECTION", "STATE", "ISSUER", "AUDIENCE", "CAPABILITIES", "EXPIRES", "FORMAT", "CID"}}
		for _, t := range list.Tokens {
			state, expires := "valid", "never"
			if t.Expires != nil {
				if expires = stamp(*t.Expires); now.After(*t.Expires) {
					state = "expired"
				}
			}
			if t.Revoked {
				state = "revoked"
			}
			rows = append(rows, []string{
				t.Direction, state, short(t.Issuer), short(t.Audience), shorten(caps.Of(t.Capabilities...).String()), expires, t.Format, t.CID.String(),
			})
		}
		return s.table(rows)
	})
}
