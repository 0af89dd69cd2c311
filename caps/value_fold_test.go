package caps_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"usher/caps/value"
)

// Names are folded to one text exactly when they are equal by comparison.
func TestFoldTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.SampledFrom([]rune("kK\u212asS\u017f\u00e5\u00c5\u212b\ufffd1\u03c3\u03c2\u03a3\u0130\u0131iI")), 1, 3, -1)
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		if got, want := value.Fold(a) == value.Fold(b), strings.EqualFold(a, b); got != want {
			t.Fatalf("Fold(%q) == Fold(%q) is %t, want %t", a, b, got, want)
		}
	})
}
