package endpoint

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestToolName(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"map_read", "map_read"},
		{"map:read", "map_read"},
		{"map:read:all", "map_read_all"},
		{"map.read", "map_read_1de77b0d"},
		{":map_read", "_map_read_bb6ff75a"},
		{"functions.x<|channel|>", "functions_x__channel___37895071"},
		{"wétter", "w_tter_36aa92c5"},
		{"", "_811c9dc5"},
		{strings.Repeat("x", 64), strings.Repeat("x", 64)},
		{strings.Repeat("x", 65), strings.Repeat("x", 55) + "_b42b1787"},
		{strings.Repeat("x", 200), strings.Repeat("x", 55) + "_b3e4b6e5"},
	} {
		if got := ToolName(tt.name, 64); got != tt.want {
			t.Errorf("ToolName(%q) = %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Servers take every name; one that they take stays; and names that differ stay
// different unless they name one operation.
func TestToolNameProperties(t *testing.T) {
	form := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-c:_.-]{0,6}`), rapid.StringMatching(`[ab]{60,70}`))
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		gotA, gotB := ToolName(a, 64), ToolName(b, 64)
		if !form.MatchString(gotA) || form.MatchString(a) && gotA != a {
			t.Fatalf("ToolName(%q) = %s", a, gotA)
		}
		operation := func(s string) string { return strings.ReplaceAll(s, ":", "_") }
		if gotA == gotB && a != b && operation(a) != operation(b) {
			t.Fatalf("%q and %q are both %s", a, b, gotA)
		}
	})
}
