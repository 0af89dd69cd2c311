package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Probe reaches a server once and returns its tools, without keeping anything of it.
func Probe(ctx context.Context, server Server, secret func(context.Context, string) (string, error)) ([]Tool, error) {
	var listed []Tool
	said := new(lastWords)
	o := &Options{Secret: secret, Logger: slog.New(said), Now: time.Now}
	l := newLink(server, o, func(_ context.Context, l *listing) error {
		listed = l.tools
		return nil
	})
	_, err := l.connected(ctx)
	l.Close() // nothing is listed any more after it
	if words := said.text(); err != nil && words != "" {
		err = fmt.Errorf("%w\nIt said on its standard error:\n%s", err, words)
	}
	return listed, err
}

// lastWords keeps the last lines that a server wrote on its standard error.
type lastWords struct {
	mu    sync.Mutex
	lines []string
}

var _ slog.Handler = (*lastWords)(nil)

// maxWords is how many lines are kept.
const maxWords = 10

func (*lastWords) Enabled(context.Context, slog.Level) bool { return true }
func (w *lastWords) WithAttrs([]slog.Attr) slog.Handler     { return w }
func (w *lastWords) WithGroup(string) slog.Handler          { return w }

func (w *lastWords) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == lineKey {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.lines = append(w.lines[max(0, len(w.lines)-maxWords+1):], a.Value.String())
		}
		return true
	})
	return nil
}

func (w *lastWords) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines, "\n")
}

// Propose guesses lines for the tools of a server, of their names and the fields of their
// inputs: those that look as if they read or wrote files, or else invoke for each. Whoever
// configures the server has to read them.
func Propose(s *Server, listed []Tool) (lines []Line) {
	for i := range listed {
		t := &listed[i]
		if !toolName.MatchString(t.Name) {
			continue
		}
		with := fileFields(t.Input)
		if len(with) == 0 || s.Root == "" && !strings.Contains(t.Name, "file") && !strings.Contains(t.Name, "dir") {
			continue
		}
		line := Line{Match: t.Name, Can: guess(t)}
		for _, name := range with {
			line.With = append(line.With, fileScheme+s.ID+"/{"+name+"}")
		}
		lines = append(lines, line)
	}
	return lines
}

// fileFields are the fields of an input that look like paths of files.
func fileFields(doc json.RawMessage) (names []string) {
	var s struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(doc, &s) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if kind, _ := s.Properties[name].Type.(string); kind != "string" && kind != "array" {
			continue
		}
		switch name {
		case "path", "paths", "source", "destination", "file", "file_path", "filename", "directory":
			names = append(names, name)
		}
	}
	return names
}

// guess is the ability that a tool's name suggests. The widest is for what suggests none.
func guess(t *Tool) string {
	first, _, _ := strings.Cut(strings.ToLower(t.Name), "_")
	switch first {
	case "read", "get", "list", "search", "find", "directory", "show":
		return "crud/read"
	case "write", "edit", "create", "append", "update":
		return "crud/write"
	case "delete", "remove":
		return "crud/delete"
	}
	return "crud"
}
