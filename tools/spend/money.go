package spend

import (
	"fmt"
	"strconv"
	"strings"
)

// Money is an amount of money in millionths of its unit: 0.50 is 500,000. In
// JSON it is a decimal number, read digit by digit and so exactly.
type Money int64

const (
	moneyPlaces = 6
	moneyUnit   = 1_000_000
)

// ParseMoney reads an amount such as 0.50: digits, and at most six decimal
// places.
func ParseMoney(text string) (Money, error) {
	whole, fraction, point := strings.Cut(text, ".")
	switch {
	case !digits(whole) || point && !digits(fraction) || len(whole) > 1 && whole[0] == '0':
		return 0, fmt.Errorf("%q is not an amount of money: write it in decimal digits, for example 0.50", text)
	case len(fraction) > moneyPlaces:
		return 0, fmt.Errorf("%s has %d decimal places: write at most %d", text, len(fraction), moneyPlaces)
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", moneyPlaces-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is more money than can be counted: write at most 12 digits before the point", text)
	}
	return Money(n), nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// String is the amount with at least two decimal places.
func (m Money) String() string {
	var room [32]byte
	return string(m.append(room[:0]))
}

func (m Money) append(b []byte) []byte {
	n := uint64(m)
	if m < 0 {
		b, n = append(b, '-'), -n
	}
	b = append(strconv.AppendUint(b, n/moneyUnit, 10), '.')
	for place, rest := uint64(moneyUnit/10), n%moneyUnit; place >= moneyUnit/100 || rest > 0; place /= 10 {
		b, rest = append(b, byte('0'+rest/place)), rest%place
	}
	return b
}

// MarshalJSON writes the amount as a number.
func (m Money) MarshalJSON() ([]byte, error) { return m.append(nil), nil }

// UnmarshalJSON reads what [ParseMoney] reads.
func (m *Money) UnmarshalJSON(data []byte) (err error) {
	*m, err = ParseMoney(string(data))
	return err
}
