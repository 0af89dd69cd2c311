package invoice

import (
	"regexp"
	"strings"
)

// columns says which column of a table holds what; -1 is none.
type columns struct{ text, quantity, price, amount int }

var (
	textHead     = regexp.MustCompile(`(?i)^(?:description|item(?:s| description)?|product|service|details?|particulars|article|goods|work|bezeichnung|beschreibung|leistung|position|artikel|désignation|description|descripción|concepto|omschrijving|activity|task|line item)\b`)
	quantityHead = regexp.MustCompile(`(?i)^(?:qty|quantity|units?|hours|hrs|days|no\. of|count|menge|anzahl|std|quantité|qté|cantidad|aantal|pcs)\b\.?(?: |$)`)
	priceHead    = regexp.MustCompile(`(?i)^(?:(?:unit|each|hourly|daily)[ -]?(?:price|cost|rate)|price|rate|cost|each|einzelpreis|preis|e-preis|prix(?: unitaire)?|pu\b|precio|prijs)|^unit[ -](?:price|cost)|price/unit`)
	amountHead   = regexp.MustCompile(`(?i)^(?:amount|total|line total|ext(?:ended|\.)?(?: price)?|sum|net amount|value|gesamt(?:preis)?|betrag|summe|montant|importe|bedrag)\b`)
)

func headings(row []string) (columns, bool) {
	c := columns{-1, -1, -1, -1}
	for i, h := range row {
		h = strings.TrimSpace(h)
		switch {
		case c.price < 0 && priceHead.MatchString(h):
			c.price = i
		case c.quantity < 0 && quantityHead.MatchString(h):
			c.quantity = i
		case c.text < 0 && textHead.MatchString(h):
			c.text = i
		case amountHead.MatchString(h):
			c.amount = i
		}
	}
	return c, c.text >= 0 && (c.amount >= 0 || c.price >= 0 && c.quantity >= 0)
}

// splitRow splits at column breaks, or at separators where the text is a file
// of separated values.
func splitRow(line string, sep string) []string {
	if sep == "" {
		return cells(line)
	}
	parts := strings.Split(line, sep)
	for i, p := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(p), `"`)
	}
	return parts
}

// tableRows reads the rows below the headings of a table.
func (d *document) tableRows() []Line {
	lines := strings.Split(d.masked, "\n")
	for i, l := range lines {
		for _, sep := range []string{"", ";", ","} {
			cols, ok := headings(splitRow(l, sep))
			if !ok {
				continue
			}
			if out := d.rowsUnder(lines[i+1:], cols, len(splitRow(l, sep)), sep); len(out) > 0 {
				return out
			}
		}
	}
	return nil
}

func (d *document) rowsUnder(lines []string, cols columns, width int, sep string) []Line {
	var out []Line
	for _, l := range lines {
		if ruled.MatchString(l) {
			continue
		}
		if sumLine.MatchString(l) && !strings.Contains(l, "@") {
			if r := splitRow(l, sep); len(r) < width || sumLine.MatchString(strings.Join(r[:min(2, len(r))], " ")) {
				break
			}
		}
		row := splitRow(l, sep)
		if len(row) != width {
			if item, ok := d.looseRow(l); ok {
				out = append(out, item)
				continue
			}
			break
		}
		item := Line{
			Description: description(row[cols.text]),
			Quantity:    d.cell(row, cols.quantity), UnitPrice: d.cell(row, cols.price), Amount: d.cell(row, cols.amount),
		}
		if item.Description == "" || item.Amount == nil && item.UnitPrice == nil {
			break
		}
		if item.Amount == nil && item.Quantity != nil {
			if v, ok := item.Quantity.times(*item.UnitPrice); ok {
				item.Amount = &v
			}
		}
		out = append(out, item)
	}
	return out
}

func (d *document) cell(row []string, i int) *Money {
	if i < 0 || i >= len(row) {
		return nil
	}
	for _, a := range d.style.amounts(row[i]) {
		return &a.value
	}
	return nil
}

// looseRow reads "Office chairs 12 650.00 7,800.00": a text and numbers of
// which two multiply to the third.
func (d *document) looseRow(line string) (Line, bool) {
	nums := d.style.amounts(line)
	if len(nums) < 3 {
		return Line{}, false
	}
	tail := nums[len(nums)-3:]
	q, p, a := tail[0], tail[1], tail[2]
	product, ok := q.value.times(p.value)
	gaps := line[q.end:p.start] + line[p.end:a.start] + line[a.end:]
	if !ok || !product.near(a.value) || a.value <= 0 || strings.IndexFunc(gaps, isLetterOrDigit) >= 0 && !smallUnits.MatchString(strings.TrimSpace(gaps)) {
		return Line{}, false
	}
	desc := description(numbering.ReplaceAllString(line[:q.start], ""))
	if desc == "" {
		return Line{}, false
	}
	return Line{Description: desc, Quantity: &q.value, UnitPrice: &p.value, Amount: &a.value}, true
}

var (
	numbering  = regexp.MustCompile(`^[ \t|]*\d{1,3}[.)]?[ \t|]+`)
	smallUnits = regexp.MustCompile(`(?i)^[\s|=@×x*]*(?:pcs?|m|m2|km|kg|l|t|h|hrs?|hours?|units?|days?|ea|each|std|stk)?[\s|.=@×x*]*$`)
)
