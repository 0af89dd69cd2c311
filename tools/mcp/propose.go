package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps/value"
)

// Discovery is what a server says that it has.
type Discovery struct {
	Tools     []Tool
	Resources []string // URIs, and templates of them: the first 200 of each
	Prompts   []string // names: the first 200
}

// maxFound bounds how many resources and prompts are looked at.
const maxFound = 200

// Probe reaches a server once and returns what it has, without keeping anything of it.
func Probe(ctx context.Context, server Server, secret func(context.Context, string) (string, error)) (*Discovery, error) {
	found := new(Discovery)
	o := &Options{Secret: secret, Logger: slog.New(slog.DiscardHandler), Now: time.Now}
	l := newLink(server, o, func(_ context.Context, l *listing) error {
		found.Tools = l.tools
		return nil
	})
	live, err := l.connection(ctx)
	if err == nil {
		found.material(ctx, live)
	}
	l.close() // nothing is listed any more after it
	if said := l.said.list(); err != nil && len(said) > 0 {
		err = fmt.Errorf("%w\nIt said on its standard error:\n%s", err, strings.Join(said, "\n"))
	}
	return found, err
}

// material lists what is to be read of a server. What it does not list it does not have.
func (f *Discovery) material(ctx context.Context, live *session) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	about := live.InitializeResult()
	if about == nil || about.Capabilities == nil {
		return
	}
	if about.Capabilities.Resources != nil {
		f.Resources = append(first(live.Resources(ctx, nil), func(r *sdk.Resource) string { return r.URI }),
			first(live.ResourceTemplates(ctx, nil), func(r *sdk.ResourceTemplate) string { return r.URITemplate })...)
	}
	if about.Capabilities.Prompts != nil {
		f.Prompts = first(live.Prompts(ctx, nil), func(p *sdk.Prompt) string { return p.Name })
	}
}

// first are the names of what a server lists, of the first that it does.
func first[T any](all iter.Seq2[*T, error], name func(*T) string) (names []string) {
	for v, err := range all {
		if err != nil || len(names) == maxFound {
			break
		}
		names = append(names, name(v))
	}
	return names
}

var schemeForm = value.Form(`^([a-z][a-z0-9+.-]*)://(/?)`)

// ProposeMaterial guesses lines for what is to be read of a server: one for all resources of a
// scheme, and one for each prompt. Whoever configures the server has to read them.
func ProposeMaterial(s *Server, found *Discovery) (resources, prompts []Material) {
	for _, uri := range found.Resources {
		m := schemeForm().FindStringSubmatch(uri)
		if m == nil {
			continue
		}
		line := Material{Match: m[0] + "{path...}", Can: "crud/read", With: s.prefix() + m[1] + "/{path...}"}
		if !slices.Contains(resources, line) && line.Check() == nil {
			resources = append(resources, line)
		}
	}
	for _, name := range found.Prompts {
		if toolName().MatchString(name) {
			prompts = append(prompts, Material{Match: name, Can: "crud/read", With: s.prefix() + opPrompt + "/" + name})
		}
	}
	return resources, prompts
}

// Propose guesses lines for the tools of a server, of their names and the fields of their
// inputs: those that look as if they read or wrote files, or else invoke for each. Whoever
// configures the server has to read them.
func Propose(s *Server, listed []Tool) (lines []Line) {
	for i := range listed {
		t := &listed[i]
		if !toolName().MatchString(t.Name) {
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
