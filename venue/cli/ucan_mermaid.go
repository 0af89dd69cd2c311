package cli

import (
	"fmt"
	"io"
	"strings"

	"usher/ucan"
)

// mermaid writes the principals as boxes and the tokens as arrows between them,
// dotted where something is wrong.
func (f *forest) mermaid(w io.Writer) error {
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
		for _, c := range n.held {
			lines = append(lines, mermaidText(c.String()))
		}
		lines = append(lines, n.validity())
		for _, text := range n.warnings {
			arrow = "-.->"
			lines = append(lines, "⚠ "+mermaidText(text))
		}
		fmt.Fprintf(&b, "  %s %s|\"%s\"| %s\n", from, arrow, strings.Join(lines, "<br/>"), to)
	}
	_, err := io.WriteString(w, b.String())
	return err
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
