package cli

import "testing"

func TestPut(t *testing.T) {
	const before = "mcp:\n  - id: other\n    tools:\n      - {match: a}\n  - id: files # mine\n    command: [x]\n"
	for name, tt := range map[string]struct{ text, want string }{
		"after the last item":      {before + "    tools:\n      # first\n      - {match: b}\n      # last\n\nagents: []\n", before + "    tools:\n      # first\n      - {match: b}\n      - NEW\n      # last\n\nagents: []\n"},
		"items further in":         {before + "    tools:\n        - match: b\n          can: c\nagents: []\n", before + "    tools:\n        - match: b\n          can: c\n        - NEW\nagents: []\n"},
		"an empty list":            {before + "    tools: []\n", before + "    tools:\n      - NEW\n"},
		"no list":                  {"mcp:\n  - id: files\n    command: [x]\nagents: []", "mcp:\n  - id: files\n    tools:\n      - NEW\n    command: [x]\nagents: []"},
		"another section's entry":  {"mcp:\n  - id: other\nagents:\n  - id: files\n", ""},
		"a section in brackets":    {"mcp: [{id: files}]\n", ""},
		"no section":               {"agents: []\n", ""},
		"an entry within brackets": {"mcp:\n  - {id: files}\n", ""},
	} {
		got, ok := put(tt.text, "mcp", "files", "tools", []string{"NEW"})
		if ok != (tt.want != "") || ok && got != tt.want || !ok && got != tt.text {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, ok, got, tt.want)
		}
	}
}
