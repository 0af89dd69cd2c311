package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"usher/caps/value"
)

// Tool is a tool as its server describes it.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`  // JSON Schema
	Output      json.RawMessage `json:"output,omitempty"` // JSON Schema
	Hints       json.RawMessage `json:"hints,omitempty"`  // readOnlyHint and the like: shown, and never believed
}

// hash is a digest of all that the server says of the tool.
func (t *Tool) hash() string {
	raw, _ := json.Marshal(t) // texts, and JSON that was read
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

func (t *Tool) equal(other *Tool) bool {
	return t != nil && other != nil && t.hash() == other.hash()
}

// States of a tool.
const (
	Usable  = "usable"
	Added   = "new"     // listed since, and not accepted
	Changed = "changed" // from what was accepted
	Gone    = "gone"    // from the server's listing
	Unfit   = "unfit"   // for its name, or since another of the same name is listed
)

// pin is what is kept of a tool.
type pin struct {
	Accepted *Tool  `json:"accepted,omitempty"` // nil for one that is new
	Listed   *Tool  `json:"listed,omitempty"`   // where it differs from what was accepted
	Gone     bool   `json:"gone,omitempty"`
	Unfit    string `json:"unfit,omitempty"` // why it can never be used; empty where it can
}

func (p *pin) name() string {
	if p.Accepted != nil {
		return p.Accepted.Name
	}
	return p.Listed.Name
}

// state is one of the states of a tool.
func (p *pin) state() string {
	switch {
	case p.Unfit != "":
		return Unfit
	case p.Gone:
		return Gone
	case p.Accepted == nil:
		return Added
	case p.Listed != nil:
		return Changed
	}
	return Usable
}

// Record is what is kept of a server: the zero value is one that was never listed.
type Record struct {
	Origin       string `json:"origin"`            // digest of how it is reached
	Name         string `json:"name,omitempty"`    // as it calls itself
	Version      string `json:"version,omitempty"` // of it, as it says
	Instructions string `json:"instructions,omitempty"`
	Pins         []pin  `json:"pins"` // sorted by name
}

// Keeper keeps the records of the servers of one user.
type Keeper interface {
	// Load returns the record of a server, or the zero Record.
	Load(ctx context.Context, server string) (Record, error)
	// Save keeps the record in place of what was before.
	Save(ctx context.Context, server string, r Record) error
}

// toolName is the form of the names that a tool may have: one segment of a path, and
// nothing that anybody has to guess at.
var toolName = value.Form(`^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$`)

// digest tells servers apart by how they are reached: one that is configured in another
// way is another server.
func (s *Server) digest() string {
	raw, _ := json.Marshal([]any{s.Command, s.URL}) // texts
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// listing is what a server says of itself.
type listing struct {
	name, version, instructions string
	tools                       []Tool
}

// after returns the record once the server has answered with l: of the first listing
// every tool is accepted, and later none whose like was not.
func (r Record) after(origin string, l *listing) Record {
	first := r.Origin != origin
	if first {
		r.Pins = nil
	}
	out := Record{Origin: origin, Name: l.name, Version: l.version, Instructions: l.instructions}
	listed := map[string]*pin{}
	short := map[string]string{}
	for i := range l.tools {
		t := &l.tools[i]
		pin := &pin{Listed: t}
		models := strings.ReplaceAll(t.Name, ".", "_") // as models are told the name
		switch before := listed[t.Name]; {
		case before != nil && !before.Listed.equal(t):
			before.Unfit = "the server lists two different tools of this name"
			continue
		case before != nil:
			continue
		case !toolName().MatchString(t.Name):
			pin.Unfit = "its name is none of 1 to 128 letters, digits, _ - and ."
		case short[models] != "":
			pin.Unfit = fmt.Sprintf("models could not tell it from %s", short[models])
		}
		listed[t.Name], short[models] = pin, t.Name
	}
	for i := range r.Pins {
		was := r.Pins[i]
		if was.Accepted == nil {
			continue
		}
		now := listed[was.name()]
		switch {
		case now == nil:
			now = &pin{Accepted: was.Accepted, Gone: true}
			listed[was.name()] = now
		case now.Listed.equal(was.Accepted):
			now.Accepted, now.Listed = was.Accepted, nil
		default:
			now.Accepted = was.Accepted
		}
	}
	for _, pin := range listed {
		if first && pin.Unfit == "" {
			pin.Accepted, pin.Listed = pin.Listed, nil
		}
		out.Pins = append(out.Pins, *pin)
	}
	slices.SortFunc(out.Pins, func(a, b pin) int { return strings.Compare(a.name(), b.name()) })
	return out
}

// accept takes a tool, or all where it is "", as the server lists it now, and returns
// the names of those that are others by that. Where seen is not nil, only those whose
// digest was seen are taken: "" is that of one that is gone.
func (r Record) accept(tool string, seen map[string]string) (Record, []string) {
	var names []string
	var pins []pin
	for _, pin := range r.Pins {
		if (tool == "" || pin.name() == tool) && pin.wasSeen(seen) {
			switch pin.state() {
			case Gone:
				names = append(names, pin.name())
				continue
			case Added, Changed:
				pin.Accepted, pin.Listed = pin.Listed, nil
				names = append(names, pin.name())
			}
		}
		pins = append(pins, pin)
	}
	r.Pins = pins
	return r, names
}

func (p *pin) wasSeen(seen map[string]string) bool {
	hash, known := seen[p.name()]
	listed := ""
	if p.Listed != nil {
		listed = p.Listed.hash()
	}
	return seen == nil || known && hash == listed
}
