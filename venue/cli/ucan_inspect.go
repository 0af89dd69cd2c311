package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"usher/caps"
	"usher/caps/value"
	"usher/ucan"
)

type ucanInspectCmd struct {
	Files   []string  `arg:"" name:"file" placeholder:"FILE|-" help:"Files of tokens and revocations, in any order: JWT, multibase text, or raw CBOR."`
	At      *timeFlag `placeholder:"RFC3339" help:"Judge times as of then instead of now."`
	Mermaid bool      `help:"Draw a Mermaid flowchart instead."`
	JSON    bool      `name:"json" help:"Print as JSON, with whole DIDs."`
}

// Run fails where a token cannot be believed at all: one that is no token, or
// whose signature is wrong. An expired or widened one is shown, with a warning.
func (c *ucanInspectCmd) Run(ctx context.Context, s *streams) error {
	if c.JSON && c.Mermaid {
		return misusef("--json and --mermaid are two forms of one answer: give one of them")
	}
	items, err := someTokens(s.readAll, c.Files)
	if err != nil {
		return err
	}
	f, err := plant(ctx, items, c.At.clock())
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		err = s.printJSON(f.report())
	case c.Mermaid:
		_, err = io.WriteString(s.out, f.mermaid())
		for _, t := range f.bad {
			fmt.Fprintf(s.err, "%s %s: %s\n", s.notes.bad("✗"), t.Source, t.Err)
		}
	default:
		_, err = io.WriteString(s.out, f.draw(s.paint))
	}
	if err == nil && (len(f.bad) > 0 || slices.ContainsFunc(f.nodes, func(n *node) bool { return n.Signature != "valid" })) {
		err = errQuiet
	}
	return err
}

// inspection is the JSON form of a forest.
type inspection struct {
	Tokens      []tokenInspection `json:"tokens"` // proofs before what was made from them
	Revocations []revocation      `json:"revocations,omitempty"`
	Invalid     []unreadable      `json:"invalid"` // what is neither
}

type revocation struct {
	CID    ucan.CID `json:"cid"`
	Issuer ucan.DID `json:"issuer"`
	Source string   `json:"source"`
}

type unreadable struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}

type tokenInspection struct {
	CID          ucan.CID        `json:"cid"`
	Source       string          `json:"source"`
	Format       ucan.Format     `json:"format"`
	Issuer       ucan.DID        `json:"issuer"`
	Audience     ucan.DID        `json:"audience"`
	Subject      ucan.DID        `json:"subject,omitzero"`
	Root         bool            `json:"root"`
	Proofs       []ucan.CID      `json:"proofs"` // named by it, or found among the tokens
	Capabilities []capInspection `json:"capabilities"`
	Policy       ucan.Policy     `json:"policy,omitempty"` // what it says beyond the resource of these
	NotBefore    time.Time       `json:"notBefore,omitzero"`
	Expires      time.Time       `json:"expires,omitzero"` // left out for never
	Signature    string          `json:"signature"`        // "valid" or "invalid"
	Notes        []string        `json:"notes,omitempty"`
	Warnings     []string        `json:"warnings"`
}

// capInspection is a capability, and what it narrows.
type capInspection struct {
	With    string       `json:"with"`
	Can     caps.Ability `json:"can"`
	Narrows string       `json:"narrows,omitempty"`
}

func (by capInspection) String() string {
	return shorten(string(by.Can) + " on " + cmp.Or(by.With, "(any)"))
}

func (f *forest) report() inspection {
	out := inspection{Tokens: []tokenInspection{}, Invalid: []unreadable{}}
	for _, n := range f.nodes {
		out.Tokens = append(out.Tokens, n.tokenInspection)
	}
	for _, t := range f.revoked {
		out.Revocations = append(out.Revocations, revocation{t.Revocation.Target, t.Revocation.Issuer, t.Source})
	}
	for _, t := range f.bad {
		out.Invalid = append(out.Invalid, unreadable{t.Source, t.Err.Error()})
	}
	return out
}

