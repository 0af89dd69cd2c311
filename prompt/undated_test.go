package prompt_test

import (
	"strings"
	"testing"

	"usher/caps"
	"usher/prompt"
)

func TestUndated(t *testing.T) {
	const alike = "Current date: 2026-11-20. Venue: acme."
	policy := []prompt.ContextEntry{{Label: "Policy", Text: "Be strict.\n\n" + alike}}
	for _, tc := range []struct {
		name string
		in   prompt.Input
	}{
		{"a date alone", prompt.Input{Caps: caps.Unrestricted()}},
		{"everything", prompt.Input{Identity: "You are Carol.", Venue: "acme", Model: "fast", Output: `{"type":"object"}`, Context: policy}},
		{"the identity has a sentence like it", prompt.Input{Identity: "You are Carol.\n\n" + alike, Venue: "acme"}},
		{"so has the context", prompt.Input{Identity: alike, Context: policy, Caps: caps.Unrestricted()}},
		{"a name with dots", prompt.Input{Identity: "x", Venue: "acme. Model: y. Inc.", Model: "z."}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			on := func(day string) string {
				in := tc.in
				in.Date = day
				return prompt.System(in)
			}
			one, other := prompt.Undated(on("2026-11-20")), prompt.Undated(on("2026-11-21"))
			if one != other {
				t.Errorf("the date is still there:\n%s\n\nand\n%s", one, other)
			}
			if again := prompt.Undated(one); again != one {
				t.Errorf("twice is not once:\n%s", again)
			}
			if got, want := strings.Replace(one, "any day", "2026-11-20", 1), on("2026-11-20"); got != want {
				t.Errorf("something else changed:\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestUndatedLeavesOtherText(t *testing.T) {
	for _, text := range []string{
		"", "Current date: today.", "Current date: 2026-11-20", "The Current date: 2026-11-20.", "Current date: 2026-11-20.\nand more",
		"Current date: 2026-11-20. Read it.", "[Context: Log]\nold\n\nCurrent date: 2026-11-20.",
	} {
		if got := prompt.Undated(text); got != text {
			t.Errorf("Undated(%q) = %q", text, got)
		}
	}
}
