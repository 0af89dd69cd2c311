package client

import (
	"encoding/json"
	"net/url"
	"strconv"
	"time"
)

// The states of an agent and of a grant.
const (
	Active   = "active"
	Pending  = "pending"
	Expired  = "expired"
	Revoked  = "revoked"
	Rejected = "rejected"
	Claimed  = "claimed"
)

// Want is a capability that an agent asks for, with the bounds that it proposes itself.
type Want struct {
	Name        string         `json:"name" jsonschema:"name of the capability"`
	Constraints map[string]any `json:"constraints,omitempty" jsonschema:"bounds of its arguments that you offer yourself: by field a value, or max, min, in, not_in. The less you ask for, the more likely you get it"`
}

// MarshalJSON writes the name alone where nothing is proposed, as older servers take it.
func (w Want) MarshalJSON() ([]byte, error) {
	if len(w.Constraints) == 0 {
		return json.Marshal(w.Name)
	}
	type plain Want
	return json.Marshal(plain(w))
}

// Registration asks for an agent. Mode is delegated or autonomous; empty is the server's.
type Registration struct {
	Name           string `json:"name"`
	Capabilities   []Want `json:"capabilities,omitzero"` // nil is what the server gives by default, and an empty list is nothing
	Mode           string `json:"mode,omitempty"`
	Reason         string `json:"reason,omitempty"`
	HostName       string `json:"host_name,omitempty"`
	Method         string `json:"preferred_method,omitempty"`
	LoginHint      string `json:"login_hint,omitempty"`
	BindingMessage string `json:"binding_message,omitempty"`
}

// Escalation asks for more capabilities.
type Escalation struct {
	Capabilities   []Want `json:"capabilities"`
	Reason         string `json:"reason,omitempty"`
	Method         string `json:"preferred_method,omitempty"`
	LoginHint      string `json:"login_hint,omitempty"`
	BindingMessage string `json:"binding_message,omitempty"`
}

// Grant is what became of a capability that was asked for.
type Grant struct {
	Capability  string          `json:"capability"`
	Status      string          `json:"status"`
	Constraints json.RawMessage `json:"constraints,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	GrantedBy   string          `json:"granted_by,omitempty"`
	ExpiresAt   string          `json:"expires_at,omitempty"`
}

// Approval says how a person approves: where, and with which code (RFC 8628).
type Approval struct {
	Method      string `json:"method"`
	UserCode    string `json:"user_code,omitempty"`
	URI         string `json:"verification_uri,omitempty"`
	URIComplete string `json:"verification_uri_complete,omitempty"`
	ExpiresIn   int    `json:"expires_in,omitempty"` // seconds
	Interval    int    `json:"interval,omitempty"`   // seconds between two polls
}

// Every is how long to wait between two polls.
func (a *Approval) Every() time.Duration {
	if a == nil || a.Interval <= 0 {
		return defaultEvery
	}
	return time.Duration(min(a.Interval, int(maxPause/time.Second))) * time.Second
}

// defaultEvery is RFC 8628's interval where the server says none.
const defaultEvery = 5 * time.Second

// Standing is an agent as the server has it.
type Standing struct {
	AgentID  string    `json:"agent_id"`
	HostID   string    `json:"host_id,omitempty"`
	Name     string    `json:"name,omitempty"`
	Mode     string    `json:"mode,omitempty"`
	Status   string    `json:"status"`
	UserID   string    `json:"user_id,omitempty"`
	Expires  string    `json:"expires_at,omitempty"`
	Grants   []Grant   `json:"agent_capability_grants,omitempty"`
	Approval *Approval `json:"approval,omitempty"`
}

// Capability is what a server offers. A list leaves Input and Output out.
type Capability struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Location    string          `json:"location,omitempty"`
	Strength    string          `json:"approval_strength,omitempty"`
	GrantStatus string          `json:"grant_status,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
}

// Page is a part of a list.
type Page struct {
	Capabilities []Capability `json:"capabilities"`
	HasMore      bool         `json:"has_more"`
	NextCursor   string       `json:"next_cursor,omitempty"`
}

// Query selects capabilities.
type Query struct {
	Text   string
	Cursor string
	Limit  int // 0 is the server's
}

// Introspection is what a server tells a service of a token (RFC 7662).
type Introspection struct {
	Active    bool    `json:"active"`
	AgentID   string  `json:"agent_id,omitempty"`
	HostID    string  `json:"host_id,omitempty"`
	UserID    string  `json:"user_id,omitempty"`
	Mode      string  `json:"mode,omitempty"`
	ExpiresAt string  `json:"expires_at,omitempty"`
	Grants    []Grant `json:"agent_capability_grants,omitempty"`
}

func (q Query) values() url.Values {
	values := url.Values{}
	for key, text := range map[string]string{"query": q.Text, "cursor": q.Cursor} {
		if text != "" {
			values.Set(key, text)
		}
	}
	if q.Limit > 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	return values
}

func nameQuery(name string) url.Values { return url.Values{"name": {name}} }
