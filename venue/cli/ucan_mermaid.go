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
			fmt.Fprintf(&b, "  %s[\"%s\"]\n", boxes[d], mermaidText(short(d.String())))
		}
		return boxes[d]
	}
	var wrong []string
	for i, n := range f.order {
		from, to := box(n.Issuer), box(n.Audience)
		lines := make([]string, 0, len(n.held)+2)
		for i := range n.held {
			lines = append(lines, mermaidText(shorten(n.held[i].String())))
		}
		lines = append(lines, n.until())
		arrow := "-->"
		if len(n.warnings) > 0 {
			arrow = "-.->"
			wrong = append(wrong, fmt.Sprint(i))
			for _, text := range n.warnings {
				lines = append(lines, "⚠ "+mermaidText(shorten(text)))
			}
		}
		fmt.Fprintf(&b, "  %s %s|\"%s\"| %s\n", from, arrow, strings.Join(lines, "<br/>"), to)
	}
	if len(wrong) > 0 {
		fmt.Fprintf(&b, "  linkStyle %s stroke:#c00,color:#c00\n", strings.Join(wrong, ","))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mermaidText spells what would end a label, or be markup in it, as entities; a
// star at its beginning would be taken for a list.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\"<>&#;`|[]{}*", r) {
			fmt.Fprintf(&b, "#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
