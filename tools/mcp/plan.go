package mcp

import (
	"encoding/json"

	"usher/caps"
	"usher/caps/value"
)

// plan says what the calls of one tool require.
type plan struct {
	demands []demand
	root    *folder // nil where the server has none
	rootErr error   // why there should be one and is none
}

// demand is an ability on what a template stands for.
type demand struct {
	can string
	*template
}

// newPlan makes the plan of a tool of the server.
func (s *Server) newPlan(tool string, root *folder, rootErr error) (*plan, error) {
	p := &plan{root: root, rootErr: rootErr}
	for _, need := range s.needs(tool) {
		t, err := parseTemplate(need.With)
		if err != nil {
			return nil, err
		}
		p.demands = append(p.demands, demand{need.Can, t})
	}
	return p, nil
}

// scopes are where what calls require lies.
func (p *plan) scopes() (groups [][]caps.Scope) {
	for _, d := range p.demands {
		groups = append(groups, []caps.Scope{d.scope(d.can)})
	}
	return groups
}

// needs returns what a call with that input requires, and the arguments that are sent:
// the input, with the paths of files as they were resolved.
func (p *plan) needs(input json.RawMessage) (needs []caps.Request, arguments json.RawMessage, err error) {
	object, err := value.Object(input, value.MaxDepth)
	if err != nil {
		return nil, nil, err
	}
	changed := false
	for _, d := range p.demands {
		file := len(d.fields) > 0 && d.fields[len(d.fields)-1].file
		if file && p.rootErr != nil {
			return nil, nil, p.rootErr
		}
		pieces, err := d.fill(object, p.root)
		if err != nil {
			return nil, nil, err
		}
		changed = changed || file && p.root != nil
		for _, piece := range pieces {
			needs = append(needs, piece.need(d.can))
		}
	}
	if changed {
		return needs, value.Append(nil, object), nil
	}
	return needs, input, nil
}

// need is the requirement of a resource. One that nobody may have is denied, and not an
// error, so that it is told after what comes before it.
func (p piece) need(can string) caps.Request {
	if p.why != "" {
		return caps.Never(can, p.text, p.why)
	}
	return caps.Need(can, p.text)
}

// prepare is what an operation of the plan makes of an input.
func (p *plan) prepare(input json.RawMessage) ([]caps.Request, json.RawMessage) {
	needs, arguments, err := p.needs(input)
	if err != nil {
		return []caps.Request{caps.Invalid(err)}, nil
	}
	return needs, arguments
}
