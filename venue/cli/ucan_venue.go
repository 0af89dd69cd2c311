package cli

import (
	"context"
	"fmt"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/delegation"
	"usher/ucan"
	"usher/venue"
)

// lines prints a line of each.
func (s *streams) lines(before string, texts []string) {
	for _, text := range texts {
		fmt.Fprintln(s.out, before+text)
	}
}

type ucanIssueCmd struct {
	onVenue
	grantDraft
}

func (c *ucanIssueCmd) Run(ctx context.Context, s *streams) error {
	d, err := c.parse(s.place, time.Now())
	if err != nil {
		return err
	}
	s.noteAbilities(caps.Of(d.Capabilities...))
	input := map[string]any{"audience": d.Audience, "attenuations": d.Capabilities, "exp": d.Expires.Unix()}
	return answer(ctx, s, &c.onVenue, "ucan:issue", input, func(made delegation.IssueResult) error {
		s.lines("", []string{made.Token})
		s.report("%s until %s, signed by the venue, %s", made.CID, made.Expires, made.Issuer)
		s.note("  take it back with usher ucan revoke " + made.CID)
		return nil
	})
}

// tokenArg names a token.
type tokenArg struct{ ucan.CID }

func (a *tokenArg) UnmarshalText(text []byte) error {
	if err := a.CID.UnmarshalText(text); err != nil {
		return fmt.Errorf("%w; usher ucan list shows those of your tokens", err)
	}
	return nil
}

type ucanRevokeCmd struct {
	onVenue
	CID tokenArg `arg:"" name:"cid" help:"The token, as usher ucan list and inspect name it."`
	Key string   `placeholder:"FILE" help:"Sign with this key, offline, and print the revocation for usher ucan import."`
}

func (c *ucanRevokeCmd) Run(ctx context.Context, s *streams) error {
	if c.Key != "" {
		return c.offline(s, c.CID.CID)
	}
	return answer(ctx, s, &c.onVenue, "ucan:revoke", map[string]any{"cid": c.CID}, func(out delegation.RevokeResult) error {
		if !out.Revoked {
			s.lines("recorded the revocation of ", []string{out.CID.String()})
			s.note(out.Note)
			return nil
		}
		s.lines("revoked ", []string{out.CID.String()})
		s.note("what was made from it is refused as well, and neither can be undone")
		return nil
	})
}

func (c *ucanRevokeCmd) ofVenue() *fromConfig { return c.unlessKey(c.Key) }

// offline signs the revocation, which counts wherever it is imported.
func (c *ucanRevokeCmd) offline(s *streams, cid ucan.CID) error {
	if c.isChosen() {
		return errKeyOrVenue
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
		return s.printJSON(map[string]any{"cid": cid, "issuer": r.Issuer, "revocation": r.Text()})
	}
	s.lines("", []string{r.Text()})
	s.note("it counts where " + r.Issuer.String() + " issued the token or stands above it, once usher ucan import has taken it there")
	return nil
}

type ucanImportCmd struct {
	onVenue
	Files []string `arg:"" name:"file|url" placeholder:"FILE|URL|-" help:"Files of tokens and revocations, or https URLs of such: JWT, multibase text, or raw CBOR."`
}

func (c *ucanImportCmd) Run(ctx context.Context, s *streams) error {
	items, err := someTokens(s.fetchOr(ctx), c.Files)
	if err != nil {
		return err
	}
	if b := delegation.Sort(items); len(b.Links)+len(b.Revocations) == 0 {
		return b.First
	}
	texts := make([]string, len(items))
	for i := range items {
		texts[i] = items[i].Text
	}
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		out, err := ask[delegation.ImportResult](ctx, u, "ucan:import", map[string]any{"tokens": texts})
		switch {
		case err != nil:
			return fmt.Errorf("import %s: %w", sourcesOf(c.Files...), err)
		case c.JSON:
			return s.printJSON(out)
		}
		for _, a := range out.Aside {
			fmt.Fprintf(s.err, "%s %s was left out: %s\n", s.notes.warn("!"), items[a.Token].Source, s.notes.safe(a.Reason))
		}
		s.lines("stored ", out.CIDs)
		s.lines("revoked ", out.Revoked)
		return nil
	})
}

type ucanExportCmd struct {
	onVenue
	CID tokenArg `arg:"" name:"cid" help:"The token, as usher ucan list names it."`
}

func (c *ucanExportCmd) Run(ctx context.Context, s *streams) error {
	return answer(ctx, s, &c.onVenue, "ucan:export", map[string]any{"cid": c.CID}, func(out delegation.ExportResult) error {
		s.lines("", out.Tokens)
		return nil
	})
}

type ucanWhoamiCmd struct {
	onVenue
	Key string `placeholder:"FILE" help:"Print the DID of this key instead."`
}

func (c *ucanWhoamiCmd) ofVenue() *fromConfig { return c.unlessKey(c.Key) }

func (c *ucanWhoamiCmd) Run(ctx context.Context, s *streams) error {
	if c.Key != "" {
		key, err := ucan.ReadKeyFile(c.Key)
		if err != nil {
			return misuse{err}
		}
		defer key.Zero()
		return s.printKey(key, c.Key, c.JSON)
	}
	return answer(ctx, s, &c.onVenue, "ucan:whoami", struct{}{}, func(out delegation.Identity) error {
		s.lines("", []string{out.DID.String()})
		s.note("the venue is " + out.Venue.String())
		return nil
	})
}

type ucanListCmd struct {
	onVenue
	Received bool `help:"Only tokens made out to the user."`
	Issued   bool `help:"Only tokens that the user issued."`
}

func (c *ucanListCmd) Run(ctx context.Context, s *streams) error {
	input := map[string]any{"received": c.Received, "issued": c.Issued}
	return answer(ctx, s, &c.onVenue, "ucan:list", input, func(list delegation.Tokens) error {
		if len(list.Tokens) == 0 {
			s.note("there are no tokens; usher ucan issue makes one")
			return nil
		}
		rows := [][]string{{"DIRECTION", "STATE", "ISSUER", "AUDIENCE", "CAPABILITIES", "EXPIRES", "FORMAT", "CID"}}
		for _, t := range list.Tokens {
			state, expires, by := "valid", t.Expires, short(t.Issuer)
			switch {
			case t.Revoked:
				state = "revoked"
			case expires == "":
				expires = "never"
			case expires < stamp(time.Now()):
				state = "expired"
			}
			if len(t.Agents) > 0 { // who signed in its name
				by += " by " + tools.Life(t.Agents[0]).Agent()
			}
			gives := caps.Of(t.Capabilities...).String()
			if len(t.Policy) > 0 {
				gives += " when " + t.Policy.String()
			}
			rows = append(rows, []string{t.Direction, state, by, short(t.Audience), shorten(gives), expires, t.Format, t.CID})
		}
		return s.table(rows)
	})
}
