package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/form"
	"usher/tools/schema"
)

// Material says what reading some resources, or one prompt, requires. What no line matches is
// not read at all.
type Material struct {
	_     struct{} `noun:"a line of material" required:"match,can,with" example:"{'match': 'docs://{name}', 'can': 'crud/read', 'with': 'docs/{name}'}"`
	Match string   `json:"match" example:"docs://{name}" jsonschema:"Of resources, a URI, in which {field} stands for a text without a slash, and {field...} at its end for one with slashes. Of prompts, the name of one."`
	Can   string   `json:"can" example:"crud/read" jsonschema:"The ability."`
	With  string   `json:"with" example:"docs/{name}" jsonschema:"The resource of the capability: {field} stands for a field of match, or, of prompts, for an argument."`
}

// Check says what is wrong with the line itself.
func (m *Material) Check() error {
	if m.Match == "" {
		return form.In("match", errors.New("this matches nothing: write a URI, or the name of a prompt"))
	}
	d := requirement{Can: m.Can, With: templates{m.With}}
	return d.Check()
}

// The operations that read material, below the path of a server: no tool has two segments.
const (
	opResource = "resources/read"
	opPrompt   = "prompts/get"
)

// reading is an operation that reads material.
type reading struct {
	lines  []Material
	schema func() *schema.Schema
	about  string
	plan   func(s *Server, lines []Material) (prepareFunc, error)
	read   func(ctx context.Context, live *session, input map[string]any) ([]sdk.Content, error)
}

// prepareFunc returns what an input requires.
type prepareFunc func(input map[string]any) ([]caps.Request, error)

// readings are those of a server, by their paths: none of what it has no lines for.
func (s *Server) readings() map[string]reading {
	all := map[string]reading{
		opResource: {s.Resources, uriSchema, "Read a resource of the MCP server " + s.ID + ", by its URI.", planResources, readResource},
		opPrompt:   {s.Prompts, promptSchema, "Get a prompt of the MCP server " + s.ID + ", by its name.", planPrompts, getPrompt},
	}
	for name, r := range all {
		if len(r.lines) == 0 {
			delete(all, name)
		}
	}
	return all
}

// Readings are the names of those operations that read material of the server, for which it
// has lines.
func (s *Server) Readings() []string { return slices.Sorted(maps.Keys(s.readings())) }

// material makes one of the readings of the server.
func (e *entry) material(name string, r *reading) (*tools.Operation, error) {
	needs, err := r.plan(&e.server, r.lines)
	if err != nil {
		return nil, err
	}
	var scopes []caps.Scope
	for i := range r.lines {
		t, err := parseTemplate(r.lines[i].With)
		if err != nil {
			return nil, err
		}
		scopes = append(scopes, t.scope(r.lines[i].Can))
	}
	d := tools.Definition{Path: e.server.prefix() + name, Description: r.about, Scopes: [][]caps.Scope{scopes}}
	d.Schemas = func() (input, output *schema.Schema, err error) { return r.schema(), resultSchema(), nil }
	d.Prepare = func(raw json.RawMessage) ([]caps.Request, func(context.Context, tools.Call) (any, error)) {
		input, err := value.Object(raw, value.MaxDepth)
		var list []caps.Request
		if err == nil {
			list, err = needs(input)
		}
		if err != nil {
			return []caps.Request{caps.Invalid(err)}, nil
		}
		return list, func(ctx context.Context, _ tools.Call) (any, error) { return e.read(ctx, d.Path, r, input) }
	}
	return tools.Define(d), nil
}

// read has the server answer a reading.
func (e *entry) read(ctx context.Context, operation string, r *reading, input map[string]any) (*result, error) {
	if e.link == nil {
		return nil, errClosed
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.of.opts.CallTime, errLate)
	defer cancel()
	live, err := e.link.connection(ctx)
	if err != nil {
		return nil, err
	}
	content, err := r.read(ctx, live, input)
	if err != nil {
		return nil, e.link.failure(ctx, live, operation, err)
	}
	return e.link.result(live, &sdk.CallToolResult{Content: content})
}

func compile(doc string) func() *schema.Schema {
	return sync.OnceValue(func() *schema.Schema {
		s, err := schema.Compile(context.Background(), json.RawMessage(doc), nil)
		if err != nil {
			panic(err) // it is made of what is compiled in, and tests make it
		}
		return s
	})
}

var (
	uriSchema    = compile(`{"type":"object","required":["uri"],"additionalProperties":false,"properties":{"uri":{"type":"string","description":"URI of the resource"}}}`)
	promptSchema = compile(`{"type":"object","required":["name"],"additionalProperties":false,"properties":{"name":{"type":"string","description":"name of the prompt"},"arguments":{"type":"object","additionalProperties":{"type":"string"}}}}`)
)

// address matches the URIs of a line.
type address struct {
	*regexp.Regexp
	can string
	*template
}

