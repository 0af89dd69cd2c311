package delegation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"usher/tools"
	"usher/ucan"
)

// Item is what a text holds: a token, a revocation, or neither.
type Item struct {
	Source     string           // where it stood, for people
	Text       string           // a JWT, or a sealed token in multibase
	Link       *ucan.Link       // nil where it has not the form of a token
	Revocation *ucan.Revocation // nil where it is none
	Err        error            // why it cannot be believed
}

// Read reads a text.
func Read(source, text string) Item {
	i := Item{Source: source, Text: text}
	if i.Link, i.Err = ucan.ReadText(text); i.Err == nil {
		i.Err = i.Link.Err()
	} else if r, err := ucan.OpenRevocationText(text); err == nil {
		i.Revocation, i.Err = r, nil
	}
	return i
}

// aside is a token that is not understood or, where others are taken, is revoked, by
// its place in the input. It refuses nothing that the others allow.
type aside struct {
	Token  int    `json:"token"`
	Reason string `json:"reason"`
}

// Bundle is what came together, sorted out.
type Bundle struct {
	Links       []*ucan.Link
	Revocations []*ucan.Revocation
	Aside       []aside
	First       error // why the first of those aside is
	wrong       error // of the first that is understood, and forged or contradicts itself
}

// Sort sorts items out.
func Sort(items []Item) (b Bundle) {
	for at, i := range items {
		switch {
		case i.Revocation != nil:
			b.Revocations = append(b.Revocations, i.Revocation)
			continue
		case i.Err == nil:
			b.Links = append(b.Links, i.Link)
			continue
		}
		b.Aside = append(b.Aside, aside{at, i.Err.Error()})
		err := fmt.Errorf("%s: %w", i.Source, i.Err)
		if b.First == nil {
			b.First = err
		}
		if _, wrong := errors.AsType[*ucan.VerifyError](err); wrong && b.wrong == nil {
			b.wrong = err
		}
	}
	return b
}

// Verdict says whether tokens carry an authority.
type Verdict struct {
	Decision string  `json:"decision"` // allow or deny
	Reason   string  `json:"reason"`
	Chain    []Token `json:"chain"` // from the caller's own token to the root's; empty when denied
	Aside    []aside `json:"aside,omitempty"`
}

// Judge decides a query by what came with it, revocations included. What is not
// understood is set aside; what is, and is forged or contradicts itself, is no proof
// of anything that came with it.
func Judge(ctx context.Context, v *ucan.Verifier, q ucan.Query, items []Item) Verdict {
	b := Sort(items)
	err := b.wrong
	if err == nil && len(b.Links) == 0 {
		err = b.First
	}
	if err == nil {
		v, err = v.Heed(ctx, b.Revocations, b.Links)
	}
	var grant ucan.Grant
	if err == nil {
		// In an order of their own, so that the chain does not depend on that in which
		// they came.
		q.Tokens = slices.SortedFunc(slices.Values(b.Links), func(x, y *ucan.Link) int { return bytes.Compare(x.CID.Bytes(), y.CID.Bytes()) })
		grant, err = v.Authorize(ctx, q)
	}
	out := Verdict{Decision: tools.Allowed, Reason: "the caller owns the resource", Chain: []Token{}, Aside: b.Aside}
	if err != nil {
		out.Decision, out.Reason = tools.Denied, err.Error()
	} else if by, ok := grant.By(); ok {
		out.Reason = "allowed by " + by.String()
		if grant.Conditional() {
			out.Reason += ", under conditions that the request satisfies"
		}
	}
	for _, l := range grant.Links() {
		out.Chain = append(out.Chain, Describe(l, false))
	}
	return out
}
