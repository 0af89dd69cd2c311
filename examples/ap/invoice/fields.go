package invoice

import (
	"regexp"
	"strings"
)

// field is a label with its value, however the text sets them: "Label: value",
// two columns, a heading over a value.
type field struct {
	label string // lower case
	value string
	made  bool // from a table's headings
}

var (
	cellBreak   = regexp.MustCompile(`[ \t]*\|[ \t]*|\t+| {2,}|;[ ]+`)
	labelled    = regexp.MustCompile(`^["']?([\p{L}#][^:=|]{0,40}?)["']?[ \t]*(?::|=| - |\.{3,}:?)[ \t]*(.*)$`)
	ruled       = regexp.MustCompile(`^[\s|+=:_.*-]*$`)
	onlyLabel   = regexp.MustCompile(`^[\p{L}][\p{L} .#/&()'-]*:?$`)
	knownLabels = regexp.MustCompile(`(?i)\b(?:invoice|date|number|no|nr|order|p\.?o\.?|terms|due|vendor|supplier|from|bill|to|customer|client|total|currency|reference|ref|rechnung|datum)\b|#`)
)

// cells splits a line at its column breaks.
func cells(line string) []string {
	line = strings.Trim(strings.TrimSpace(line), "|")
	parts := cellBreak.Split(strings.TrimSpace(line), -1)
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return parts
}

func findFields(s string) []field {
	lines := strings.Split(s, "\n")
	var out []field
	for i, line := range lines {
		if ruled.MatchString(line) {
			continue
		}
		row := cells(line)
		for j, c := range row {
			m := labelled.FindStringSubmatch(c)
			switch {
			case m != nil && m[2] != "":
				out = append(out, makeField(m[1], m[2], false))
			case m != nil && j+1 < len(row):
				if labelled.FindStringSubmatch(row[j+1]) == nil {
					out = append(out, makeField(m[1], row[j+1], false))
				}
			case m != nil && len(row) == 1:
				if next := nextLine(lines, i); next != "" && labelled.FindStringSubmatch(next) == nil {
					out = append(out, makeField(m[1], cells(next)[0], false))
				}
			case m == nil && len(row) == 2 && j == 0 && row[1] != "":
				out = append(out, makeField(c, row[1], false))
			}
		}
		below := nextLine(lines, i)
		for _, sep := range []string{"", ";", ","} {
			out = append(out, underHeadings(splitRow(line, sep), splitRow(below, sep))...)
		}
	}
	return out
}

// underHeadings reads a row of headings with the row of values below it.
func underHeadings(heads, values []string) []field {
	known := 0
	for _, h := range heads {
		if h == "" || !onlyLabel.MatchString(h) || len(h) > 40 {
			return nil
		}
		if knownLabels.MatchString(h) {
			known++
		}
	}
	if known == 0 || len(values) != len(heads) || len(heads) == 1 && (known == 0 || len(heads[0]) > 30) {
		return nil
	}
	var out []field
	for i, h := range heads {
		out = append(out, makeField(strings.TrimSuffix(h, ":"), values[i], true))
	}
	return out
}

func nextLine(lines []string, i int) string {
	for _, l := range lines[i+1:] {
		if !ruled.MatchString(l) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

func makeField(label, value string, made bool) field {
	label = strings.ToLower(strings.TrimSpace(strings.ReplaceAll(label, "_", " ")))
	return field{label, strings.Trim(strings.TrimSpace(value), `"',`), made}
}

// fieldAt is the label over the date iso, where a heading made the field.
func fieldAt(fields []field, iso string) string {
	for _, f := range fields {
		if !f.made {
			continue
		}
		for _, d := range findDates(f.value) {
			if d.iso == iso {
				return f.label
			}
		}
	}
	return ""
}

// lookup returns the value of the first field whose label matches.
func (d *document) lookup(label *regexp.Regexp, accept func(string) string) string {
	for _, f := range d.fields {
		if label.MatchString(f.label) {
			if v := accept(f.value); v != "" {
				return v
			}
		}
	}
	return ""
}
