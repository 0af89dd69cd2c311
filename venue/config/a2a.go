package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"usher/caps"
	"usher/caps/value"
	"usher/tools/agentauth"
	"usher/tools/agents"
	"usher/tools/form"
)

// A2A says what agents elsewhere are told of this venue, by the Agent2Agent protocol.
type A2A struct {
	_      struct{} `noun:"the a2a section" example:"{'url': 'https://venue.example.org', 'agents': ['documents']}"`
	URL    string   `json:"url,omitempty" example:"https://venue.example.org" pattern:"^https?://" jsonschema:"Where the venue is reached from outside, without a path: agent cards name it, and are signed. Default: as each request names it, in cards without a signature."`
	Agents []string `json:"agents,omitempty" noun:"an agent" each:"its id" example:"['documents']" jsonschema:"Agents that everybody is told of, by the public card. Default: none; who may ask an agent sees it in the extended card."`

	PrivatePushes  []string `json:"private_pushes,omitempty" noun:"a host" each:"its name" example:"['clients.internal:8443']" jsonschema:"Hosts that callers may have told of tasks, by push notifications, although their address is private or they speak plain HTTP: each with its port where that is not the scheme's. Default: none."`
	PrivateServers []string `json:"private_servers,omitempty" noun:"a server" each:"its host" example:"['agents.internal:8443']" jsonschema:"Servers elsewhere that agents of this venue may reach by a2a:* although their address is private or they speak plain HTTP: each a host, with its port where that is not the scheme's. Default: none."`

	Phase   int     `json:"phase,omitempty" example:"1" jsonschema:"How far callers are on the way to capabilities. 1: they use them, or say that they do not. 2: they may leave them out. 3: an agent that a grant names does nothing without. Default: 1."`
	Ambient string  `json:"ambient_until,omitempty" example:"2027-06-30T00:00:00Z" jsonschema:"Until when phases 1 and 2 last: from then on it is 3. Default: until phase says so."`
	Grants  []Grant `json:"grants,omitempty" example:"[{'id': 'documents:read', 'with': 'w/docs', 'operations': {'retrieve': 'crud/read'}}]" jsonschema:"What callers can ask capabilities of, for one task."`
	Skills  []Skill `json:"skills,omitempty" example:"[{'id': 'retrieve_document', 'operation': 'retrieve', 'op': 'covia:read', 'handle': 'path'}]" jsonschema:"What is done with a capability."`
}

// Grant is a template of capabilities.
type Grant struct {
	_           struct{}          `noun:"a grant" required:"id,with,operations" example:"{'id': 'documents:read', 'with': 'w/docs', 'operations': {'retrieve': 'crud/read'}}"`
	ID          string            `json:"id" example:"documents:read" pattern:"^[a-z0-9][a-z0-9:_-]{0,63}$" jsonschema:"Its name."`
	Description string            `json:"description,omitempty" example:"Read documents." jsonschema:"What it is for, as callers are told."`
	With        string            `json:"with" example:"w/docs" jsonschema:"What it is on: things below are what handles are of. Callers are not told."`
	Operations  map[string]string `json:"operations" noun:"operation" want:"abilities by the operations' names" example:"{'retrieve': 'crud/read'}" jsonschema:"What it allows: each operation with the ability that it needs."`
	Name        string            `json:"name,omitempty" example:"title" jsonschema:"Field of a thing that callers are told as its name. Default: they are numbered."`
	Agent       string            `json:"agent,omitempty" example:"documents" jsonschema:"The agent that does it: its capabilities bound what is done. Default: the caller's alone do."`
	Requires    []string          `json:"requires,omitempty" noun:"a grant" each:"its id" example:"['documents:read']" jsonschema:"Grants that are needed beside it."`
	Attenuable  *bool             `json:"attenuable,omitempty" example:"true" jsonschema:"Whether narrower ones can be made of it. Default: true."`
	Legacy      bool              `json:"legacy,omitempty" example:"true" jsonschema:"It stands before something that knows no capabilities; it is not attenuable. Default: false."`
}

// IsAttenuable reports whether narrower capabilities can be made of the grant's.
func (g *Grant) IsAttenuable() bool { return !g.Legacy && (g.Attenuable == nil || *g.Attenuable) }

// Skill is what is done with a capability.
type Skill struct {
	_           struct{} `noun:"a skill" required:"id,operation,op,handle" example:"{'id': 'retrieve_document', 'operation': 'retrieve', 'op': 'covia:read', 'handle': 'path'}"`
	ID          string   `json:"id" example:"retrieve_document" pattern:"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$" jsonschema:"Its name."`
	Description string   `json:"description,omitempty" example:"Retrieve a document." jsonschema:"What it does, as callers are told."`
	Operation   string   `json:"operation" example:"retrieve" jsonschema:"The operation of a grant that it needs."`
	Op          string   `json:"op" example:"covia:read" jsonschema:"The operation of the venue that it is."`
	Handle      string   `json:"handle" example:"path" jsonschema:"The field of op's input that takes what the handle is of."`
	Child       string   `json:"child,omitempty" example:"name" jsonschema:"For a skill that makes something new: the argument with its name. The handle is that of a collection."`
	Result      string   `json:"result,omitempty" example:"value" jsonschema:"The field of op's output that callers get. Default: all of it."`
}