// parseAddress reads the URI of a line. A field of it is never what a server could read in
// another way than its capability says: no escapes, no query, no blanks, and no slash in the
// middle.
func parseAddress(m *Material) (*address, error) {
	t, err := parseTemplate(m.With)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	at := 0
	b.WriteString("^")
	for _, f := range fieldForm().FindAllStringSubmatchIndex(m.Match, -1) {
		name, many := m.Match[f[2]:f[3]], f[4] >= 0
		if strings.ContainsAny(name, ".$-") || at > 0 && at == f[0] || many && f[1] != len(m.Match) {
			return nil, fmt.Errorf("%s: {%s} cannot stand there: give fields names of letters, digits and _, a text between two of them, and {name...} at the end", m.Match, name)
		}
		b.WriteString(regexp.QuoteMeta(m.Match[at:f[0]]) + "(?P<" + name + ">")
		if many {
			b.WriteString(`[^%?#\\\x00-\x20\x7f]+)`)
		} else {
			b.WriteString(`[^%?#\\/\x00-\x20\x7f]+)`)
		}
		at = f[1]
	}
	if strings.ContainsAny(m.Match[at:], "{}") {
		return nil, fmt.Errorf("%s: a brace of it belongs to no field", m.Match)
	}
	b.WriteString(regexp.QuoteMeta(m.Match[at:]) + "$")
	re, err := regexp.Compile(b.String())
	if err != nil { // a name that stands twice
		return nil, fmt.Errorf("%s: %w", m.Match, err)
	}
	for _, f := range t.fields {
		if len(f.keys) != 1 || !slices.Contains(re.SubexpNames(), f.keys[0]) {
			return nil, fmt.Errorf("%s: {%s} is no field of %s", m.With, &f, m.Match)
		}
	}
	return &address{re, m.Can, t}, nil
}

func planResources(s *Server, lines []Material) (prepareFunc, error) {
	list := make([]*address, len(lines))
	for i := range lines {
		var err error
		if list[i], err = parseAddress(&lines[i]); err != nil {
			return nil, err
		}
	}
	return func(input map[string]any) ([]caps.Request, error) {
		uri, _ := input["uri"].(string)
		if uri == "" || len(uri) > maxPath {
			return nil, errors.New("uri is missing, or no URI: give that of the resource")
		}
		for _, a := range list {
			found := a.FindStringSubmatch(uri)
			if found == nil {
				continue
			}
			fields := map[string]any{}
			for i, name := range a.SubexpNames() {
				if name == "" {
					continue
				}
				if _, err := caps.ParseResource("f/" + found[i]); err != nil { // ".." leads out of what the others say
					return nil, fmt.Errorf("%s of uri: %w", name, err)
				}
				fields[name] = found[i]
			}
			return a.needs(a.can, fields)
		}
		return nil, fmt.Errorf("no line under resources of the MCP server %s is about %s", s.ID, value.Quote(uri))
	}, nil
}

// needs is what a line of material requires with its fields.
func (t *template) needs(can string, fields map[string]any) (needs []caps.Request, err error) {
	pieces, err := t.fill(fields, nil)
	for _, piece := range pieces {
		needs = append(needs, piece.need(can))
	}
	return needs, err
}

func planPrompts(s *Server, lines []Material) (prepareFunc, error) {
	byName := make(map[string]demand, len(lines))
	for i := range lines {
		t, err := parseTemplate(lines[i].With)
		if err != nil {
			return nil, err
		}
		if _, twice := byName[lines[i].Match]; !twice {
			byName[lines[i].Match] = demand{lines[i].Can, t}
		}
	}
	return func(input map[string]any) ([]caps.Request, error) {
		name, _ := input["name"].(string)
		d, known := byName[name]
		if !known {
			return nil, fmt.Errorf("no line under prompts of the MCP server %s is about %s", s.ID, value.Quote(name))
		}
		arguments, _ := input["arguments"].(map[string]any)
		return d.needs(d.can, arguments)
	}, nil
}

func readResource(ctx context.Context, live *session, input map[string]any) (list []sdk.Content, err error) {
	uri, _ := input["uri"].(string)
	res, err := live.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, err
	}
	for _, c := range res.Contents {
		if c != nil {
			list = append(list, &sdk.EmbeddedResource{Resource: c})
		}
	}
	return list, nil
}

func getPrompt(ctx context.Context, live *session, input map[string]any) (list []sdk.Content, err error) {
	params := &sdk.GetPromptParams{Arguments: map[string]string{}}
	params.Name, _ = input["name"].(string)
	arguments, _ := input["arguments"].(map[string]any)
	for name, text := range arguments {
		params.Arguments[name], _ = text.(string) // the schema has seen it
	}
	res, err := live.GetPrompt(ctx, params)
	if err != nil {
		return nil, err
	}
	for _, m := range res.Messages {
		if m != nil && m.Content != nil {
			list = append(list, m.Content)
		}
	}
	return list, nil
}

// errFiles: whoever reads a resource is not bounded by a root.
var errFiles = fault.New(fault.InvalidInput, "resources are read by their URIs, and no path of them is resolved below root: give with a name of its own, such as docs/{name}")

// checkMaterial says what is wrong with the lines of material.
func (s *Server) checkMaterial() error {
	for i := range s.Resources {
		m := &s.Resources[i]
		if err := m.Check(); err != nil {
			return form.In("resources", err)
		}
		if s.Root != "" && strings.HasPrefix(m.With, fileScheme) && strings.Contains(m.With, "{") {
			return form.In("resources", form.In("with", errFiles))
		}
		if _, err := parseAddress(m); err != nil {
			return form.In("resources", form.In("match", err))
		}
	}
	for i := range s.Prompts {
		if err := s.Prompts[i].Check(); err != nil {
			return form.In("prompts", err)
		}
	}
	return nil
}
