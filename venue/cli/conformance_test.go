package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"usher/venue"
	"usher/venue/cli"
)

// TestConformance runs the shared cases of COG-13 through `caps check --batch`.
// Operations that this venue does not have yet are skipped, and counted.
func TestConformance(t *testing.T) {
	const file = "../../../shared/conformance/cog13/capability.jsonl"
	in, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		t.Skip("the shared conformance data is not beside this checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	catalogue, err := venue.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, op := range catalogue.All() {
		known[op.Path()] = true
	}
	var out bytes.Buffer
	program := &cli.Program{Stdout: &out, Stderr: os.Stderr}
	if status := program.Run(t.Context(), []string{"caps", "check", "--batch", file}); status != cli.ExitOK {
		t.Fatalf("exit status %d", status)
	}
	answers := bufio.NewScanner(&out)
	ran, skipped := 0, 0
	for line := range bytes.Lines(in) {
		var want struct {
			ID        string
			Name      string
			Operation string
			Expect    string
			Contains  []string `json:"message_contains"`
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() {
			t.Fatalf("no answer to %s", want.ID)
		}
		if !known[want.Operation] {
			skipped++
			continue
		}
		ran++
		var got struct{ ID, Decision, Message string }
		if err := json.Unmarshal(answers.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.ID != want.ID || got.Decision != want.Expect {
			t.Errorf("%s (%s): %s %s, want %s", want.ID, want.Name, got.Decision, got.Message, want.Expect)
		}
		for _, part := range want.Contains {
			if !strings.Contains(got.Message, part) {
				t.Errorf("%s (%s): message %q lacks %q", want.ID, want.Name, got.Message, part)
			}
		}
	}
	if ran < 40 {
		t.Errorf("only %d lines ran", ran)
	}
	t.Logf("%d lines agree, %d are about operations that do not exist yet", ran, skipped)
}
