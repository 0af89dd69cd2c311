package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/content"
	"usher/tools/fault"
	"usher/tools/schema"
)

func (e *entry) isLeftOut(tool string) bool { return slices.Contains(e.leftOut, tool) }

// make makes the operations of the server, of all that was accepted or listed.
func (e *entry) make() error {
	e.ops = make([]*tools.Operation, 0, len(e.record.Pins))
	for name, r := range e.server.readings() { // before the tools: none takes the name that models have for it
		op, err := e.material(name, &r)
		if err != nil {
			return fmt.Errorf("MCP server %s: %w", e.server.ID, err)
		}
		e.ops = append(e.ops, op)
	}
	for i := range e.record.Pins {
		pin := &e.record.Pins[i]
		if pin.Unfit != "" && !toolName().MatchString(pin.name()) {
			continue
		}
		op, err := e.operation(pin)
		if err != nil {
			return fmt.Errorf("MCP server %s: %w", e.server.ID, err)
		}
		e.ops = append(e.ops, op)
	}
	return nil
}

// operation is a tool as an operation.
func (e *entry) operation(pin *pin) (*tools.Operation, error) {
	name := pin.name()
	p, err := e.server.newPlan(name, e.root, e.rootErr)
	if err != nil {
		return nil, err
	}
	d := tools.Definition{
		Path: e.server.prefix() + name, Scopes: p.scopes(), Withdrawn: pin.state() != Usable,
		Description: "Tool of the MCP server " + e.server.ID + ".",
	}
	if t := pin.Accepted; t != nil {
		if t.Description != "" {
			d.Description += " It says of it, in its own words: " + t.Description
		}
		d.Schemas = func() (input, output *schema.Schema, err error) { return inputSchema(t.Input), resultSchema(), nil }
	}
	d.Prepare = func(input json.RawMessage) ([]caps.Request, func(context.Context, tools.Call) (any, error)) {
		needs, arguments := p.prepare(input)
		return needs, func(ctx context.Context, _ tools.Call) (any, error) {
			return e.call(ctx, name, pin.Accepted, arguments)
		}
	}
	return tools.Define(d), nil
}

// Declaration is what the configuration says of a tool alone, or of a reading: an operation that
// requires what the tool's would, and cannot run.
func (s *Server) Declaration(tool string) (*tools.Operation, error) {
	e := &entry{server: *s, rootErr: errors.New("no server is asked")}
	if r, ok := s.readings()[tool]; ok {
		return e.material(tool, &r)
	}
	if s.Root == "" {
		e.rootErr = nil
	}
	return e.operation(&pin{Accepted: &Tool{Name: tool}})
}

// declarations is what tools require, whatever they are called: an operation for each line, and
// one for tools without a line. None can run.
func (s *Server) declarations() (ops []*tools.Operation) {
	for _, line := range append(slices.Clip(s.Tools), Line{Can: "invoke"}) {
		var groups [][]caps.Scope
		for _, d := range line.demands() {
			if len(d.With) == 0 {
				groups = append(groups, []caps.Scope{caps.ScopeUnder(d.Can, strings.TrimSuffix(s.prefix(), "/"), 1, 1)})
			}
			for _, with := range d.With {
				if t, err := parseTemplate(with); err == nil { // Check has seen it
					groups = append(groups, []caps.Scope{t.scope(d.Can)})
				}
			}
		}
		ops = append(ops, tools.Define(tools.Definition{Path: s.prefix() + line.Match, Scopes: groups}))
	}
	return ops
}

// resultSchema is the schema of a result, whose content faces that know the form pass on.
var resultSchema = compile(`{"type":"object","required":["from"],"properties":{` +
	`"from":{"type":"string","description":"whose words these are"},` +
	`"content":{"type":"array","items":{"type":"object","` + content.Mark + `":true}},` +
	`"structured":{"description":"the result as a value"}}}`)

// inputSchema is the schema of an input; nil where it is none that is understood: then the
// server alone says what fits.
func inputSchema(doc json.RawMessage) *schema.Schema {
	if len(doc) == 0 {
		return nil
	}
	s, err := schema.Compile(context.Background(), doc, nil)
	if err != nil {
		return nil
	}
	return s
}

// call calls a tool as it was accepted, if the server still lists it so; nil was not.
func (e *entry) call(ctx context.Context, tool string, as *Tool, arguments json.RawMessage) (*result, error) {
	if e.link == nil {
		return nil, errClosed
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.of.opts.CallTime, errLate)
	defer cancel()
	live, err := e.link.connection(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.link.fresh(ctx, live); err != nil {
		return nil, fmt.Errorf("MCP server %s: %w", e.server.ID, err)
	}
	if err := e.usable(tool, as); err != nil {
		return nil, err
	}
	return e.link.call(ctx, live, e.server.prefix()+tool, tool, arguments)
}

// errLate: a server did not answer in time.
var errLate = fault.New(fault.Timeout, "the MCP server did not answer in time")

// usable says why a tool is not called that was accepted as it was: that was withdrawn
// since, or another one stands in its place.
func (e *entry) usable(tool string, as *Tool) error {
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	for i := range e.record.Pins {
		p := &e.record.Pins[i]
		if p.name() != tool {
			continue
		}
		state := p.state()
		if state == Usable && p.Accepted != as && !p.Accepted.equal(as) {
			state = Changed
		}
		at := e.server.prefix() + tool
		how := fmt.Sprintf(": a person can look at it by usher mcp inspect %s %s, and take it by usher mcp accept %s %s", e.server.ID, tool, e.server.ID, tool)
		switch state {
		case Added:
			return fault.New(fault.Refused, at+" is new, and nobody has accepted it"+how)
		case Changed:
			return fault.New(fault.Refused, at+" is not what was accepted any more"+how)
		case Gone:
			return fault.New(fault.NotFound, at+" is gone: the server lists it no more")
		case Unfit:
			return fault.New(fault.Refused, at+" cannot be used: "+p.Unfit)
		}
		return nil
	}
	return fault.New(fault.NotFound, e.server.prefix()+tool+" is gone: the server lists it no more")
}
