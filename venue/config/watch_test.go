package config_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/venue/config"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What changes in the files of a configuration is looked at: also where an editor puts
// another in the place of one, or where a file was missing.
func TestWatch(t *testing.T) {
	const agent = "agents:\n  - {id: clerk, prompt_file: prompts/clerk, caps: []}\n"
	for _, tt := range []struct {
		name   string
		folder bool // it is a folder of files
		change func(t *testing.T, dir string)
	}{
		{"a file is written", false, func(t *testing.T, dir string) { write(t, filepath.Join(dir, "usher.yaml"), agent+"name: b\n") }},
		{"a file is replaced", false, func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "next"), agent+"name: b\n")
			if err := os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "usher.yaml")); err != nil {
				t.Fatal(err)
			}
		}},
		{"a file that it names", false, func(t *testing.T, dir string) { write(t, filepath.Join(dir, "prompts", "clerk"), "Other.") }},
		{"a file comes", true, func(t *testing.T, dir string) { write(t, filepath.Join(dir, "more.yaml"), "name: b\n") }},
		{"a file goes", true, func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "usher.yaml")); err != nil {
				t.Fatal(err)
			}
		}},
		{"a file that it names goes", false, func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "prompts")); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "usher.yaml"), agent)
			write(t, filepath.Join(dir, "prompts", "clerk"), "You work.")
			path := filepath.Join(dir, "usher.yaml")
			if tt.folder {
				path = dir
			}
			looks := watch(t, path)
			first := <-looks
			if first.Err != nil || len(first.Files) != 2 {
				t.Fatalf("at first: %v, read from %q", first.Err, first.Files)
			}
			tt.change(t, dir)
			// The first look may be under way while the change is made: then the next shows it.
			for next := range looks {
				if next.Err != nil || len(config.Changes(first.Config, next.Config)) > 0 {
					return
				}
			}
		})
	}
}

// watch sends what each look at the configuration at path finds.
func watch(t *testing.T, path string) <-chan config.Reading {
	t.Helper()
	looks := make(chan config.Reading)
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		err := config.Watch(ctx, path, func() []string {
			read := config.Read(path)
			select {
			case looks <- read:
			case <-ctx.Done():
			}
			return read.Files
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); watching.Wait() })
	return looks
}

// A file that is named is read as soon as it is there, though the folders that it lies
// in come before it.
func TestWatchFoldersThatCome(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "usher.yaml")
	write(t, path, "agents:\n  - {id: clerk, prompt_file: prompts/a/b/clerk, caps: []}\n")
	looks := watch(t, path)
	if first := <-looks; first.Err == nil {
		t.Fatal("the configuration is read without its file")
	}
	for _, folder := range []string{"prompts", "prompts/a", "prompts/a/b"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		<-looks
	}
	write(t, filepath.Join(dir, "prompts", "a", "b", "clerk"), "You work.")
	for next := range looks {
		if next.Err == nil {
			return
		}
	}
}

// A configuration that names a file where none can be is a fault of it, and is watched until that is mended.
func TestWatchImpossibleFiles(t *testing.T) {
	for name, file := range map[string]string{
		"below a file":             "usher.yaml/a/b",
		"a prompt, not its file":   strings.Repeat("You approve payments, and ", 12) + "/or refuse them.",
		"a folder nobody may read": "closed/a/b",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "usher.yaml")
			if err := os.Mkdir(filepath.Join(dir, "closed"), 0); err != nil {
				t.Fatal(err)
			}
			write(t, path, "agents:\n  - {id: clerk, prompt_file: '"+file+"', caps: []}\n")
			looks := watch(t, path)
			if first := <-looks; first.Err == nil {
				t.Fatal("the configuration is read without its file")
			}
			write(t, path, "agents:\n  - {id: clerk, prompt: You work., caps: []}\n")
			for next := range looks {
				if next.Err == nil {
					return
				}
			}
		})
	}
}

// A configuration with a fault still says where its data lies.
func TestReadOfAFaultyConfiguration(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"store: data\nagnts: []\n":  filepath.Join(dir, "data"),
		"agnts: []\n":               filepath.Join(dir, ".usher"),
		"store: memory\nagnts: 1\n": "",
	} {
		file := filepath.Join(dir, "usher.yaml")
		write(t, file, text)
		if got := config.Read(file); got.Err == nil || got.Config != nil || got.StoreDir != want {
			t.Errorf("Read(%q) is of %q with %v, want %q", text, got.StoreDir, got.Err, want)
		}
	}
}

func TestChanges(t *testing.T) {
	parse := func(text string) *config.Config {
		c, err := config.Parse("usher.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const old = `name: a
models: {default: {provider: offline}, other: {provider: offline, window: 10}}
data: [{path: w/a, value: 1}, {path: w/b, value: 2}]
agents: [{id: clerk, caps: []}, {id: gone, caps: []}]
orchestrations: [{id: p, steps: [{op: covia:list}]}]
`
	const new = `name: b
limits: {model_calls: 3}
models: {default: {provider: offline}, other: {provider: offline, window: 20}}
data: [{path: w/a, value: 1}, {path: w/b, value: 3}]
agents: [{id: late, caps: []}, {id: clerk, caps: [{with: w/, can: crud}]}]
orchestrations: [{id: p, steps: [{op: covia:list}]}]
`
	want := []config.Change{
		{"name", "changed", true},
		{"limits", "changed", true},
		{"model other", "changed", false},
		{"data w/b", "changed", false},
		{"agent late", "added", false},
		{"agent clerk", "changed", false},
		{"agent gone", "removed", false},
	}
	if diff := cmp.Diff(want, config.Changes(parse(old), parse(new))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if list := config.Changes(parse(old), parse("# a note\n"+old)); len(list) > 0 {
		t.Errorf("a note changes %v", list)
	}
}
