package visitors

import (
	"encoding/json"
	"slices"
	"time"

	"usher/ucan"
)

// Status is where a host, an agent or a grant is.
type Status string

// Statuses. Revoked, rejected, claimed and denied are for good.
const (
	Pending  Status = "pending"
	Active   Status = "active"
	expired  Status = "expired"
	Revoked  Status = "revoked"
	rejected Status = "rejected"
	Claimed  Status = "claimed"
	denied   Status = "denied"
)

// IsFinal reports whether a status is for good.
func (s Status) IsFinal() bool {
	return s == Revoked || s == rejected || s == Claimed || s == denied
}

// Modes of agents.
const (
	delegated  = "delegated"
	Autonomous = "autonomous"
)

// Host is a program that registers agents.
type Host struct {
	ID      string   `json:"id"`
	Name    string   `json:"name,omitempty"`
	Key     ucan.DID `json:"key"`
	JWKS    string   `json:"jwks,omitempty"` // URL of its keys
	Status  Status   `json:"status"`
	User    ucan.DID `json:"user,omitzero"` // the person who approved it
	Created int64    `json:"created"`       // ms
	Updated int64    `json:"updated"`       // ms

	rev uint64
}

// Agent is an agent of a host.
type Agent struct {
	ID        string   `json:"id"`
	Host      string   `json:"host"`
	Name      string   `json:"name"`
	Mode      string   `json:"mode"`
	Status    Status   `json:"status"` // expired is never stored
	Reason    string   `json:"reason,omitempty"`
	Key       ucan.DID `json:"key"`
	JWKS      string   `json:"jwks,omitempty"` // URL of its keys
	User      ucan.DID `json:"user,omitzero"`  // on whose behalf it acts
	Created   int64    `json:"created"`        // ms, and all that follow
	Activated int64    `json:"activated,omitempty"`
	Seen      int64    `json:"seen,omitempty"`
	Updated   int64    `json:"updated"`
	Grants    []Grant  `json:"grants,omitempty"`
	Ask       *ask     `json:"ask,omitempty"`     // what waits for a person
	Decided   []string `json:"decided,omitempty"` // capabilities that a person has granted, refused or revoked: it gets none of them without asking

	rev  uint64
	kept ucan.DID // Key as it is stored: one of those at JWKS may stand in its place
}

// decides notes that a person has said what the agent has of a capability.
func (a *Agent) decides(capability string) {
	if !slices.Contains(a.Decided, capability) {
		a.Decided = append(slices.Clip(a.Decided), capability)
	}
}

// Grant is a capability that an agent has, or asks for. There may be several of one
// capability: what one of them allows is allowed.
type Grant struct {
	Capability  string      `json:"capability"`
	Status      Status      `json:"status"`
	Constraints Constraints `json:"constraints,omitempty"` // what a call has to keep to; none is no bound but the capability's
	Reason      string      `json:"reason,omitempty"`
	Default     bool        `json:"default,omitempty"` // it came without asking
	By          ucan.DID    `json:"by,omitzero"`       // who granted it
	Tokens      []ucan.CID  `json:"tokens,omitempty"`  // the delegations that it is
	Created     int64       `json:"created"`           // ms
	Updated     int64       `json:"updated"`           // ms
	Expires     int64       `json:"expires,omitempty"` // s; zero is that of the agent

	memo *memo // nil where nothing is remembered
}

// until is when the grant ends by itself; zero is with its agent.
func (g *Grant) until() time.Time {
	if g.Expires == 0 {
		return time.Time{}
	}
	return time.Unix(g.Expires, 0)
}

// ask is what an agent waits for: the pending grants of it, and in the beginning itself.
type ask struct {
	Kind    string   `json:"kind"` // register, escalate or claim
	Method  string   `json:"method"`
	Code    string   `json:"code,omitempty"`    // digest of the user code
	Device  string   `json:"device,omitempty"`  // digest of the device code
	Asked   ucan.DID `json:"asked,omitzero"`    // who may answer; zero is whoever has the code
	Says    string   `json:"says,omitempty"`    // binding message
	Reason  string   `json:"reason,omitempty"`  // why, as the agent says
	Wrong   int      `json:"wrong,omitempty"`   // codes
	Polled  int64    `json:"polled,omitempty"`  // ms
	Created int64    `json:"created"`           // ms
	Expires int64    `json:"expires"`           // ms
	Request string   `json:"request,omitempty"` // that stands for it in the approvals of Asked

	Terms map[string]string `json:"terms,omitempty"` // of the capabilities when they were asked for: see [settings.terms]
}

// Kinds of what is asked.
const (
	kindRegister = "register"
	kindEscalate = "escalate"
	kindClaim    = "claim"
)

// Bounds of what a host says.
const (
	maxName   = 200     // bytes of a name
	maxText   = 1 << 10 // bytes of a reason or a message
	maxGrants = 128     // of an agent, those that are over counted
	maxAsked  = 64      // capabilities of one request
)

// end is when an agent stops being active, by its age alone.
func (r *Room) end(a *Agent) time.Time {
	t := r.times()
	at := time.UnixMilli(a.Activated).Add(t.lifetime)
	if last := time.UnixMilli(a.Created).Add(t.absolute); t.absolute > 0 && last.Before(at) {
		return last
	}
	return at
}

// Standing is the status of an agent now.
func (r *Room) Standing(a *Agent, h *Host) Status {
	if h.Status == Revoked || a.isLeft(h) {
		return Revoked
	}
	now := r.Now()
	if t := r.times(); t.absolute > 0 && (a.Status == Active || a.Status == Pending) && now.After(time.UnixMilli(a.Created).Add(t.absolute)) {
		return Revoked
	}
	if a.Status != Active {
		return a.Status
	}
	end := r.end(a)
	if now.After(end) || now.After(time.UnixMilli(a.Seen).Add(r.times().session)) {
		return expired
	}
	return Active
}

// isLeft reports whether an agent acted for nobody while its host has become a person's: it
// ends with that, as those end that acted for a person before.
func (a *Agent) isLeft(h *Host) bool {
	return a.Mode == Autonomous && a.Status == Active && !h.User.IsZero()
}

// Expires is when an active agent expires that is not heard of again.
func (r *Room) Expires(a *Agent) time.Time {
	end := r.end(a)
	if idle := time.UnixMilli(a.Seen).Add(r.times().session); idle.Before(end) {
		return idle
	}
	return end
}

// standing is the status of a grant now.
func (r *Room) standing(g *Grant) Status {
	if g.Status == Active && g.Expires > 0 && r.Now().Unix() > g.Expires {
		return expired
	}
	return g.Status
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil { // of texts and numbers
		panic(err)
	}
	return raw
}
