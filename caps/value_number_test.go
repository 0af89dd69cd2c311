package caps_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"usher/caps/value"
)

func TestCompareIsExact(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"1", "1.0", 0},
		{"1", "1e0", 0},
		{"100", "1E+2", 0},
		{"0.001", "1e-3", 0},
		{"0", "-0.0e9", 0},
		{"9007199254740993", "9007199254740992", 1},
		{"0.1", "0.1000000000000000000000001", -1},
		{"-2", "-10", 1},
		{"-1", "1", -1},
		{"0", "-1", 1},
		{"1e999999999", "2", 1},
		{"1e999999999", "9e999999998", 1},
		{"-1e999999999", "-2", -1},
		{"1e-999999999", "0", 1},
		{"12", "120e-1", 0},
		{"1e000000000000000000000000002", "100", 0},
	} {
		if got, ok := value.Compare(json.Number(tc.a), json.Number(tc.b)); got != tc.want || !ok {
			t.Errorf("Compare(%s, %s) = %d, %v, want %d", tc.a, tc.b, got, ok, tc.want)
		}
		if got, ok := value.Compare(json.Number(tc.b), json.Number(tc.a)); got != -tc.want || !ok {
			t.Errorf("Compare(%s, %s) = %d, %v, want %d", tc.b, tc.a, got, ok, -tc.want)
		}
	}
	for _, bad := range []string{"", "-", "x", "1e", "1e9999999999999999999", "0x1", ".5", "1_0", "NaN", strings.Repeat("1", 1025)} {
		if _, ok := value.Compare(json.Number(bad), "1"); ok {
			t.Errorf("Compare(%q, 1) is ok", bad)
		}
	}
	for n, want := range map[string]bool{"1": true, "10e-1": true, "1.5": false, "1e-1": false, "0": true, "0.0": true, "1e400": true} {
		if got := value.IsInteger(json.Number(n)); got != want {
			t.Errorf("IsInteger(%s) = %v, want %v", n, got, want)
		}
	}
}

// The slow way is that of fractions.
func TestCompareAgreesWithFractions(t *testing.T) {
	number := rapid.Custom(func(t *rapid.T) json.Number {
		text := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") + fmt.Sprint(rapid.IntRange(0, 2000).Draw(t, "whole"))
		if rapid.Bool().Draw(t, "point") {
			text += "." + strings.Repeat("0", rapid.IntRange(0, 3).Draw(t, "zeros")) + fmt.Sprint(rapid.IntRange(0, 200).Draw(t, "fraction"))
		}
		if rapid.Bool().Draw(t, "power") {
			text += fmt.Sprintf("e%d", rapid.IntRange(-4, 4).Draw(t, "exponent"))
		}
		return json.Number(text)
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, _ := new(big.Rat).SetString(string(a))
		y, _ := new(big.Rat).SetString(string(b))
		if got, ok := value.Compare(a, b); !ok || got != x.Cmp(y) {
			t.Fatalf("Compare(%s, %s) = %d, %v, want %d", a, b, got, ok, x.Cmp(y))
		}
		if value.IsInteger(a) != x.IsInt() {
			t.Fatalf("IsInteger(%s) = %v", a, !x.IsInt())
		}
	})
}
