package ap

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// money is a number of an invoice in ten-thousandths: exact for every price and
// quantity with at most four decimals.
type money int64

const (
	scale    = 10_000
	maxMoney = 100_000_000_000 // below it a float64 has the four decimals
)

// parseMoney reads a plain decimal number such as -1234.5.
func parseMoney(s string) (money, error) {
	f, err := strconv.ParseFloat(s, 64)
	m := math.Round(f * scale)
	if err != nil || !(math.Abs(f) <= maxMoney) || m/scale != f {
		return 0, fmt.Errorf("number %q: write it like 1234.56, with at most 4 decimals", s)
	}
	return money(m), nil
}

// MarshalJSON writes a JSON number.
func (m money) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(m)/scale, 'f', -1, 64), nil
}

// UnmarshalJSON reads a JSON number; null changes nothing.
func (m *money) UnmarshalJSON(raw []byte) (err error) {
	if string(raw) != "null" {
		*m, err = parseMoney(string(raw))
	}
	return err
}

// String is for people: thousands apart, and two decimals where there are any.
func (m money) String() string {
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(math.Abs(float64(m)/scale), 'f', -1, 64), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if m < 0 {
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
