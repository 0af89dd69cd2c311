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
	if len(fraction) > decimals {
		if strings.Trim(fraction[decimals:], "0") != "" {
			return 0, fmt.Errorf("number %q: give at most %d decimals", s, decimals)
		}
		fraction = fraction[:decimals]
	}
	w, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || w > maxWhole {
		return 0, fmt.Errorf("number %q: write it like 1234.56, up to %d", s, int64(maxWhole))
	}
	m := Money(w) * scale
	if fraction != "" {
		f, err := strconv.ParseUint(fraction+strings.Repeat("0", decimals-len(fraction)), 10, 63)
		if err != nil {
			return 0, fmt.Errorf("number %q: write it like 1234.56", s)
		}
		m += Money(f)
	}
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
	s := fmt.Sprintf("%s%d", sign, m/scale)
	if f := m % scale; f != 0 {
		s += "." + strings.TrimRight(fmt.Sprintf("%0*d", decimals, int64(f)), "0")
	}
	return s
}

// Grouped is for people: thousands apart, and two decimals where there are any.
func (m Money) Grouped() string {
	s := m.String()
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction == "" {
		return sign + whole
	}
	if len(fraction) == 1 {
		fraction += "0"
	}
	return sign + whole + "." + fraction
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
	if err != nil {
		return err
	}
	*m = v
	return nil
}

// times multiplies two numbers; ok is false where the product is out of range.
func (m Money) times(n Money) (product Money, ok bool) {
	f := float64(m) / scale * float64(n) / scale
	if f > maxWhole || f < -maxWhole {
		return 0, false
	}
	whole, rest := m/scale, m%scale
	return whole*n + rest*n/scale, true
}

// near reports whether two numbers differ by rounding at most.
func (m Money) near(n Money) bool {
	d := m - n
	return -scale/50 <= d && d <= scale/50
}