var (
	grantName     = value.Form(`^[a-z0-9][a-z0-9:_-]{0,63}$`)
	operationName = value.Form(`^([a-z0-9][a-z0-9_-]{0,63}|\*)$`)
	skillName     = value.Form(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
)

// Check says what is wrong with the grant itself.
func (g *Grant) Check() error {
	if g.ID != "" && !grantName().MatchString(g.ID) {
		return form.In("id", fmt.Errorf("%q names no grant: give 1 to 64 of a-z, 0-9, :, _ and -", g.ID))
	}
	if at, err := caps.ParseResource(g.With); g.With != "" && (err != nil || len(at.Segments()) < 2 || at.DID() != "") {
		return form.In("with", errors.New("this is no place in the namespace below w/: write for example w/docs"))
	}
	for name, can := range g.Operations {
		if !operationName().MatchString(name) {
			return form.In("operations", fmt.Errorf("%q names no operation: give a-z, 0-9, _ and -", name))
		}
		if _, err := caps.ParseAbility(can); err != nil {
			return form.In("operations", err)
		}
	}
	if g.Agent != "" && agents.CheckID(g.Agent) != nil {
		return form.In("agent", agents.CheckID(g.Agent))
	}
	if g.Legacy && g.Attenuable != nil && *g.Attenuable {
		return form.In("attenuable", errors.New("a legacy grant is not attenuable: leave it out"))
	}
	return nil
}

// Check says what is wrong with the skill itself.
func (s *Skill) Check() error {
	switch {
	case s.ID != "" && !skillName().MatchString(s.ID):
		return form.In("id", fmt.Errorf("%q names no skill: give 1 to 64 letters, digits, _ and -", s.ID))
	case s.Child != "" && s.Child == s.Handle:
		return form.In("child", errors.New("this is the field of the handle: name another argument"))
	}
	return nil
}

// checkGrants says what does not fit together of grants and skills.
func (a *A2A) checkGrants() error {
	ids, operations, skills := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, g := range a.Grants {
		if ids[g.ID] {
			return form.In("grants", fmt.Errorf("grant %q stands here twice", g.ID))
		}
		ids[g.ID] = true
		for name := range g.Operations {
			operations[name] = true
		}
	}
	for _, g := range a.Grants {
		for _, id := range g.Requires {
			if !ids[id] || id == g.ID {
				return form.In("grants", fmt.Errorf("grant %q requires %q, which is no other grant", g.ID, id))
			}
		}
	}
	for _, s := range a.Skills {
		if skills[s.ID] {
			return form.In("skills", fmt.Errorf("skill %q stands here twice", s.ID))
		}
		if skills[s.ID] = true; s.Operation != "" && !operations[s.Operation] && !operations["*"] {
			return form.In("skills", fmt.Errorf("skill %q needs the operation %q, which no grant has", s.ID, s.Operation))
		}
	}
	if a.Ambient != "" {
		if _, err := time.Parse(time.RFC3339, a.Ambient); err != nil {
			return form.In("ambient_until", errors.New("this is no time as RFC 3339 has it, for example 2027-06-30T00:00:00Z"))
		}
	}
	if a.Phase > 3 {
		return form.In("phase", errors.New("phases are 1, 2 and 3"))
	}
	return nil
}

// PhaseAt is the phase at a time.
func (a *A2A) PhaseAt(now time.Time) int {
	if end, err := time.Parse(time.RFC3339, a.Ambient); err == nil && !now.Before(end) {
		return 3
	}
	return max(a.Phase, 1)
}

// Check says what is wrong with the section.
func (a *A2A) Check() error {
	if u, err := url.Parse(a.URL); a.URL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil) {
		return form.In("url", errors.New("this is no http or https URL of a host alone"))
	}
	for field, list := range map[string][]string{"private_pushes": a.PrivatePushes, "private_servers": a.PrivateServers} {
		for _, host := range list {
			if err := agentauth.CheckHost(host); err != nil {
				return form.In(field, err)
			}
		}
	}
	for i, id := range a.Agents {
		if err := agents.CheckID(id); err != nil {
			return form.In("agents", err)
		}
		if slices.Contains(a.Agents[:i], id) {
			return form.In("agents", fmt.Errorf("agent %s stands here twice", id))
		}
	}
	return a.checkGrants()
}
