package delegation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
)

// maxTokens bounds what one call may bring.
const maxTokens = 64

// read reads the texts of a call.
func read(texts []string) ([]Item, error) {
	if len(texts) > maxTokens {
		return nil, fmt.Errorf("%d tokens in one call: send at most %d", len(texts), maxTokens)
	}
	items := make([]Item, len(texts))
	for i, text := range texts {
		items[i] = Read(fmt.Sprintf("tokens[%d]", i), text)
	}
	return items, nil
}

type importInput struct {
	Tokens []string `json:"tokens" jsonschema:"JWTs, or UCAN 1.0 delegations and revocations in multibase"`
}

// ImportResult answers ucan:import.
type ImportResult struct {
	CIDs    []string `json:"cids"`              // of the tokens
	Revoked []string `json:"revoked,omitempty"` // CIDs of the tokens that the revocations end
	Aside   []aside  `json:"aside,omitempty"`
}

// take puts revocations into effect, and stores tokens that carry authority now.
// Others would only stand in the way when a chain is searched for.
func (d *Desk) take(ctx context.Context, call tools.Call, in importInput) (out ImportResult, err error) {
	items, err := read(in.Tokens)
	if err != nil {
		return out, err
	}
	b := Sort(items)
	if len(b.Links)+len(b.Revocations) == 0 {
		return out, cmp.Or(b.First, errors.New("tokens is empty: give at least one"))
	}
	out = ImportResult{CIDs: []string{}, Aside: b.Aside}
	for _, r := range b.Revocations {
		target, err := d.find(ctx, r.Target)
		if err == nil {
			err = d.checkReach(ctx, call, canDelegate, target)
		}
		if err != nil {
			return out, err
		}
		out.Revoked = append(out.Revoked, r.Target.String())
	}
	for _, r := range b.Revocations {
		if err := d.Verifier.Revoke(ctx, r); err != nil {
			return out, fmt.Errorf("import revocation: %w", err)
		}
	}
	over, err := d.store(ctx, call, b.Links)
	if err == nil && len(over) == len(b.Links) && len(out.Revoked) == 0 {
		err = fmt.Errorf("import token %s: %w", over[0].CID, ucan.ErrRevoked)
	}
	if err != nil && len(out.Revoked) > 0 {
		err = fmt.Errorf("%w; the revocations that came with it were taken: %s", err, strings.Join(out.Revoked, ", "))
	}
	for at, i := range items {
		switch {
		case i.Err != nil || i.Revocation != nil:
		case slices.Contains(over, i.Link):
			out.Aside = append(out.Aside, aside{at, ucan.ErrRevoked.Error()})
		default:
			out.CIDs = append(out.CIDs, i.Link.CID.String())
		}
	}
	return out, err
}

// store keeps tokens in the order in which they rest on each other, and returns
// those that it did not because they are revoked.
func (d *Desk) store(ctx context.Context, call tools.Call, links []*ucan.Link) (over []*ucan.Link, err error) {
	for len(links) > 0 {
		var refused error
		over = nil
		left := slices.DeleteFunc(slices.Clone(links), func(l *ucan.Link) bool {
			err := d.Verifier.Check(ctx, l)
			if err == nil {
				_, err = d.chain(ctx, l, links)
			}
			if err == nil {
				err = d.checkReach(ctx, call, canDelegate, l)
			}
			if err == nil {
				err = d.Verifier.Store.Put(ctx, l)
			}
			if errors.Is(err, ucan.ErrRevoked) {
				over = append(over, l)
				return false
			}
			if _, denied := errors.AsType[*caps.Denial](err); err != nil && (refused == nil || denied) {
				if refused = err; !denied {
					refused = fmt.Errorf("import token %s: %w", l.CID, err)
				}
			}
			return err == nil
		})
		// What was stored may be the proof that another was waiting for.
		if len(left) == len(links) {
			return over, refused
		}
		links = left
	}
	return nil, nil
}

// chain lists the tokens by which one gives its audience what it says, itself first,
// with those that came with it and those that are stored. The error says what of it
// does not hold.
func (d *Desk) chain(ctx context.Context, l *ucan.Link, others []*ucan.Link) (chain []*ucan.Link, failed error) {
	chain = []*ucan.Link{l}
	gives, err := d.Verifier.Effective(ctx, l)
	if err != nil {
		return chain, err
	}
	if len(gives) == 0 && l.Passes() {
		return chain, errors.New("it passes on what its proof gives, and no proof of it is known here")
	}
	for _, c := range gives {
		grant, err := d.Verifier.Authorize(ctx, ucan.Query{
			Caller: l.Audience, Owner: l.Namespace(), Request: caps.NeedOn(c.Can(), c.Resource()), Tokens: others, Search: true,
		})
		if err != nil {
			failed = cmp.Or(failed, fmt.Errorf("it does not carry %s: %w", c, err))
		}
		for _, l := range grant.Links() {
			if !slices.Contains(chain, l) {
				chain = append(chain, l)
			}
		}
	}
	return chain, failed
}

// ExportResult answers ucan:export.
type ExportResult struct {
	Tokens []string `json:"tokens"`
}

// export gives a token, with its chain and the revocations in it, to those whom it
// concerns: who issued it, received it, owns what it gives, or has issued or
// received another token of the chain.
func (d *Desk) export(ctx context.Context, call tools.Call, in tokenInput) (out ExportResult, err error) {
	token, err := d.find(ctx, in.CID)
	if err != nil {
		return out, err
	}
	unknown := fault.New(fault.NotFound, fmt.Sprintf("no token %s is known here: ucan:list names yours", in.CID))
	if token == nil {
		return out, unknown
	}
	chain, _ := d.chain(ctx, token, []*ucan.Link{token}) // what no longer holds goes alone
	me := call.Owner()
	if !slices.ContainsFunc(chain, func(l *ucan.Link) bool { return l.Issuer == me || l.Audience == me || speaksFor(l, me) }) {
		return out, unknown
	}
	if err := d.checkReach(ctx, call, canRead, token); err != nil {
		return out, err
	}
	for _, l := range chain {
		out.Tokens = append(out.Tokens, l.Text())
		revocations, err := d.Verifier.Store.Revocations(ctx, l.CID)
		if err != nil {
			return out, err
		}
		for _, r := range revocations {
			out.Tokens = append(out.Tokens, r.Text())
		}
	}
	return out, nil
}

// speaksFor reports whether the token hands on something of owner's.
func speaksFor(l *ucan.Link, owner ucan.DID) bool {
	return slices.ContainsFunc(l.Capabilities(), func(c caps.Capability) bool { return c.Resource().DID() == owner.String() })
}
