package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"usher/ucan"
	"usher/venue"
)

type ucanIssueCmd struct {
	fromConfig
	granting
	JSON bool `name:"json" help:"Print as JSON."`
}

func (c *ucanIssueCmd) Run(ctx context.Context, s *streams) error {
	g, err := c.parse(time.Now())
	if err != nil {
		return err
	}
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		out, err := u.Invoke(ctx, "ucan:issue", map[string]any{
			"audience": g.audience, "attenuations": g.capabilities, "exp": g.expires.Unix(),
		})
		if err != nil {
			return err
		}
		if c.JSON {
			return s.printJSON(out)
		}
		var made struct {
			Token  string
			CID    ucan.CID
			Issuer ucan.DID
		}
		if err := json.Unmarshal(out, &made); err != nil {
			return fmt.Errorf("read what ucan:issue returned: %w", err)
		}
		fmt.Fprintln(s.out, made.Token)
		fmt.Fprintf(s.err, "%s %s until %s, signed by the venue, %s\n", s.notes.good("✓"), made.CID, stamp(g.expires), made.Issuer)
		fmt.Fprintln(s.err, s.notes.dim("  take it back with usher ucan revoke "+made.CID.String()))
		return nil
	})
}
