package a2a

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"usher/caps/value"
	"usher/tools/agents"
	"usher/venue/config"
	"usher/venue/face"
)

// CardPath is where the card of the venue is, and below an agent its own (section 8.2).
const CardPath = "/.well-known/agent-card.json"

// cardVersion is that of the cards' content.
const cardVersion = "1"

// card is an agent card of 1.0 that clients of 0.3 read, too. What both name in one word has
// the members of both.
type card struct {
	a2a.AgentCard
	Schemes   map[string]any `json:"securitySchemes"`
	Needed    []object       `json:"securityRequirements"`
	Signed    []object       `json:"signatures,omitempty"`
	URL       string         `json:"url"`
	Transport string         `json:"preferredTransport"`
	Old       string         `json:"protocolVersion"`
	Security  []object       `json:"security"`
	Extended  bool           `json:"supportsAuthenticatedExtendedCard"`
}

// cardOf makes a card: of an agent, or of the venue where that is empty. list are the agents
// that it shows.
func (f *Face) cardOf(shown config.A2A, base, agent string, list []agents.Summary, extended bool) *card {
	at := base + Prefix
	name, about := f.door.Venue.Name(), "A venue of agents. Each skill is an agent: name it as tenant."
	if agent != "" {
		at, name, about = at+"/"+agent, agent, cmp.Or(list[0].Description, "An agent of "+name+".")
	}
	c := &card{
		AgentCard: a2a.AgentCard{
			Name: name, Description: about, Version: cardVersion,
			SupportedInterfaces: []*a2a.AgentInterface{
				{URL: at, ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: modern},
				{URL: at, ProtocolBinding: a2a.TransportProtocolHTTPJSON, ProtocolVersion: modern},
				{URL: at, ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: legacy},
			},
			Capabilities:      a2a.AgentCapabilities{Streaming: true, PushNotifications: true, ExtendedAgentCard: true, Extensions: extensions(&shown, extended)},
			DefaultInputModes: []string{"text/plain", jsonType}, DefaultOutputModes: []string{"text/plain", jsonType},
			Skills: []a2a.AgentSkill{},
		},
		Schemes:  map[string]any{"bearer": object{"httpAuthSecurityScheme": object{"scheme": "Bearer"}, "type": "http", "scheme": "bearer"}},
		Needed:   []object{{"schemes": object{"bearer": []string{}}}},
		URL:      at,
		Old:      "0.3.0",
		Security: []object{{"bearer": []string{}}},
		Extended: true, Transport: "JSONRPC",
	}
	for _, a := range list {
		c.Skills = append(c.Skills, a2a.AgentSkill{ID: a.AgentID, Name: a.AgentID, Description: cmp.Or(a.Description, "An agent."), Tags: []string{"agent"}})
	}
	return c
}

// base is where the venue is, and whether the configuration says so: a card that the head of
// a request has a say in is not signed.
func base(shown config.A2A, r *http.Request) (at string, known bool) {
	if shown.URL != "" {
		u, err := url.Parse(shown.URL) // as the configuration was checked
		return u.Scheme + "://" + u.Host, err == nil
	}
	u := url.URL{Scheme: "http", Host: r.Host}
	if face.IsSecure(r) {
		u.Scheme = "https"
	}
	return u.String(), false
}

// encode writes a card, signed where its address is known.
func (f *Face) encode(c *card, known bool) ([]byte, error) {
	raw, err := json.Marshal(c)
	if err != nil || !known {
		return raw, err
	}
	tree, err := value.Decode(raw, value.MaxDepth)
	if err != nil {
		return nil, err
	}
	protected, signature := f.door.Venue.SignCard(value.Append(nil, tree)) // RFC 8785: keys of ASCII and whole numbers alone
	c.Signed = []object{{"protected": protected, "signature": signature}}
	return json.Marshal(c)
}

// card answers with the public card, which says the same to everybody; of an agent that it
// does not show, to those who may ask it.
func (f *Face) card(w http.ResponseWriter, r *http.Request, agent string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		write(w, jsonType, http.StatusMethodNotAllowed, errRequest.because("a card is got by GET").status())
		return
	}
	shown, list := f.door.Venue.Showcase()
	public := true
	if agent != "" {
		if list = only(list, agent); list == nil {
			c, err := f.open(w, r, agent)
			if err == nil {
				public = false
				list, err = c.p.Taskable(r.Context())
			}
			if list = only(list, agent); err != nil || list == nil {
				write(w, jsonType, errNoAgent.HTTP, errNoAgent.status())
				return
			}
		}
	}
	at, known := base(shown, r)
	raw, err := f.encode(f.cardOf(shown, at, agent, list, false), known)
	if err != nil {
		e := failureOf(err)
		write(w, jsonType, e.HTTP, e.status())
		return
	}
	sum := sha256.Sum256(raw)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	h := w.Header()
	h.Set("Content-Type", jsonType)
	h.Set("ETag", tag)
	h.Set("Cache-Control", "public, max-age=60")
	if !public {
		h.Set("Cache-Control", "private, no-cache")
		h.Add("Vary", "Authorization")
	}
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(raw) // a caller who is gone is told nothing
}

// only is the agent of the id in a list, or nil.
func only(list []agents.Summary, id string) []agents.Summary {
	for i := range list {
		if list[i].AgentID == id {
			return list[i : i+1]
		}
	}
	return nil
}

// fullCard shows the agents that the caller may ask.
func (c *call) fullCard() (any, error) {
	if err := c.read(new(struct{})); err != nil {
		return nil, err
	}
	list, err := c.p.Taskable(c.r.Context())
	if err != nil {
		return nil, err
	}
	if c.agent != "" {
		if list = only(list, c.agent); list == nil {
			return nil, errNoAgent
		}
	}
	shown, _ := c.face.door.Venue.Showcase()
	at, known := base(shown, c.r)
	raw, err := c.face.encode(c.face.cardOf(shown, at, c.agent, list, true), known)
	return json.RawMessage(raw), err
}
