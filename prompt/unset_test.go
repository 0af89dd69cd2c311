package prompt_test

import (
	"strings"
	"testing"

	"usher/caps"
	"usher/prompt"
)

func TestUnset(t *testing.T) {
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
			in := tc.in
			in.Date = "2026-11-20"
			system := prompt.System(in)
			one := prompt.Unset(system)
			for _, place := range [][3]string{{"2026-11-21", in.Venue, in.Model}, {in.Date, "b", in.Model}, {in.Date, in.Venue, "b"}, {"2027-01-01", "", ""}} {
				in.Date, in.Venue, in.Model = place[0], place[1], place[2]
				if other := prompt.Unset(prompt.System(in)); one != other {
					t.Errorf("the setting is still there:\n%s\n\nand\n%s", one, other)
				}
			}
			if again := prompt.Unset(one); again != one {
				t.Errorf("twice is not once:\n%s", again)
			}
			own := "Current date: 2026-11-20."
			for _, fact := range [][2]string{{"Venue", tc.in.Venue}, {"Model", tc.in.Model}} {
				if fact[1] != "" {
					own += " " + fact[0] + ": " + fact[1] + "."
				}
			}
			at := strings.LastIndex(one, "Any date, venue and model.")
			if at < 0 || one[:at]+own+one[at+len("Any date, venue and model."):] != system {
				t.Errorf("something else changed:\n%s\nof\n%s", one, system)
			}
		})
	}
}

func TestUnsetLeavesOtherText(t *testing.T) {
	for _, text := range []string{
		"", "Current date: today.", "Current date: 2026-11-20", "The Current date: 2026-11-20.", "Current date: 2026-11-20.\nand more",
		"Current date: 2026-11-20. Read it.", "[Context: Log]\nold\n\nCurrent date: 2026-11-20.",
	} {
		if got := prompt.Unset(text); got != text {
			t.Errorf("Unset(%q) = %q", text, got)
		}
	}
}
