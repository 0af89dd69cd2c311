package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"usher/venue"
	"usher/venue/cli"
	"usher/venue/config"
)

// command runs a command, which must end with a status, and returns what it
// prints.
func command(t *testing.T, want int, args ...string) string {
	t.Helper()
	got, out, notes := usher(t, "", args...)
	if got != want {
		t.Fatalf("usher %s: exit status %d, want %d: %s", strings.Join(args, " "), got, want, notes)
	}
	return out + notes
}

// A data folder that was put back to what it was neither verifies nor opens:
// the checkpoints outside say so, whatever was done inside.
func TestOlderDataFolderIsFound(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside")
	project := filepath.Join(dir, "shop")
	t.Chdir(dir)
	command(t, cli.ExitOK, "init", "shop")
	t.Chdir(project)
	conf, err := os.OpenFile("usher.yaml", os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conf.WriteString("\nledger: {checkpoints: [../outside]}\n"); err != nil {
		t.Fatal(err)
	}
	if err := conf.Close(); err != nil {
		t.Fatal(err)
	}
	command(t, cli.ExitOK, "run", "scribe", "write w/notes/a 1")
	old := filepath.Join(dir, "old")
	if err := os.CopyFS(old, os.DirFS(".usher")); err != nil {
		t.Fatal(err)
	}
	command(t, cli.ExitOK, "run", "scribe", "write w/notes/b 1")
	command(t, cli.ExitOK, "audit", "verify", "--checkpoint", outside)

	if err := os.RemoveAll(".usher"); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(".usher", os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(".usher", "venue.key"), 0o600); err != nil {
		t.Fatal(err)
	}
	const why = "it was rolled back or cut"
	for _, args := range [][]string{{"audit", "verify"}, {"run", "scribe", "write w/notes/c 1"}, {"audit", "export"}} {
		if got := command(t, cli.ExitFailed, args...); !strings.Contains(got, why) {
			t.Errorf("usher %q says %q, want that %s", args, got, why)
		}
	}
	if got := command(t, cli.ExitFailed, "audit", "list"); !strings.Contains(got, "w/notes/a") || !strings.Contains(got, why) {
		t.Errorf("what is left of it is not listed, with what is wrong: %s", got)
	}
	if got := command(t, cli.ExitFailed, "audit", "verify", "--json"); !strings.Contains(got, `"holds": false`) || !strings.Contains(got, why) {
		t.Errorf("verify --json prints %s", got)
	}
	if err := os.Remove(outside); err != nil {
		t.Fatal(err)
	}
	command(t, cli.ExitOK, "audit", "verify") // nothing is left that knows better
}

// What one command exports, another verifies with nothing but the venue's DID;
// what was changed in between is found.
func TestExportIsVerifiedByDID(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	run := func(want int, args ...string) string { t.Helper(); return command(t, want, args...) }
	run(cli.ExitOK, "init", ".")
	run(cli.ExitOK, "run", "scribe", "write w/notes/a 1")
	run(cli.ExitOK, "audit", "export", "--out", "rows.jsonl")
	var found struct {
		Venue        string
		Rows, Signed int
	}
	if err := json.Unmarshal([]byte(run(cli.ExitOK, "audit", "verify", "--json")), &found); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	raw, err := os.ReadFile("rows.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(elsewhere)
	changed := bytes.Replace(raw, []byte("w/notes/a"), []byte("w/notes/b"), 1)
	if bytes.Equal(raw, changed) {
		t.Fatal("the export does not name w/notes/a")
	}
	for name, text := range map[string][]byte{"rows.jsonl": raw, "changed.jsonl": changed} {
		if err := os.WriteFile(filepath.Join(elsewhere, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := run(cli.ExitOK, "audit", "verify", "--export", "rows.jsonl", "--venue", found.Venue); !strings.Contains(got, "signed by "+found.Venue) || found.Rows == 0 {
		t.Errorf("verify prints %s", got)
	}
	run(cli.ExitFailed, "audit", "verify", "--export", "changed.jsonl", "--venue", found.Venue)
	run(cli.ExitMisuse, "audit", "verify", "--export", "nowhere.jsonl", "--venue", found.Venue)
	t.Chdir(dir)
	run(cli.ExitOK, "audit", "verify", "--venue", found.Venue)
	run(cli.ExitFailed, "audit", "verify", "--venue", "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK")
}

// A ledger whose first rows were pruned holds, and every command says which rows
// these are.
func TestPrunedRowsAreTold(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	command(t, cli.ExitOK, "init", ".")
	kept := filepath.Join(t.TempDir(), "kept")
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		command(t, cli.ExitOK, "run", "scribe", "write w/notes/a "+n)
		if n == "1" {
			raw, err := os.ReadFile(filepath.Join(".usher", "ledger.checkpoints"))
			if err == nil {
				err = os.WriteFile(kept, raw, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	v, err := venue.Open(t.Context(), &venue.Options{Dir: ".usher", Retention: config.Retention{Rows: config.KeepLimit{Number: 10}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = v.Prune(t.Context())
	pruned, readErr := v.Ledger().PruneNote(t.Context())
	if err := errors.Join(err, readErr, v.Close()); err != nil || pruned.To == 0 {
		t.Fatal(err, pruned)
	}
	told := pruned.Error()
	for _, args := range [][]string{{"verify"}, {"verify", "--checkpoint", kept}, {"list"}, {"export", "--out", "rows.jsonl"}} {
		if got := command(t, cli.ExitOK, append([]string{"audit"}, args...)...); !strings.Contains(got, told) {
			t.Errorf("usher audit %q prints %s, want that %s", args, got, told)
		}
	}
	if got := command(t, cli.ExitOK, "audit", "list"); !strings.Contains(got, "rows pruned") || strings.Contains(got, "add --before") {
		t.Errorf("audit list prints %s", got)
	}
	if got := command(t, cli.ExitMisuse, "audit", "prove", "1"); !strings.Contains(got, told) {
		t.Errorf("audit prove 1 prints %s", got)
	}
	command(t, cli.ExitOK, "audit", "prove", fmt.Sprint(pruned.To+1))
	var found struct {
		Venue            string
		Pruned, PrunedBy uint64
	}
	if err := json.Unmarshal([]byte(command(t, cli.ExitOK, "audit", "verify", "--json")), &found); err != nil || found.Pruned != pruned.To || found.PrunedBy != pruned.Note {
		t.Errorf("audit verify --json says %+v, %v", found, err)
	}
	if got := command(t, cli.ExitOK, "audit", "verify", "--export", "rows.jsonl", "--venue", found.Venue, "--checkpoint", kept); !strings.Contains(got, told) {
		t.Errorf("of the export audit verify prints %s", got)
	}
}
