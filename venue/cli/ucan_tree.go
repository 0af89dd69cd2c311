package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// draw writes each root with what was made from it below.
func (f *forest) draw(w io.Writer, p paint) error {
	var b strings.Builder
	for _, n := range f.nodes {
		if len(n.parents) == 0 {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			f.drawNode(&b, p, n, "", "")
		}
	}
	for _, t := range f.bad {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s %s: %s\n", p.bad("✗"), t.source, t.err)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// maxDrawn is how many levels of a chain are drawn.
const maxDrawn = 17

// drawNode writes a token after the branch that leads to it; below is what
// stands before its other lines.
func (f *forest) drawNode(b *strings.Builder, p paint, n *node, branch, below string) {
	fmt.Fprintf(b, "%s%s\n", branch, p.bold(short(n.Issuer.String())+" → "+short(n.Audience.String())))
	margin := below + "   "
	if len(n.children) > 0 {
		margin = below + "│  "
	}
	line := func(text string) { fmt.Fprintf(b, "%s%s\n", margin, text) }
	for i := range n.held {
		text := shorten(n.held[i].String())
		if how := n.held[i].narrowing(); how != "" {
			text += p.dim("  " + how)
		}
		line(text)
	}
	if len(n.held) == 0 {
		line("(no capabilities)")
	}
	signature := p.good("signature verifies")
	if n.forged {
		signature = p.bad("signature does not verify")
	}
	line(f.validity(n) + ", " + signature)
	line(p.dim(string(n.Format) + " " + n.CID.String() + ", " + n.source))
	for _, text := range n.notes {
		line(shorten(text))
	}
	for _, more := range n.parents[min(1, len(n.parents)):] {
		line("also made from " + more.CID.String())
	}
	for _, text := range n.warnings {
		line(p.warn("! " + shorten(text)))
	}
	// No chain is longer than this and believed; each level costs its indent.
	if len(n.children) > 0 && strings.Count(below, "  ") > maxDrawn {
		line(p.dim("… and more made from it"))
		return
	}
	for i, child := range n.children {
		if i == len(n.children)-1 {
			f.drawNode(b, p, child, below+"└─ ", below+"   ")
		} else {
			f.drawNode(b, p, child, below+"├─ ", below+"│  ")
		}
	}
}

// until says when a token ends.
func (n *node) until() string {
	if n.Expires().IsZero() {
		return "never expires"
	}
	return "until " + stamp(n.Expires())
}

// validity says from when to when, and how far off that is.
func (f *forest) validity(n *node) string {
	text, left := n.until(), n.Expires().Sub(f.now)
	if !n.Expires().IsZero() && left >= 0 {
		text += " (" + about(left) + " left)"
	}
	if !n.NotBefore().IsZero() {
		text = "from " + stamp(n.NotBefore()) + " " + text
	}
	return text
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// about is a duration to the precision that a reader wants.
func about(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return fmt.Sprintf("%d seconds", d/time.Second)
}

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
