package cli

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

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
var anyDID = regexp.MustCompile(`did:key:[0-9A-Za-z]+`)

// shorten shortens the DIDs within a text.
func shorten(text string) string { return anyDID.ReplaceAllStringFunc(text, short) }
