package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"usher/caps"
	"usher/ucan"
	"usher/venue"
	inmemory "usher/venue/store/memory"
)

type ucanDelegateCmd struct {
	fromConfig
	granting
	Key    string   `placeholder:"FILE" help:"Sign with this key, offline, instead of as the configuration's user."`
	Proof  []string `sep:"none" placeholder:"FILE|CID" help:"What the issuer holds it by: files of tokens, or the CID of one in the venue; repeat it for more."`
	Owner  string   `placeholder:"DID" help:"Whose namespace bare resources lie in (with --key; default: the key's own)."`
	Root   []string `sep:"none" placeholder:"DID" help:"A venue that may begin chains for others (with --key); repeat it for more."`
	Format string   `enum:"native,jwt" default:"native" help:"native (UCAN 1.0, a token for each capability) or jwt (COG-13, one for all)."`
	Inline bool     `help:"Carry the proofs inside the JWT."`
	Out    string   `placeholder:"FILE" help:"Write the tokens there, a line for each."`
	JSON   bool     `name:"json" help:"Print as JSON."`
}

// issued is a new token, as ucan:delegate returns it.
type issued struct {
	CID          ucan.CID          `json:"cid"`
	Token        string            `json:"token"`
	Format       string            `json:"format,omitempty"`
	Issuer       ucan.DID          `json:"issuer"`
	Audience     ucan.DID          `json:"audience"`
	Capabilities []caps.Capability `json:"capabilities"`
	Expires      time.Time         `json:"expires"`
}

func (c *ucanDelegateCmd) Run(ctx context.Context, s *streams) error {
	g, err := c.parse(time.Now())
	if err != nil {
		return err
	}
	switch {
	case c.Inline && c.Format != "jwt":
		return misusef("--inline needs --format jwt: a native token carries no proofs")
	case c.Key != "" && (c.Config != "usher.yaml" || c.Data != ""):
		return misusef("--key signs offline and -c in a venue: give one of them")
	case c.Key == "" && (c.Owner != "" || len(c.Root) > 0):
		return misusef("--owner and --root go with --key: a venue knows both; write the resource as did:key:z6Mk…/w/shared")
	}
	if c.Out != "" {
		if _, err := os.Lstat(c.Out); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is there already: name another file with --out", c.Out)
		}
	}
	var made []issued
	if c.Key != "" {
		made, err = c.offline(ctx, s, g)
	} else {
		made, err = c.inVenue(ctx, s, g)
	}
	if err != nil {
		return err
	}
	return c.print(s, made)
}

func (c *ucanDelegateCmd) print(s *streams, made []issued) error {
	var text strings.Builder
	for _, t := range made {
		text.WriteString(t.Token + "\n")
	}
	if c.Out != "" {
		f, err := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text.String())
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("write tokens: %w", err)
		}
		fmt.Fprintf(s.err, "%s wrote %s\n", s.notes.good("✓"), c.Out)
	}
	switch {
	case c.JSON:
		if err := s.printJSON(map[string]any{"tokens": made}); err != nil {
			return err
		}
	case c.Out == "":
		fmt.Fprint(s.out, text.String())
	}
	for _, t := range made {
		held := caps.Of(t.Capabilities...).String()
		fmt.Fprintf(s.err, "%s\n  %s → %s: %s until %s\n", s.notes.dim(t.CID.String()), short(t.Issuer), short(t.Audience), shorten(held), stamp(t.Expires))
	}
	if len(c.Proof) > 0 && !c.Inline {
		fmt.Fprintln(s.err, s.notes.dim("  whoever receives it needs the proofs as well"))
	}
	return nil
}

