package wrap

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"usher/runtime"
)

// Price is what a model's tokens cost, in micro-units of a currency for a
// million tokens: 2.50 a million is 2_500_000. Nothing is filled in: where a
// provider's cache costs what other input does, say so.
type Price struct{ Input, Output, CacheRead, CacheWrite int64 }

// cost is what u costs, in micro-units, rounded up once for all of it.
func (p Price) cost(u runtime.Usage) int64 {
	in := max(u.Input, 0) // a negative count would be a refund
	read := min(max(u.CacheRead, 0), in)
	written := min(max(u.CacheWrite, 0), in-read)
	var hi, lo uint64
	for _, part := range [...]struct {
		tokens int
		price  int64
	}{
		{in - read - written, p.Input}, {read, p.CacheRead}, {written, p.CacheWrite}, {max(u.Output, 0), p.Output},
	} {
		h, l := bits.Mul64(uint64(part.tokens), uint64(max(part.price, 0)))
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi += h + carry // four products of 63 bits each stay below 128
	}
	const million = 1_000_000
	lo, carry := bits.Add64(lo, million-1, 0)
	if hi += carry; hi >= million {
		return math.MaxInt64
	}
	n, _ := bits.Div64(hi, lo, million)
	return int64(min(n, math.MaxInt64))
}

// microPlaces are the decimal places that micro-units of a unit take.
const microPlaces = 6

// money prints micro-units as units, with at least two decimals.
func money(micro int64) string {
	text := fmt.Sprintf("%d.%06d", micro/1_000_000, micro%1_000_000)
	for strings.HasSuffix(text, "0") && text[len(text)-3] != '.' {
		text = text[:len(text)-1]
	}
	return text
}

// PriceError says that a budget which limits money has no price for a model.
// The call is refused: what cannot be counted cannot be bounded.
type PriceError struct {
	Budget string `json:"budget"`
	Model  string `json:"model"`
}

var _ runtime.Coded = (*PriceError)(nil)

func (e *PriceError) Error() string {
	return fmt.Sprintf("budget %q limits money, and model %q has no price: add price to the model", e.Budget, e.Model)
}

// Temporary is false.
func (e *PriceError) Temporary() bool { return false }

// Unasked is true.
func (e *PriceError) Unasked() bool { return true }

// Code is "no_price".
func (e *PriceError) Code() string { return "no_price" }
