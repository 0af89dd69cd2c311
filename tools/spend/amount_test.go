package spend

import (
	"math"
	"testing"
)

// No count is a refund, and no sum wraps around into one.
func TestAnAmountIsNeverARefund(t *testing.T) {
	for _, tc := range []struct {
		name      string
		got, want Amount
	}{
		{"a negative charge", Usage{Input: -5, Output: -5, Cost: -5}.amount(), Amount{Calls: 1}},
		{"a charge", Usage{Input: 5, Output: 6, Cost: 7}.amount(), Amount{Calls: 1, Tokens: 11, Money: 7}},
		{"a charge beyond measure", Usage{Input: math.MaxInt, Output: 1}.amount(), Amount{Calls: 1, Tokens: math.MaxInt64}},
		{"a sum", Amount{1, 2, 3}.plus(Amount{4, 5, 6}), Amount{5, 7, 9}},
		{"a sum beyond measure", Amount{math.MaxInt64, math.MaxInt64, math.MaxInt64 - 1}.plus(Amount{1, 1, 1}), Amount{math.MaxInt64, math.MaxInt64, math.MaxInt64}},
		{"more back than there is", Amount{1, 2, 3}.minus(Amount{2, 3, 4}), Amount{}},
	} {
		if tc.got != tc.want {
			t.Errorf("%s = %+v, want %+v", tc.name, tc.got, tc.want)
		}
	}
}
