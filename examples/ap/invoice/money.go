package invoice

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Money is a number of an invoice in ten-thousandths: exact for every price
// and quantity with at most four decimals, up to 9e14.
type Money int64

const (
	scale    = 10_000
	decimals = 4
	maxWhole = 900_000_000_000_000
)

// ParseMoney reads a plain decimal number such as -1234.5.
func ParseMoney(s string) (Money, error) {
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > decimals {
		return 0, fmt.Errorf("number %q: give at most %d decimals", s, decimals)
	}
	w, err := strconv.ParseUint(whole, 10, 63)
	f, errFraction := strconv.ParseUint("0"+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 63)
	if err != nil || errFraction != nil || w > maxWhole {
		return 0, fmt.Errorf("number %q: write it like 1234.56, up to %d", s, int64(maxWhole))
	}
	m := Money(w)*scale + Money(f)
	if negative {
		m = -m
	}
	return m, nil
}

// String is the shortest plain decimal number, for example 1234.5.
func (m Money) String() string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%s%d.%0*d", sign, m/scale, decimals, int64(m%scale)), "0"), ".")
}

// Grouped is for people: thousands apart, and two decimals where there are any.
func (m Money) Grouped() string {
	digits, negative := strings.CutPrefix(m.String(), "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if negative {
		whole = "-" + whole
	}
	switch len(fraction) {
	case 0:
		return whole
	case 1:
		fraction += "0"
	}
	return whole + "." + fraction
}

// MarshalJSON writes a JSON number.
func (m Money) MarshalJSON() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalJSON reads a JSON number of any spelling, exponents included.
func (m *Money) UnmarshalJSON(data []byte) error {
	var n json.Number
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	s := n.String()
	if strings.ContainsAny(s, "eE") {
		f, err := n.Float64()
		if err != nil {
			return err
		}
		s = strconv.FormatFloat(f, 'f', decimals, 64)
	}
	v, err := ParseMoney(s)
	if err == nil {
		*m = v
	}
	return err
}
