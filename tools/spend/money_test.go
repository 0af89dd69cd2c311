package spend_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"usher/tools/spend"
)

func TestParseMoney(t *testing.T) {
	for _, tt := range []struct {
		text, print string
		want        spend.Money
	}{
		{"0", "0.00", 0},
		{"2", "2.00", 2_000_000},
		{"0.5", "0.50", 500_000},
		{"0.50", "0.50", 500_000},
		{"0.1", "0.10", 100_000},
		{"12.345600", "12.3456", 12_345_600},
		{"0.000001", "0.000001", 1},
		{"999999999999.999999", "999999999999.999999", 999_999_999_999_999_999},
		{"9223372036854.775807", "9223372036854.775807", math.MaxInt64},
	} {
		got, err := spend.ParseMoney(tt.text)
		if err != nil || got != tt.want || got.String() != tt.print {
			t.Errorf("ParseMoney(%q) = %d (%s), %v, want %d (%s)", tt.text, got, got, err, tt.want, tt.print)
		}
	}
	for text, want := range map[string]string{
		"": "is not an amount", ".5": "is not an amount", "1.": "is not an amount", "-1": "is not an amount", "+1": "is not an amount",
		"1e3": "is not an amount", "1,5": "is not an amount", "007": "is not an amount", "1.2.3": "is not an amount", " 1": "is not an amount",
		"٣": "is not an amount", `"1"`: "is not an amount", "null": "is not an amount",
		"0.0000001": "at most 6", "9223372036854.775808": "at most 12 digits",
	} {
		if got, err := spend.ParseMoney(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseMoney(%q) = %d, %v, want an error with %q", text, got, err, want)
		}
	}
	if got := spend.Money(math.MinInt64).String(); got != "-9223372036854.775808" {
		t.Errorf("the least amount prints as %s", got)
	}
}

func TestMoneyIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := spend.Money(rapid.Int64Range(0, 999_999_999_999_999_999).Draw(t, "micro"))
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got spend.Money
		if err := json.Unmarshal(raw, &got); err != nil || got != want {
			t.Errorf("%d came back from %s as %d, %v", want, raw, got, err)
		}
	})
}
