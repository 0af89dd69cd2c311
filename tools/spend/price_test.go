package spend

import (
	"math"
	"testing"
)

func TestPriceOfUsage(t *testing.T) {
	price := Price{Input: 2_500_000, Output: 10_000_000, CacheRead: 250_000, CacheWrite: 3_125_000}
	for _, tc := range []struct {
		name  string
		price Price
		usage Usage
		want  int64
	}{
		{"nothing", price, Usage{}, 0},
		{"input and output", price, Usage{Input: 1000, Output: 100}, 3500},
		{"a part from the cache", price, Usage{Input: 1000, CacheRead: 800}, 200*25/10 + 200},
		{"a part into the cache", price, Usage{Input: 1000, CacheWrite: 800}, 200*25/10 + 2500},
		{"both, and all of it", price, Usage{Input: 1000, CacheRead: 600, CacheWrite: 400}, 150 + 1250},
		{"more from the cache than there is", price, Usage{Input: 1000, CacheRead: 1500, CacheWrite: 9}, 250},
		{"rounded up, once", Price{Input: 1, Output: 1, CacheRead: 1}, Usage{Input: 2, CacheRead: 1, Output: 1}, 1},
		{"negative counts are no refund", price, Usage{Input: -5, Output: -5, CacheRead: -5, CacheWrite: -5}, 0},
		{"negative prices are none", Price{Input: -1}, Usage{Input: 1_000_000}, 0},
		{"too much", Price{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64}, Usage{Input: math.MaxInt, Output: math.MaxInt, CacheRead: 9, CacheWrite: 9}, math.MaxInt64},
		{"just too much", Price{Input: 1 << 20 * 1_000_000}, Usage{Input: 1 << 44}, math.MaxInt64},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.price.Cost(tc.usage); got != tc.want {
				t.Errorf("cost = %d, want %d", got, tc.want)
			}
		})
	}
}
