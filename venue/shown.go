package venue

import (
	"encoding/base64"
	"encoding/json"

	"usher/tools/agents"
	"usher/venue/config"
)

// Showcase is what the configuration says for agents elsewhere, with those of its agents that
// everybody is told of, and the phase of now. Change nothing in it.
func (v *Venue) Showcase() (config.A2A, []agents.Summary) {
	c := v.applied.now.Load()
	if c == nil {
		return config.A2A{}, nil
	}
	var list []agents.Summary
	for _, id := range c.A2A.Agents {
		for i := range c.Agents {
			if c.Agents[i].ID == id {
				list = append(list, agents.Summary{AgentID: id, Description: c.Agents[i].Description})
			}
		}
	}
	shown := c.A2A
	shown.Phase = shown.PhaseAt(v.now())
	return shown, list
}

// SignCard signs an agent card by the venue's key, as A2A has it (section 8.4): card is its
// canonical JSON. The header says that it is no token.
func (v *Venue) SignCard(card []byte) (protected, signature string) {
	key := v.keys.Venue()
	head, _ := json.Marshal(map[string]string{"alg": "EdDSA", "typ": "JOSE", "cty": "a2a-agent-card", "kid": key.DID().String()}) // texts
	protected = base64.RawURLEncoding.EncodeToString(head)
	signature = base64.RawURLEncoding.EncodeToString(key.Sign([]byte(protected + "." + base64.RawURLEncoding.EncodeToString(card))))
	return protected, signature
}
