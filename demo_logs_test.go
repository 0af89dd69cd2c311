package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/venue"
	"usher/venue/cli"
)

var record = flag.Bool("record", false, "record the logs of the demonstrations anew")

// recorded are the logs of the demonstrations, which the streams of venue/agui are tested with.
const recorded = "venue/agui/testdata/demos/"

// ran says where a demonstration keeps its venues, and which users agents run for in them.
var ran = map[string]map[string][]string{
	"ap":         {"": {"accounts-payable"}},
	"delegation": {"": {"alice", "bob"}},
	"a2a":        {"": {"acme"}},
	"agentauth":  {"acme": {"owner"}},
}

// The logs that are recorded of each demonstration have the calls that its agents make. Where
// these are others now: go test . -run Recorded -record
func TestDemosAreRecorded(t *testing.T) {
	for name, demo := range program().Demos {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := demo(t.Context(), cli.DemoOptions{Dir: dir, Page: cli.NewPage(io.Discard, false), Notes: io.Discard}); err != nil {
				t.Fatal(err)
			}
			var list []runtime.Entry
			for folder, users := range ran[name] {
				for _, user := range users {
					list = append(list, logsOf(t, filepath.Join(dir, folder), user)...)
				}
			}
			slices.SortStableFunc(list, func(a, b runtime.Entry) int { return a.Time.Compare(b.Time) })
			file := recorded + name + ".jsonl"
			if *record {
				var out bytes.Buffer
				for i := range list {
					if err := json.NewEncoder(&out).Encode(&list[i]); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var before []runtime.Entry
			for line := range bytes.Lines(raw) {
				var e runtime.Entry
				if err := json.Unmarshal(line, &e); err != nil {
					t.Fatal(err)
				}
				before = append(before, e)
			}
			if diff := cmp.Diff(callsOf(before), callsOf(list)); diff != "" {
				t.Errorf("the agents' calls are not those of %s (-recorded +now):\n%s", file, diff)
			}
		})
	}
}

// logsOf are the logs of a user's runs in a data folder.
func logsOf(t *testing.T, dir, user string) (list []runtime.Entry) {
	t.Helper()
	v, err := venue.Open(t.Context(), &venue.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}()
	u, err := v.User(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	all, more, err := u.Runs(t.Context(), "", 500)
	if err != nil || more != "" || len(all) == 0 {
		t.Fatalf("%s has %d runs, and more %q: %v", user, len(all), more, err)
	}
	for i := range all {
		for e, err := range u.Events(t.Context(), all[i].ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, e)
		}
	}
	return list
}

// callsOf are the calls that agents made, each once, with how they came out.
func callsOf(list []runtime.Entry) []string {
	calls := make(map[string]bool)
	for i := range list {
		if ev, is := list[i].Event.(runtime.ToolEnd); is {
			calls[list[i].Agent+" "+ev.Name+" "+ev.Outcome] = true
		}
	}
	return slices.Sorted(maps.Keys(calls))
}
