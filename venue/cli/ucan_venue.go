package cli

import (
	"context"
	"fmt"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/ucan"
	"usher/venue"
)

type ucanRevokeCmd struct {
	fromConfig
	CID  string `arg:"" name:"cid" help:"The token, as usher ucan list and inspect name it."`
	Key  string `placeholder:"FILE" help:"Sign with this key, offline, and print the revocation for usher ucan import."`
	JSON bool   `name:"json" help:"Print as JSON."`
}

func (c *ucanRevokeCmd) Run(ctx context.Context, s *streams) error {
	cid, err := ucan.ParseCID(c.CID)
	if err != nil {
		return misusef("%w; usher ucan list shows those of your tokens", err)
	}
	if c.Key != "" {
		return c.offline(s, cid)
	}
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		out, err := ask[struct {
			CID     ucan.CID `json:"cid"`
			Revoked bool     `json:"revoked"`
			Note    string   `json:"note,omitempty"`
		}](ctx, u, "ucan:revoke", map[string]any{"cid": cid})
		switch {
		case err != nil:
			return err
		case c.JSON:
			return s.printJSON(out)
		case !out.Revoked:
			fmt.Fprintf(s.out, "recorded the revocation of %s\n", cid)
			fmt.Fprintln(s.err, s.notes.dim(out.Note))
			return nil
		}
		fmt.Fprintf(s.out, "revoked %s\n", cid)
		fmt.Fprintln(s.err, s.notes.dim("what was made from it is refused as well, and neither can be undone"))
		return nil
	})
}

// offline signs the revocation, which counts wherever it is imported.
func (c *ucanRevokeCmd) offline(s *streams, cid ucan.CID) error {
	if c.Config != "usher.yaml" || c.Data != "" {
		return misusef("--key signs offline and -c in a venue: give one of them")
	}
	key, err := ucan.ReadKeyFile(c.Key)
	if err != nil {
		return misuse{err}
	}
	defer key.Zero()
	r, err := key.Revocation(cid, time.Now())
	if err != nil {
		return err
	}
	if c.JSON {
		return s.printJSON(map[string]any{"cid": cid, "issuer": r.Issuer(), "revocation": r.Text()})
	}
	fmt.Fprintln(s.out, r.Text())
	fmt.Fprintln(s.err, s.notes.dim("it counts where "+r.Issuer().String()+" issued the token or stands above it, once usher ucan import has taken it there"))
	return nil
}

type ucanImportCmd struct {
	fromConfig
	Files []string `arg:"" name:"file" placeholder:"FILE|-" help:"Files of tokens and revocations: JWT, multibase text, or raw CBOR."`
	JSON  bool     `name:"json" help:"Print as JSON."`
}

func (c *ucanImportCmd) Run(ctx context.Context, s *streams) error {
	tokens, err := s.readTokens(c.Files)
	if err != nil {
		return err
	}
	if len(tokens) == 0 {
		return fmt.Errorf("there is no token in %s", c.Files[0])
	}
	texts := make([]string, len(tokens))
	for i, t := range tokens {
		if texts[i] = t.text(); texts[i] == "" {
			return fmt.Errorf("%s: %w", t.source, t.err)
		}
	}
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		out, err := ask[struct {
			CIDs    []ucan.CID `json:"cids"`
			Revoked []ucan.CID `json:"revoked,omitempty"`
			Aside   []struct {
				Token  int    `json:"token"`
				Reason string `json:"reason"`
			} `json:"aside,omitempty"`
		}](ctx, u, "ucan:import", map[string]any{"tokens": texts})
		if err != nil {
			return err
		}
		for _, a := range out.Aside {
			fmt.Fprintf(s.err, "%s %s was left out: %s\n", s.notes.warn("!"), tokens[a.Token].source, a.Reason)
		}
		if c.JSON {
			return s.printJSON(out)
		}
		for _, cid := range out.CIDs {
			fmt.Fprintf(s.out, "stored %s\n", cid)
		}
		for _, cid := range out.Revoked {
			fmt.Fprintf(s.out, "revoked %s\n", cid)
		}
		return nil
	})
}

type ucanExportCmd struct {
	fromConfig
	CID  string `arg:"" name:"cid" help:"The token, as usher ucan list names it."`
	JSON bool   `name:"json" help:"Print as JSON."`
}

func (c *ucanExportCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		out, err := ask[struct {
			Tokens []string `json:"tokens"`
		}](ctx, u, "ucan:export", map[string]any{"cid": c.CID})
		if err != nil {
			return err
		}
		if c.JSON {
			return s.printJSON(out)
		}
		for _, text := range out.Tokens {
			fmt.Fprintln(s.out, text)
		}
		return nil
	})
}

type ucanWhoamiCmd struct {
	fromConfig
	Key  string `placeholder:"FILE" help:"Print the DID of this key instead."`
	JSON bool   `name:"json" help:"Print as JSON."`
}

func (c *ucanWhoamiCmd) Run(ctx context.Context, s *streams) error {
	if c.Key != "" {
		key, err := ucan.ReadKeyFile(c.Key)
		if err != nil {
			return misuse{err}
		}
		defer key.Zero()
		if c.JSON {
			return s.printJSON(map[string]any{"did": key.DID(), "file": c.Key})
		}
		fmt.Fprintln(s.out, key.DID())
		return nil
	}
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		out, err := ask[struct {
			DID   ucan.DID `json:"did"`
			Venue ucan.DID `json:"venue"`
		}](ctx, u, "ucan:whoami", struct{}{})
		if err != nil {
			return err
		}
		if c.JSON {
			return s.printJSON(out)
		}
		fmt.Fprintln(s.out, out.DID)
		fmt.Fprintln(s.err, s.notes.dim("the venue is "+out.Venue.String()))
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
	CID          ucan.CID          `json:"cid"`
	Format       string            `json:"format"`
	Issuer       ucan.DID          `json:"issuer"`
	Audience     ucan.DID          `json:"audience"`
	Capabilities []caps.Capability `json:"capabilities"`
	Expires      *time.Time        `json:"expires,omitempty"`
	Agents       []tools.Life      `json:"agents,omitempty"`
	Direction    string            `json:"direction"`
	Revoked      bool              `json:"revoked,omitempty"`
}

func (t *listed) state(now time.Time) (state, expires string) {
	state, expires = "valid", "never"
	if t.Expires != nil {
		if expires = stamp(*t.Expires); now.After(*t.Expires) {
			state = "expired"
		}
	}
	if t.Revoked {
		state = "revoked"
	}
	return state, expires
}

// by names the issuer, and the agent that signed in its name.
func (t *listed) by() string {
	if len(t.Agents) == 0 {
		return short(t.Issuer)
	}
	return short(t.Issuer) + " by " + t.Agents[0].Agent()
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
		list, err := ask[struct {
			Tokens []listed `json:"tokens"`
		}](ctx, u, "ucan:list", input)
		if err != nil {
			return err
		}
		if c.JSON {
			return s.printJSON(list)
		}
		if len(list.Tokens) == 0 {
			fmt.Fprintln(s.err, "there are no tokens; usher ucan issue makes one")
			return nil
		}
		now := time.Now()
		rows := [][]string{{"DIRECTION", "STATE", "ISSUER", "AUDIENCE", "CAPABILITIES", "EXPIRES", "FORMAT", "CID"}}
		for _, t := range list.Tokens {
			state, expires := t.state(now)
			rows = append(rows, []string{
				t.Direction, state, t.by(), short(t.Audience), shorten(caps.Of(t.Capabilities...).String()), expires, t.Format, t.CID.String(),
			})
		}
		return s.table(rows)
	})
}
