package delegation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"usher/tools/agents"
	"usher/venue"
)

type object = map[string]any

// member is one of the principals.
type member struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"` // user or agent
	Owner string `json:"owner,omitempty"`
	Role  string `json:"role"`
	DID   string `json:"did"`

	user  *venue.User
	agent *venue.Agent
}

const (
	isUser  = "user"
	isAgent = "agent"
)

func members() []member {
	return []member{
		{Name: "alice", Kind: isUser, Role: "ships goods"},
		{Name: "bob", Kind: isUser, Role: "runs trucks"},
		{Name: "broker", Kind: isAgent, Owner: "alice", Role: "finds carriers"},
		{Name: "carrier", Kind: isAgent, Owner: "bob", Role: "carries"},
		{Name: "auditor", Kind: isAgent, Owner: "bob", Role: "checks"},
	}
}

// property is what the users have in their namespaces.
var property = []struct {
	user, path string
	value      object
}{
	{"alice", "w/shipments", object{
		"S-1042": object{"goods": "tea, 12 pallets", "status": "packed"},
		"S-1043": object{"goods": "coffee, 3 pallets", "status": "packed"},
	}},
	{"bob", "w/rates", object{"tea": 410, "coffee": 455}},
}

// assemble makes the users, their property and their agents.
func (s *stage) assemble(ctx context.Context) error {
	s.report.Cast = members()
	for i := range s.report.Cast {
		m := &s.report.Cast[i]
		var err error
		if m.Kind == isUser {
			err = s.enter(ctx, m)
		} else {
			err = s.hire(ctx, m)
		}
		if err != nil {
			return err
		}
	}
	for _, p := range property {
		if _, err := s.member(p.user).user.Invoke(ctx, "covia:write", object{"path": p.path, "value": p.value}); err != nil {
			return err
		}
	}
	var spell, plain []string
	for _, m := range s.report.Cast {
		spell = append(spell, "{"+m.Name+"}", m.DID)
		plain = append(plain, m.DID, m.Name)
	}
	s.toDID, s.names = strings.NewReplacer(spell...), plain
	return nil
}

// enter makes a user, whose namespace has to be empty: the demo writes there.
func (s *stage) enter(ctx context.Context, m *member) (err error) {
	if m.user, err = s.v.User(ctx, m.Name); err != nil {
		return err
	}
	m.DID = m.user.DID().String()
	there, err := m.user.Agents(ctx)
	if err != nil {
		return err
	}
	raw, err := m.user.Invoke(ctx, "covia:list", object{"path": "w"})
	if err != nil {
		return err
	}
	var list struct{ Count int }
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	if len(there) > 0 || list.Count > 0 {
		return fmt.Errorf("%s holds data of a user %s already, which the demo would change: give an empty folder with --data", s.dir, m.Name)
	}
	return nil
}

// hire makes an agent with a key and a namespace of its own. It has no bounds
// of its own: whatever it may not do here, it may not for want of a delegation.
func (s *stage) hire(ctx context.Context, m *member) (err error) {
	m.agent, err = s.member(m.Owner).user.CreateAgent(ctx, agents.Spec{
		ID: m.Name, Description: m.Role, Identity: agents.IdentityOwn,
		Prompt: "You are the " + m.Name + ".", Tools: []string{"covia:*", "ucan:*"},
	})
	if err != nil {
		return err
	}
	info, err := m.agent.Info(ctx)
	m.DID = info.DID
	return err
}

// member finds a principal by its name; nil where nobody has it.
func (s *stage) member(name string) *member {
	for i := range s.report.Cast {
		if s.report.Cast[i].Name == name {
			return &s.report.Cast[i]
		}
	}
	return nil
}

// plain writes DIDs as names and CIDs by their ends.
func (s *stage) plain(text string) string {
	pairs := slices.Clone(s.names)
	for _, cid := range s.cids {
		pairs = append(pairs, cid, short(cid))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// short is the end of a CID: the beginnings are all alike.
func short(cid string) string { return "…" + cid[max(0, len(cid)-6):] }
