package value

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Compare compares two numbers by their exact value: -1, 0 or 1. It takes time
// linear in their text, whatever their exponents. ok is false for what is no number,
// for one of more than 1024 bytes, and for an exponent of more than 18 digits.
func Compare(a, b json.Number) (c int, ok bool) {
	x, okX := parseDecimal(string(a))
	y, okY := parseDecimal(string(b))
	switch {
	case !okX || !okY:
		return 0, false
	case x.sign != y.sign:
		return order(x.sign < y.sign), true
	case x.sign == 0:
		return 0, true
	case x.exponent != y.exponent:
		return x.sign * order(x.exponent < y.exponent), true
	}
	return x.sign * strings.Compare(x.digits, y.digits), true
}

func order(less bool) int {
	if less {
		return -1
	}
	return 1
}

// IsInteger reports whether a number has no fraction.
func IsInteger(n json.Number) bool {
	d, ok := parseDecimal(string(n))
	return ok && d.exponent >= int64(len(d.digits))
}

// decimal is sign × 0.digits × 10^exponent. The digits begin and end with another
// than 0; zero has none.
type decimal struct {
	sign     int
	digits   string
	exponent int64
}

// Bounds of a number: its bytes, and the digits of its exponent, so that it fits with
// what the place of the point adds.
const (
	maxNumber   = 1 << 10
	maxExponent = 18
)

// parseDecimal reads a number of JSON.
func parseDecimal(text string) (d decimal, ok bool) {
	if len(text) > maxNumber {
		return d, false
	}
	rest, negative := strings.CutPrefix(text, "-")
	mantissa := rest
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		mantissa = rest[:i]
		power := strings.TrimPrefix(rest[i+1:], "+")
		if len(strings.TrimLeft(strings.TrimPrefix(power, "-"), "0")) > maxExponent {
			return d, false
		}
		var err error
		if d.exponent, err = strconv.ParseInt(power, 10, 64); err != nil {
			return d, false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if strings.Trim(whole, "0123456789") != "" || strings.Trim(fraction, "0123456789") != "" || whole == "" {
		return d, false
	}
	d.exponent += int64(len(whole))
	all := whole + fraction
	d.digits = strings.TrimLeft(all, "0")
	d.exponent -= int64(len(all) - len(d.digits))
	d.digits = strings.TrimRight(d.digits, "0")
	switch {
	case d.digits == "":
		return decimal{}, true
	case negative:
		d.sign = -1
	default:
		d.sign = 1
	}
	return d, true
}

// RoundAlike reports whether two numbers are the same to a reader who keeps them as
// float64.
func RoundAlike(a, b json.Number) bool {
	x, _ := strconv.ParseFloat(string(a), 64) // beyond the range it is infinite
	y, _ := strconv.ParseFloat(string(b), 64)
	return x == y
}
