package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"usher/caps"
	"usher/ucan"
)

type ucanInspectCmd struct {
	Files   []string `arg:"" name:"file" placeholder:"FILE|-" help:"Files of tokens and revocations, in any order: JWT, multibase text, or raw CBOR."`
	At      string   `placeholder:"RFC3339" help:"Judge times as of then instead of now."`
	Mermaid bool     `help:"Draw a Mermaid flowchart instead."`
	JSON    bool     `name:"json" help:"Print as JSON, with whole DIDs."`
}

// Run fails where a token cannot be believed at all: one that is no token, or
// whose signature is wrong. An expired or widened one is shown, with a warning.
func (c *ucanInspectCmd) Run(ctx context.Context, s *streams) error {
	now, err := nowOr(c.At)
	if err != nil {
		return err
	}
	if c.JSON && c.Mermaid {
		return misusef("--json and --mermaid are two forms of one answer: give one of them")
	}
	tokens, err := s.readTokens(c.Files)
	if err != nil {
		return err
	}
	if len(tokens) == 0 {
		return fmt.Errorf("there is no token in %s", strings.Join(c.Files, ", "))
	}
	f, err := plant(ctx, tokens, now)
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		err = s.printJSON(f.report())
	case c.Mermaid:
		err = f.mermaid(s.out)
		for _, t := range f.bad {
			fmt.Fprintf(s.err, "%s %s: %s\n", s.notes.bad("✗"), t.source, t.err)
		}
	default:
		err = f.draw(s.out, s.paint)
	}
	if err == nil && f.failed() {
		err = errQuiet
	}
	return err
}

func (f *forest) failed() bool {
	return len(f.bad) > 0 || slices.ContainsFunc(f.nodes, func(n *node) bool { return n.forged })
}

// inspection is the JSON form of a forest.
type inspection struct {
	Tokens      []inspected  `json:"tokens"` // proofs before what was made from them
	Revocations []takenBack  `json:"revocations,omitempty"`
	Invalid     []unreadable `json:"invalid"` // what is neither
}

type takenBack struct {
	CID    ucan.CID `json:"cid"`
	Issuer ucan.DID `json:"issuer"`
	Source string   `json:"source"`
}

type unreadable struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}

type inspected struct {
	CID          ucan.CID      `json:"cid"`
	Source       string        `json:"source"`
	Format       ucan.Format   `json:"format"`
	Issuer       ucan.DID      `json:"issuer"`
	Audience     ucan.DID      `json:"audience"`
	Subject      ucan.DID      `json:"subject,omitzero"`
	Root         bool          `json:"root"`
	Proofs       []ucan.CID    `json:"proofs"` // named by it, or found among the tokens
	Capabilities []inspectedBy `json:"capabilities"`
	NotBefore    time.Time     `json:"notBefore,omitzero"`
	Expires      time.Time     `json:"expires,omitzero"` // left out for never
	Signature    string        `json:"signature"`        // "valid" or "invalid"
	Notes        []string      `json:"notes,omitempty"`
	Warnings     []string      `json:"warnings"`
}

// inspectedBy is a capability, and what it narrows.
type inspectedBy struct {
	With    string       `json:"with"`
	Can     caps.Ability `json:"can"`
	Narrows string       `json:"narrows,omitempty"`
}

func (f *forest) report() inspection {
	out := inspection{Tokens: []inspected{}, Invalid: []unreadable{}}
	for _, n := range f.nodes {
		t := inspected{
			CID: n.CID, Source: n.source, Format: n.Format, Issuer: n.Issuer, Audience: n.Audience, Subject: n.Subject,
			Root: n.isRoot(), Proofs: append([]ucan.CID{}, n.Proofs...), NotBefore: n.NotBefore(), Expires: n.Expires(),
			Signature: "valid", Notes: n.notes, Warnings: append([]string{}, n.warnings...), Capabilities: []inspectedBy{},
		}
		if n.Format == ucan.Native {
			for _, p := range n.parents {
				t.Proofs = append(t.Proofs, p.CID)
			}
		}
		if n.forged {
			t.Signature = "invalid"
		}
		for i, c := range n.held {
			t.Capabilities = append(t.Capabilities, inspectedBy{c.With(), c.Can(), n.narrows[i]})
		}
		out.Tokens = append(out.Tokens, t)
	}
	for _, t := range f.revoked {
		out.Revocations = append(out.Revocations, takenBack{t.revocation.Target, t.revocation.Issuer, t.source})
	}
	for _, t := range f.bad {
		out.Invalid = append(out.Invalid, unreadable{t.source, t.err.Error()})
	}
	return out
}
