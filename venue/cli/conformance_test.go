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

// TestConformance runs the cases of COG-13 through `caps check --batch`: our own,
// and where they are at hand, those that are shared with other venues.
func TestConformance(t *testing.T) {
	const own, shared = "testdata/capability.jsonl", "../../../shared/conformance/cog13/capability.jsonl"
	if ran, missing := conform(t, own); ran < 100 || missing > 0 {
		t.Errorf("%d of our own cases ran, and %d are about operations that do not exist", ran, missing)
	}
	if _, err := os.Stat(shared); err == nil {
		if ran, _ := conform(t, shared); ran < 40 {
			t.Errorf("only %d of the shared cases ran", ran)
		}
	}
}

// conform runs a file of cases, but for those that are about operations which
// this venue does not have.
func conform(t *testing.T, file string) (ran, missing int) {
	t.Helper()
	in, err := os.ReadFile(file)
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
	status, out, notes := usher(t, "", "caps", "check", "--batch", file)
	if status != cli.ExitOK {
		t.Fatalf("exit status %d: %s", status, notes)
	}
	answers := bufio.NewScanner(strings.NewReader(out))
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
		if !known[want.Operation] && want.Expect != "invalid" {
			missing++
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
	return ran, missing
}
