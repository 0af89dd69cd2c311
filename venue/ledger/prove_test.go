package ledger

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

// A program that knows nothing of this one verifies the proof of each row, and
// no proof of anything else.
func TestProofIsVerifiedByOthers(t *testing.T) {
	program := filepath.Join(t.TempDir(), "verifier")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./testdata/verifier").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{join .Deps \"\\n\"}}", "./testdata/verifier").Output(); err != nil || strings.Contains(string(out), "usher") {
		t.Fatalf("the verifier rests on %s, %v", out, err)
	}
	did := venueKey(t, 1).DID()
	key, err := note.NewEd25519VerifierKey(did.String(), did.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	run := func(proof string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, key)
		cmd.Stdin = strings.NewReader(proof)
		out, err := cmd.Output()
		return string(out), err
	}

	l, _ := fresh(t)
	for i := range 5 {
		call(t, l, i)
	}
	if _, err := l.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	call(t, l, 5)
	var rows []string
	for row, err := range l.follow(t.Context(), new(tree), l.end()) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, string(row))
	}
	for i, row := range rows { // the last two make a new checkpoint
		proof, err := l.Prove(t.Context(), uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := run(proof.Text()); err != nil || got != row+"\n" {
			t.Errorf("row %d: the verifier says %q, %v", i+1, got, err)
		}
	}
	proof, err := l.Prove(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*Proof){
		"another row":   func(p *Proof) { p.Row = rows[3] },
		"another index": func(p *Proof) { p.Index++ },
		"another path":  func(p *Proof) { p.Hashes[0][0] ^= 1 },
		"another note":  func(p *Proof) { p.Checkpoint = strings.Replace(p.Checkpoint, "\n12\n", "\n13\n", 1) },
	} {
		changed := proof
		changed.Hashes = append(changed.Hashes[:0:0], proof.Hashes...)
		change(&changed)
		if got, err := run(changed.Text()); err == nil {
			t.Errorf("%s: the verifier takes it for %q", what, got)
		}
	}
	for _, seq := range []uint64{0, 13, 1 << 62} {
		if p, err := l.Prove(t.Context(), seq); err == nil {
			t.Errorf("Prove(%d) = %+v", seq, p)
		}
	}
	if want := fmt.Sprintf("\nindex 2\n%s\n", proof.Hashes[0]); !strings.Contains(proof.Text(), want) {
		t.Errorf("the proof is %q", proof.Text())
	}
}