// mermaid draws the principals as boxes and the tokens as arrows between them,
// dotted where something is wrong.
func (f *forest) mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	boxes := map[ucan.DID]string{}
	box := func(d ucan.DID) string {
		if boxes[d] == "" {
			boxes[d] = fmt.Sprintf("p%d", len(boxes)+1)
			fmt.Fprintf(&b, "  %s[\"%s\"]\n", boxes[d], mermaidText(d.String()))
		}
		return boxes[d]
	}
	for _, n := range f.nodes {
		from, to, arrow := box(n.Issuer), box(n.Audience), "-->"
		var lines []string
		for _, c := range n.Capabilities {
			lines = append(lines, mermaidText(c.String()))
		}
		if len(n.Policy) > 0 {
			lines = append(lines, mermaidText("when "+n.Policy.String()))
		}
		lines = append(lines, n.validity())
		for _, text := range n.Warnings {
			arrow = "-.->"
			lines = append(lines, "⚠ "+mermaidText(text))
		}
		fmt.Fprintf(&b, "  %s %s|\"%s\"| %s\n", from, arrow, strings.Join(lines, "<br/>"), to)
	}
	return b.String()
}

// mermaidText spells what would end a label, or be markup in it, as entities; a
// star at its beginning would be taken for a list.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range shorten(s) {
		if strings.ContainsRune("\"<>&#;`|[]{}*", r) {
			fmt.Fprintf(&b, "#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// draw is each root with what was made from it below.
func (f *forest) draw(p paint) string {
	var b strings.Builder
	for _, n := range f.nodes {
		if len(n.parents) == 0 {
			n.draw(&b, p, "", "")
		}
	}
	for _, t := range f.revoked {
		fmt.Fprintf(&b, "revocation of %s by %s, %s\n", t.Revocation.Target, short(t.Revocation.Issuer.String()), t.Source)
	}
	for _, t := range f.bad {
		fmt.Fprintf(&b, "%s %s: %s\n", p.bad("✗"), t.Source, t.Err)
	}
	return b.String()
}

// maxDrawn is how many levels of a chain are drawn: no longer one is believed, and
// each costs its indent.
const maxDrawn = 17

// draw writes a token after the branch that leads to it; below is what stands
// before its other lines.
func (n *node) draw(b *strings.Builder, p paint, branch, below string) {
	fmt.Fprintf(b, "%s%s\n", branch, p.bold(short(n.Issuer.String())+" → "+short(n.Audience.String())))
	margin := below + "   "
	if len(n.children) > 0 {
		margin = below + "│  "
	}
	line := func(text string) { fmt.Fprintf(b, "%s%s\n", margin, text) }
	for _, c := range n.Capabilities {
		line(strings.TrimRight(c.String()+p.dim("  "+shorten(c.Narrows)), " "))
	}
	signature := p.good("signature verifies")
	if n.Signature != "valid" {
		signature = p.bad("signature does not verify")
	}
	line(n.validity() + ", " + signature)
	line(p.dim(string(n.Format) + " " + n.CID.String() + ", " + n.Source))
	for _, text := range n.Notes {
		line(shorten(text))
	}
	for _, text := range n.Warnings {
		line(p.warn("! " + shorten(text)))
	}
	if len(n.children) > 0 && strings.Count(below, "  ") > maxDrawn {
		line(p.dim("… and more made from it"))
		return
	}
	for i, child := range n.children {
		if i == len(n.children)-1 {
			child.draw(b, p, below+"└─ ", below+"   ")
		} else {
			child.draw(b, p, below+"├─ ", below+"│  ")
		}
	}
}

// validity says from when to when.
func (n *node) validity() string {
	text := "never expires"
	if !n.Expires.IsZero() {
		text = "until " + stamp(n.Expires)
	}
	if !n.NotBefore.IsZero() {
		text = "from " + stamp(n.NotBefore) + " " + text
	}
	return text
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// short names a principal so that a reader tells it from the others.
func short(did string) string {
	text := strings.TrimPrefix(did, "did:key:")
	if len(text) < 16 {
		return orDash(text)
	}
	return text[:8] + "…" + text[len(text)-4:]
}

// anyDID finds the DIDs in a text.
var anyDID = value.Form(`did:key:[0-9A-Za-z]+`)

// shorten shortens the DIDs within a text.
func shorten(text string) string { return anyDID().ReplaceAllStringFunc(text, short) }
