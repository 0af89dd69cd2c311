package venue_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/store/journal"
	"usher/venue/venuetest"
)

// files are the files of a folder, with what they hold and when they were written.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var sum [sha256.Size]byte
		if !d.IsDir() {
			if sum, err = venuetest.Digest(path); err != nil {
				return err
			}
		}
		all[path] = fmt.Sprintf("%s %d %s %x", info.Mode(), info.Size(), info.ModTime(), sum)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// copyFolder copies a data folder as another process could that reads it.
func copyFolder(t *testing.T, dir, to string) {
	t.Helper()
	if err := venuetest.CopyFolder(dir, to); err != nil {
		t.Fatal(err)
	}
}

// A folder that a crash has left, with a turn that was cut in it, is read without a
// byte of it being written, with all that a venue can tell; what would write, or show
// a secret without a row of the ledger, is refused.
func TestReadOnly(t *testing.T) {
	live, dir := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	m := new(puppet)
	v := open(t, &venue.Options{Dir: live, Models: map[string]runtime.Model{"default": m}})
	alice := user(t, v, "alice")
	setSecret(t, alice, "KEY", "sk-hidden")
	carol := create(t, alice, spec("carol", "", ""))
	m.Ask("covia_write", `{"path":"w/a","value":1}`)
	m.Between(func() { copyFolder(t, live, dir) })
	chat(t, carol, "write it")

	before := files(t, dir)
	c := venuetest.Config(t, "name: other\nuser: alice\nagents: [{id: dave, caps: []}]\ndata: [{path: w/b, value: 1}]\n")
	o := &venue.Options{Dir: dir, ReadOnly: true, Config: c, Models: map[string]runtime.Model{"default": m}, Limits: config.Limits{}}
	r, err := venue.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	alice = user(t, r, "alice")
	list, err := alice.Agents(t.Context())
	if err != nil || len(list) != 1 || list[0].AgentID != "carol" {
		t.Errorf("agents: %v, %v", list, err)
	}
	carol = venuetest.Agent(t, alice, "carol")
	if _, err := carol.Brief(t.Context()); err != nil {
		t.Error(err)
	}
	if info := venuetest.Info(t, carol); info.Sessions != 1 {
		t.Errorf("carol has %d sessions", info.Sessions)
	}
	if heads, err := carol.Sessions(t.Context()); err != nil || len(heads) != 1 {
		t.Errorf("sessions: %v, %v", heads, err)
	}
	for _, err := range carol.History(t.Context(), "main") {
		if err != nil {
			t.Error(err)
		}
	}
	if list, _, err := alice.Runs(t.Context(), "", 10); err != nil || len(list) == 0 {
		t.Errorf("runs: %v, %v", list, err)
	}
	rows := 0
	for _, err := range r.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
	}
	if rows == 0 {
		t.Error("no row of the ledger")
	}
	if report, err := r.Ledger().Export(t.Context(), new(strings.Builder)); err != nil || report.Rows != uint64(rows) {
		t.Errorf("export: %+v, %v", report, err)
	}
	if got := read(t, alice, "w/a"); !strings.Contains(got, `"value":1`) {
		t.Errorf("w/a is %s", got)
	}
	if got := invoke(t, alice, "secret:list", `{}`); !strings.Contains(got, "KEY") {
		t.Errorf("secrets: %s", got)
	}
	for _, call := range [][2]string{
		{"covia:write", `{"path":"w/c","value":1}`},
		{"agent:create", `{"agentId":"eve","config":{}}`},
		{"agent:suspend", `{"agentId":"carol"}`},
		{"secret:set", `{"name":"B","value":"1"}`},
		{"secret:extract", `{"name":"KEY"}`},
		{"grid:run", `{"operation":"covia:read","input":{"path":"w/a"}}`},
	} {
		if out, err := alice.Invoke(t.Context(), call[0], json.RawMessage(call[1])); !errors.Is(err, journal.ErrReadOnly) {
			t.Errorf("%s: %s, %v; want %v", call[0], out, err, journal.ErrReadOnly)
		}
	}
	if _, err := venuetest.Answer(t.Context(), carol, "hello"); err == nil {
		t.Error("a turn was begun")
	}
	if _, err := r.User(t.Context(), "nobody"); !errors.Is(err, journal.ErrReadOnly) {
		t.Errorf("a user was made: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("the folder was written to (-before +after):\n%s", diff)
	}
}

// Reading a folder that a process writes needs no lock, and sees what was
// acknowledged before.
func TestReadOnlyBeside(t *testing.T) {
	dir := t.TempDir()
	v := open(t, &venue.Options{Dir: dir})
	alice := user(t, v, "alice")
	for n := range 20 {
		invoke(t, alice, "covia:write", fmt.Sprintf(`{"path":"w/n","value":%d}`, n))
		r, err := venue.Open(t.Context(), &venue.Options{Dir: dir, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := read(t, user(t, r, "alice"), "w/n"), fmt.Sprintf(`"value":%d`, n); !strings.Contains(got, want) {
			t.Errorf("w/n is %s, want %s", got, want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What is no venue does not become one.
func TestReadOnlyNeedsAVenue(t *testing.T) {
	empty := t.TempDir()
	stored := t.TempDir()
	j, err := journal.Open(stored, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ dir, want string }{
		"in memory":    {"", "ReadOnly needs Dir"},
		"empty":        {empty, "there is no data folder"},
		"a bare store": {stored, "it holds no venue"},
	} {
		t.Run(name, func(t *testing.T) {
			if v, err := venue.Open(t.Context(), &venue.Options{Dir: tt.dir, ReadOnly: true}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open = %v, %v; want %q", v, err, tt.want)
			}
		})
	}
	if left := files(t, empty); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// A store that was mended says so to whoever opened it, and in the ledger.
func TestRepairsAreTold(t *testing.T) {
	dir := t.TempDir()
	v, err := venue.Open(t.Context(), &venue.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	user(t, v, "alice")
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "index")); err != nil {
		t.Fatal(err)
	}
	var told []string
	v, err = venue.Open(t.Context(), &venue.Options{Dir: dir, Told: func(text string) { told = append(told, text) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || !strings.Contains(told[0], "the index is missing") {
		t.Errorf("told: %q", told)
	}
	v = open(t, &venue.Options{Dir: dir})
	var notes []string
	for row, err := range v.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Note != "" {
			notes = append(notes, row.Note+string(row.Detail))
		}
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "the store was repaired") || !strings.Contains(notes[0], "the index is missing") {
		t.Errorf("notes of the ledger: %q", notes)
	}
}
