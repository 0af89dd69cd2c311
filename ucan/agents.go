package ucan

import (
	"bytes"
	"slices"
)

// agentsKey is where a token names the agents that signed it with the issuer's
// key: in the metadata of a native one, in the facts of a JWT.
const agentsKey = "usher/agents"

// maxAgents bounds the agents that one token names.
const maxAgents = 64

// Agents names the lives of the agents that signed the token, as
// [Delegation.Agents] says; nil where its issuer did in person.
func (l *Link) Agents() []string { return slices.Clone(l.agents) }

// readAgents takes the agents from what a token says beside its capabilities.
func readAgents(facts any) ([]string, error) {
	m, _ := facts.(map[string]any)
	v, ok := m[agentsKey]
	if !ok {
		return nil, nil
	}
	list, _ := v.([]any)
	agents := make([]string, 0, len(list))
	for _, item := range list {
		if name, ok := item.(string); ok && name != "" {
			agents = append(agents, name)
		}
	}
	if len(agents) == 0 || len(agents) != len(list) || len(agents) > maxAgents {
		return nil, malformed("%s is a list of 1 to %d names", agentsKey, maxAgents)
	}
	return agents, nil
}

// readMeta is readAgents for the bytes of metadata, which are rarely of interest.
func readMeta(meta []byte) ([]string, error) {
	if !bytes.Contains(meta, []byte(agentsKey)) {
		return nil, nil
	}
	return readAgents(decodeValue(meta))
}
