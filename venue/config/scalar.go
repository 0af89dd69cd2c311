package config

import (
	"regexp"

	"usher/tools/form"
)

var (
	// jsonNumber is a number that every reader of YAML and JSON takes for the
	// same one.
	jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	// someNumber is what YAML 1.1 or 1.2, or a reader of them, takes for a number.
	someNumber = regexp.MustCompile(`^[-+]?(0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|\.[0-9][0-9_]*([eE][-+]?[0-9]+)?|\.(inf|Inf|INF|nan|NaN|NAN))$`)
)

// plain reads a scalar that is not quoted, by YAML 1.2. Numbers that only some
// readers take for numbers, or for other ones, are refused rather than guessed:
// 007 is 7 for one reader and text or octal for another.
func (c *converter) plain(s string, at form.Pos) (*form.Node, error) {
	n := &form.Node{Kind: form.Text, Text: s, At: at}
	switch s {
	case "", "~", "null", "Null", "NULL":
		n.Kind, n.Text = form.Null, ""
	case "true", "True", "TRUE":
		n.Kind, n.Text = form.Boolean, "true"
	case "false", "False", "FALSE":
		n.Kind, n.Text = form.Boolean, "false"
	default:
		switch {
		case jsonNumber.MatchString(s):
			n.Kind = form.Number
		case someNumber.MatchString(s):
			return nil, c.fault(at, "this is a number to some readers of YAML, and text or another number to others: write it in plain decimal digits, or in quotes as text")
		}
	}
	return n, nil
}
