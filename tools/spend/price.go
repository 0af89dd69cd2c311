package spend

import (
	"math"
	"math/bits"
)

// Price is what a million tokens of a model cost. Nothing is filled in: where a
// provider's cache costs what other input does, say so.
type Price struct{ Input, Output, CacheRead, CacheWrite Money }

// Cost is what u costs, in millionths, rounded up once for all of it.
func (p Price) Cost(u Usage) int64 {
	in := max(u.Input, 0) // a negative count would be a refund
	read := min(max(u.CacheRead, 0), in)
	written := min(max(u.CacheWrite, 0), in-read)
	var hi, lo uint64
	for _, part := range [...]struct {
		tokens int
		price  Money
	}{
		{in - read - written, p.Input}, {read, p.CacheRead}, {written, p.CacheWrite}, {max(u.Output, 0), p.Output},
	} {
		h, l := bits.Mul64(uint64(part.tokens), uint64(max(part.price, 0)))
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi += h + carry // four products of 63 bits each stay below 128
	}
	lo, carry := bits.Add64(lo, moneyUnit-1, 0)
	if hi += carry; hi >= moneyUnit {
		return math.MaxInt64
	}
	n, _ := bits.Div64(hi, lo, moneyUnit)
	return int64(min(n, math.MaxInt64))
}