// offline signs with a key, after checking that the proofs carry it.
func (c *ucanDelegateCmd) offline(ctx context.Context, s *streams, g grant) (made []issued, err error) {
	roots, err := didFlags("root", c.Root)
	if err != nil {
		return nil, err
	}
	var owner ucan.DID
	if c.Owner != "" {
		if owner, err = didFlag("owner", c.Owner); err != nil {
			return nil, err
		}
	}
	key, err := ucan.ReadKeyFile(c.Key)
	if err != nil {
		return nil, misuse{err}
	}
	defer key.Zero()
	tokens, err := s.readTokens(c.Proof)
	if err != nil {
		return nil, err
	}
	proofs, err := linksOf(tokens)
	if err != nil {
		return nil, fmt.Errorf("--proof %w", err)
	}
	kv := inmemory.Open()
	defer func() { err = errors.Join(err, kv.Close()) }()
	held, err := ucan.OpenStore(ctx, kv, nil)
	if err != nil {
		return nil, err
	}
	if err := keep(ctx, held, proofs); err != nil {
		return nil, err
	}
	is := ucan.Issuer{Key: key, Rand: rand.Reader, Verifier: &ucan.Verifier{
		Roots: rootsFor(roots), Store: held, Limits: ucan.Limits{Proofs: maxQuery},
	}}
	d := ucan.Delegation{
		Audience: g.audience, Capabilities: g.capabilities, Owner: owner, Expires: g.expires, Shorten: g.shorten, Format: ucan.Native, Inline: c.Inline,
	}
	if c.Format == "jwt" {
		d.Format = ucan.JWT
	}
	for _, l := range proofs {
		d.Proofs = append(d.Proofs, l.CID())
	}
	links, err := is.Delegate(ctx, d)
	if errors.Is(err, ucan.ErrUnusedProofs) {
		return nil, fmt.Errorf("%w with --owner DID, or leave --proof out", err)
	}
	if errors.Is(err, ucan.ErrNotHeld) && len(proofs) == 0 {
		return nil, fmt.Errorf("%w; %s does not own it: with --proof give the tokens by which it holds it", ucan.ErrNotHeld, key.DID())
	}
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		ends, _ := l.Expires()
		made = append(made, issued{
			CID: l.CID(), Token: ucan.Text(l), Format: l.Format().String(), Issuer: l.Issuer(), Audience: l.Audience(),
			Capabilities: slices.Collect(l.Capabilities()), Expires: ends,
		})
	}
	return made, nil
}

// keep stores tokens, each after the proofs that it names, in whatever order they
// came.
func keep(ctx context.Context, in *ucan.Store, links []*ucan.Link) error {
	for len(links) > 0 {
		var later []*ucan.Link
		var missing error
		for _, l := range links {
			err := in.Put(ctx, l)
			if errors.Is(err, ucan.ErrMissingProof) {
				later, missing = append(later, l), err
			} else if err != nil {
				return fmt.Errorf("--proof: %w", err)
			}
		}
		if len(later) == len(links) {
			return fmt.Errorf("--proof: %w; give the file that holds it, too", missing)
		}
		links = later
	}
	return nil
}

// inVenue has the venue sign as the configuration's user.
func (c *ucanDelegateCmd) inVenue(ctx context.Context, s *streams, g grant) ([]issued, error) {
	input := map[string]any{
		"audience": g.audience, "capabilities": g.capabilities, "format": c.Format, "inline": c.Inline,
	}
	switch {
	case c.Expires != "":
		input["expires"] = stamp(g.expires)
	case c.TTL != "":
		input["ttl"] = g.ttl.String()
	}
	var cids []ucan.CID
	var files []string
	for _, p := range c.Proof {
		if cid, err := ucan.ParseCID(p); err == nil {
			cids = append(cids, cid)
		} else {
			files = append(files, p)
		}
	}
	tokens, err := s.readTokens(files)
	if err != nil {
		return nil, err
	}
	links, err := linksOf(tokens)
	if err != nil {
		return nil, fmt.Errorf("--proof %w", err)
	}
	var texts []string
	for _, l := range links {
		texts, cids = append(texts, ucan.Text(l)), append(cids, l.CID())
	}
	if len(cids) > 0 {
		input["proofs"] = cids
	}
	var out struct{ Tokens []issued }
	err = c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		if len(texts) > 0 {
			if _, err := u.Invoke(ctx, "ucan:import", map[string]any{"tokens": texts}); err != nil {
				return err
			}
		}
		raw, err := u.Invoke(ctx, "ucan:delegate", input)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			return fmt.Errorf("read what ucan:delegate returned: %w", err)
		}
		return nil
	})
	return out.Tokens, err
}
