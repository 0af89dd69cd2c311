package care

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/venue"
	"usher/venue/store"
	"usher/venue/store/journal"
	"usher/venue/venuetest"
)

// elsewhere is what an export has otherwise, or leaves out, as it is the venue's.
var elsewhere = []string{
	"w/", "t/", "l/row/", // read in their own way
	"k/venue", "k/gone/", "l/head", "v/clock", "r/open/", "r/wait/", "e/due/", "e/past/", "e/count/",
}

// Quick is a lock whose passphrase takes no time.
func (l Lock) Quick() Lock {
	l.work = 4
	return l
}

// Everything that is a user's is in an export, and no key or secret.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	m := new(venuetest.Model)
	v, err := venue.Open(t.Context(), &venue.Options{Dir: dir, Models: map[string]runtime.Model{"default": m}, Config: venuetest.Config(t, "user: alice\ndata: [{path: w/configured, value: 1}]\n")})
	if err != nil {
		t.Fatal(err)
	}
	alice, bob := venuetest.User(t, v, "alice"), venuetest.User(t, v, "bob")
	many := make(map[string]any)
	vector := make([]any, 200)
	for n := range vector {
		many[fmt.Sprint(n)] = strings.Repeat("<&> ", 20)
		vector[n] = fmt.Sprint(n) + strings.Repeat("-", 80)
	}
	for path, value := range map[string]any{"w/a/b": 1, "w/list": []any{1, "two", nil}, "w/many": many, "w/vector": vector, "w/empty": map[string]any{}} {
		if _, err := alice.Invoke(t.Context(), "covia:write", map[string]any{"path": path, "value": value}); err != nil {
			t.Fatal(err)
		}
	}
	venuetest.Invoke(t, alice, "secret:set", `{"name":"KEY","value":"sk-hidden"}`)
	carol := venuetest.Create(t, alice, venuetest.Spec("carol", "", ""))
	m.Usage = &runtime.Usage{}
	m.Ask("covia_read", `{"path":"w/a/b"}`)
	venuetest.Chat(t, carol, "say <something>")
	venuetest.Invoke(t, alice, "scheduler:schedule", `{"operation":"covia:read","input":{"path":"w/a"},"cron":"0 9 * * *","name":"daily"}`)
	venuetest.Invoke(t, alice, "grid:run", `{"operation":"covia:read","input":{"path":"w/a"}}`)
	for range 2 {
		raw := venuetest.Invoke(t, alice, "ucan:delegate", `{"audience":"`+bob.DID().String()+`","capabilities":[{"with":"w/","can":"crud/read"}]}`)
		var made struct{ Tokens []struct{ CID string } }
		if err := json.Unmarshal([]byte(raw), &made); err != nil {
			t.Fatal(err)
		}
		if len(made.Tokens) == 1 {
			venuetest.Invoke(t, alice, "ucan:revoke", `{"cid":"`+made.Tokens[0].CID+`"}`)
		}
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer
	counts, err := Export(t.Context(), dir, &out)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "sk-hidden") || strings.Contains(out.String(), `"box"`) {
		t.Error("a secret or a key is in the export")
	}
	seen, values, rows := make(map[string]int), make(map[string]string), uint64(0)
	for s := bufio.NewScanner(&out); s.Scan(); {
		var l line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", s.Bytes(), err)
		}
		seen[l.Kind]++
		if l.Kind == "value" && l.Owner == alice.DID().String() {
			values[l.Path] = string(l.Value)
		}
		if l.Kind == "ledger" {
			var row struct{ Seq uint64 }
			if err := json.Unmarshal(l.Value, &row); err != nil || row.Seq != rows+1 {
				t.Errorf("row %s after row %d", l.Value, rows)
			}
			rows = row.Seq
		}
	}
	if diff := cmp.Diff(counts, seen); diff != "" {
		t.Errorf("counts (-told +written):\n%s", diff)
	}
	for _, kind := range []string{"venue", "user", "agent", "value", "session", "event", "run", "schedule", "token", "revocation", "applied", "secret", "ledger", "checkpoint"} {
		if seen[kind] == 0 {
			t.Errorf("there is no line of kind %s: %v", kind, slices.Sorted(maps.Keys(seen)))
		}
	}
	for path, want := range map[string]string{"w/a": `{"b":1}`, "w/configured": "1", "w/vector": "[]", "w/vector/7": `"7` + strings.Repeat("-", 80) + `"`, "w/list": `[1,"two",null]`, "w/many/7": `"` + strings.Repeat("<&> ", 20) + `"`} {
		got := values[path]
		if path == "w/a" && got == `{}` { // a collection of its own
			got = `{"b":` + values["w/a/b"] + `}`
		}
		if got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}

	// No part of the store is forgotten.
	if err := readFolder(dir, func(j *journal.Journal) error {
		for row, err := range store.Rows(t.Context(), j, "", "") {
			if err != nil {
				return err
			}
			has := func(prefix string) bool { return strings.HasPrefix(row.Key, prefix) }
			if !slices.ContainsFunc(elsewhere, has) && !slices.ContainsFunc(kinds, func(k kind) bool { return has(k.prefix) }) {
				t.Errorf("%q is not exported", row.Key)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
