package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"usher/caps"
	"usher/tools/delegation"
	"usher/ucan"
	"usher/venue"
)

type ucanDelegateCmd struct {
	onVenue
	grantDraft
	Key    string     `placeholder:"FILE" help:"Sign with this key, offline, instead of as the configuration's user."`
	Proof  []string   `sep:"none" placeholder:"FILE|CID" help:"What the issuer holds it by: files of tokens, or the CID of one in the venue; repeat it for more."`
	Owner  ucan.DID   `placeholder:"DID" help:"Whose namespace bare resources lie in (with --key; default: the key's own)."`
	Root   []ucan.DID `sep:"none" placeholder:"DID" help:"A venue that may begin chains for others (with --key); repeat it for more."`
	Format string     `enum:"native,jwt" default:"native" help:"native (UCAN 1.0, a token for each capability) or jwt (COG-13, one for all)."`
	Inline bool       `help:"Carry the proofs inside the JWT."`
	Out    string     `placeholder:"FILE" help:"Write the tokens there, a line for each."`
}

func (c *ucanDelegateCmd) Run(ctx context.Context, s *streams) error {
	now := time.Now()
	d, err := c.parse(s.place, now)
	if err != nil {
		return err
	}
	switch {
	case c.Inline && c.Format != "jwt":
		return misusef("--inline needs --format jwt: a native token carries no proofs")
	case c.Key != "" && c.isChosen():
		return errKeyOrVenue
	case c.Key == "" && (!c.Owner.IsZero() || len(c.Root) > 0):
		return misusef("--owner and --root go with --key: a venue knows both; write the resource as did:key:z6Mk…/w/shared")
	}
	if c.Out != "" && s.exists(c.Out) {
		return misusef("%s is there already: name another file with --out", c.Out)
	}
	s.noteAbilities(caps.Of(d.Capabilities...))
	var made delegation.Tokens
	if c.Key != "" {
		made.Tokens, err = c.offline(ctx, s, d)
	} else {
		made, err = c.inVenue(ctx, s, d, now)
	}
	if err != nil {
		return err
	}
	return c.print(s, made)
}

func (c *ucanDelegateCmd) ofVenue() *fromConfig { return c.unlessKey(c.Key) }

// unlessKey is the configuration of a command that needs none where it has a key.
func (f *fromConfig) unlessKey(file string) *fromConfig {
	if file != "" {
		return nil
	}
	return f.ofVenue()
}

// errKeyOrVenue is a misuse.
var errKeyOrVenue = misusef("--key signs offline and -c in a venue: give one of them")

// isChosen reports whether a configuration or its data was named.
func (f *fromConfig) isChosen() bool { return f.Config != "usher.yaml" || f.Data != "" }

func (c *ucanDelegateCmd) print(s *streams, made delegation.Tokens) error {
	var text strings.Builder
	for _, t := range made.Tokens {
		text.WriteString(t.Token + "\n")
	}
	if c.Out != "" {
		err := s.output(c.Out, 0o644, func(out io.Writer) error {
			_, err := io.WriteString(out, text.String())
			return err
		})
		if err != nil {
			return err
		}
		s.report("wrote %s", c.Out)
	}
	switch {
	case c.JSON:
		if err := s.printJSON(made); err != nil {
			return err
		}
	case c.Out == "":
		fmt.Fprint(s.out, text.String())
	}
	for _, t := range made.Tokens {
		held := caps.Of(t.Capabilities...).String()
		fmt.Fprintf(s.err, "%s\n  %s → %s: %s until %s\n", s.notes.dim(t.CID), short(t.Issuer), short(t.Audience), shorten(held), t.Expires)
	}
	if len(c.Proof) > 0 && !c.Inline {
		s.note("  whoever receives it needs the proofs as well")
	}
	return nil
}

// offline signs with a key, after checking that the proofs carry it.
func (c *ucanDelegateCmd) offline(ctx context.Context, s *streams, d ucan.Delegation) (made []delegation.Token, err error) {
	key, err := ucan.ReadKeyFile(c.Key)
	if err != nil {
		return nil, misuse{err}
	}
	defer key.Zero()
	proofs, err := s.proofs(c.Proof)
	if err != nil {
		return nil, err
	}
	d.Owner, d.Tokens, d.Inline = c.Owner, proofs.Links, c.Inline
	if c.Format == "jwt" {
		d.Format = ucan.JWT
	}
	v, err := (&ucan.Verifier{Roots: trustRoots(c.Root), Limits: ucan.Limits{Proofs: maxQuery}}).Heed(ctx, proofs.Revocations, d.Tokens)
	if err != nil {
		return nil, err
	}
	is := ucan.Issuer{Key: key, Rand: rand.Reader, Verifier: v}
	links, err := is.Delegate(ctx, d)
	switch {
	case errors.Is(err, ucan.ErrUnusedProofs):
		return nil, fmt.Errorf("%w with --owner DID, or leave --proof out", err)
	case errors.Is(err, ucan.ErrNotHeld) && len(d.Tokens) == 0:
		return nil, fmt.Errorf("%w; %s does not own it: with --proof give the tokens by which it holds it", ucan.ErrNotHeld, key.DID())
	case errors.Is(err, ucan.ErrMissingProof):
		return nil, fmt.Errorf("%w; give the file that holds it, too", err)
	}
	for _, l := range links {
		made = append(made, delegation.Describe(l, true))
	}
	return made, err
}

// proofs reads files of tokens and revocations, each of which has to be good.
func (s *streams) proofs(files []string) (b delegation.Bundle, err error) {
	items, err := tokensBy(s.readAll, files)
	if err != nil {
		return b, err
	}
	if b = delegation.Sort(items); b.First != nil {
		err = fmt.Errorf("--proof %w", b.First)
	}
	return b, err
}

// inVenue has the venue sign as the configuration's user.
func (c *ucanDelegateCmd) inVenue(ctx context.Context, s *streams, d ucan.Delegation, now time.Time) (made delegation.Tokens, err error) {
	input := map[string]any{"audience": d.Audience, "capabilities": d.Capabilities, "format": c.Format, "inline": c.Inline}
	switch {
	case c.Expires != nil:
		input["expires"] = stamp(d.Expires)
	case c.TTL != 0:
		input["ttl"] = d.Expires.Sub(now).String()
	}
	var cids []ucan.CID
	var files, texts []string
	for _, p := range c.Proof {
		if cid, err := ucan.ParseCID(p); err == nil {
			cids = append(cids, cid)
		} else {
			files = append(files, p)
		}
	}
	proofs, err := s.proofs(files)
	if err != nil {
		return made, err
	}
	for _, r := range proofs.Revocations {
		texts = append(texts, r.Text())
	}
	for _, l := range proofs.Links {
		texts, cids = append(texts, l.Text()), append(cids, l.CID)
	}
	if len(cids) > 0 {
		input["proofs"] = cids
	}
	err = c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		if len(texts) > 0 {
			if _, err := u.Invoke(ctx, "ucan:import", map[string]any{"tokens": texts}); err != nil {
				return err
			}
		}
		made, err = ask[delegation.Tokens](ctx, u, "ucan:delegate", input)
		return err
	})
	return made, err
}
