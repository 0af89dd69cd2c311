// Package lending has the operations by which somebody is lent what one task needs, and no
// more: capability:request, attenuate, revoke, list and use. What is lent are handles, which
// name things without saying where they are. [Operations] returns the operations over a
// [Service], which the venue has.
//
// They are the A2A proposal "Capability Negotiation" below its wire, so that an agent of the
// venue asks for the same as one elsewhere.
package lending

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
)

// Extension names the proposal among A2A's extensions: see the table of usher/venue/a2a.
const Extension = "urn:x-usher:a2a:capabilities:1"

// Request asks for capabilities for a task.
type Request struct {
	Grants  []string `json:"grants" jsonschema:"ids of the grants that are asked for"`
	Purpose string   `json:"statedPurpose" jsonschema:"what it is for, in the word of whoever asks"`
	Query   *Query   `json:"resourceQuery,omitempty" jsonschema:"which things; left out, all that the grant is on and you may reach"`
	Expires string   `json:"expires,omitempty" jsonschema:"when it shall end, as RFC 3339 has it; left out, after an hour"`
}

// Query says which things are meant.
type Query struct {
	Collection string                     `json:"collection,omitempty" jsonschema:"what they are below, within the grant"`
	Filter     map[string]json.RawMessage `json:"filter,omitempty" jsonschema:"fields that they have, with their values"`
}

// Attenuate asks for a part of a capability as one of its own.
type Attenuate struct {
	CapabilityID string      `json:"capabilityId"`
	Constraints  Constraints `json:"constraints,omitzero"`
	Holder       string      `json:"holder,omitempty" jsonschema:"DID of the principal who is to have it; left out, yourself"`
	Agent        string      `json:"agent,omitempty" jsonschema:"id of an agent of yours that is to have it, for the task that it is given with it"`
	Task         string      `json:"task,omitempty" jsonschema:"name of that task"`
}

// Constraints are what is left of a capability; what is left out stays, and an empty list is
// nothing.
type Constraints struct {
	ResourceHandles *[]string `json:"resourceHandles,omitempty"`
	Operations      *[]string `json:"operations,omitempty"`
	Expires         string    `json:"expires,omitempty"`
}

// Revoke ends a capability, and all that was made of it.
type Revoke struct {
	RevocationID string `json:"revocationId"`
}

// RevokeResult answers [Revoke].
type RevokeResult struct {
	RevocationID string `json:"revocationId"`
	Revoked      bool   `json:"revoked"`
}

// List asks for the capabilities that the caller has.
type List struct{}

// Use uses a capability.
type Use struct {
	Skill        string                     `json:"skill"`
	Arguments    map[string]json.RawMessage `json:"arguments" jsonschema:"resourceHandle, and what else the skill takes"`
	CapabilityID string                     `json:"capabilityId,omitempty" jsonschema:"left out, the one that the handle is of"`
}

// HandleField is the argument that has the handle.
const HandleField = "resourceHandle"

// Ambient says that what follows is done without a capability, in the word of the ledger: a
// task is given to Agent, or Skill is called here.
type Ambient struct {
	Agent     string          `json:"agent,omitempty"`
	Skill     string          `json:"skill,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"of the operation that the skill is"`
}

func (in Ambient) needs() []caps.Request {
	switch {
	case (in.Agent == "") == (in.Skill == ""):
		return invalid("give one of agent and skill")
	case in.Skill != "":
		return []caps.Request{caps.NeedAbility("invoke")}
	case agents.CheckID(in.Agent) != nil:
		return invalid("agent: %w", agents.CheckID(in.Agent))
	}
	return []caps.Request{caps.Need("agent/request", "g/"+in.Agent)}
}

// Handle is the handle that a call is about.
func (in Use) Handle() string {
	var handle string
	_ = json.Unmarshal(in.Arguments[HandleField], &handle) // what is none is empty
	return handle
}

// Capability is what somebody is lent.
type Capability struct {
	ID         string   `json:"id"`
	Grant      string   `json:"grant"`
	Token      string   `json:"token"`
	Handles    []Handle `json:"resourceHandles"`
	Operations []string `json:"operations"`
	Expires    string   `json:"expires"`
	Revocation string   `json:"revocationId"`
	Principal  string   `json:"principal"` // DID of whose things they are
}

// Handle names a thing.
type Handle struct {
	Handle string `json:"handle"`
	Name   string `json:"displayName"`
}

// Capabilities answers [Request], [Attenuate] and [List].
type Capabilities struct {
	Capabilities []Capability `json:"capabilities"`
}

// Service lends. Every method acts for the caller alone.
type Service interface {
	Request(ctx context.Context, call tools.Call, in Request) (Capabilities, error)
	Attenuate(ctx context.Context, call tools.Call, in Attenuate) (Capabilities, error)
	Revoke(ctx context.Context, call tools.Call, in Revoke) (RevokeResult, error)
	List(ctx context.Context, call tools.Call, in List) (Capabilities, error)
	Use(ctx context.Context, call tools.Call, in Use) (json.RawMessage, error)
	Ambient(ctx context.Context, call tools.Call, in Ambient) (json.RawMessage, error)
}

// Bounds of what is asked for.
const (
	maxGrants  = 16
	maxPurpose = 1000 // bytes
	maxFilter  = 16
	MaxHandles = 50 // of a capability
)

// isHandle reports whether a text has the form of a handle.
func isHandle(text string) bool {
	name, is := strings.CutPrefix(text, "rh_")
	return is && len(name) == 26 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

func (in Request) needs() []caps.Request {
	switch {
	case len(in.Grants) == 0 || len(in.Grants) > maxGrants:
		return invalid("grants are %d: name 1 to %d", len(in.Grants), maxGrants)
	case in.Purpose == "" || len(in.Purpose) > maxPurpose:
		return invalid("statedPurpose has %d bytes: say in 1 to %d what it is for", len(in.Purpose), maxPurpose)
	case in.Query != nil && len(in.Query.Filter) > maxFilter:
		return invalid("filter has %d fields, at most %d", len(in.Query.Filter), maxFilter)
	}
	return requestNeed()
}

func (in Use) needs() []caps.Request {
	if in.Skill == "" {
		return invalid("skill is missing")
	}
	handle := in.Handle()
	if !isHandle(handle) {
		return invalid("arguments.%s is no handle: what is lent is named by its handle alone", HandleField)
	}
	return []caps.Request{caps.Need(CanUse, At(handle))}
}

// CanUse is the ability of using what is lent.
const CanUse = "capability/use"

// At is the resource that a handle is.
func At(handle string) string { return "handles/" + handle }

func requestNeed() []caps.Request { return []caps.Request{caps.NeedAbility("capability/request")} }

func invalid(format string, args ...any) []caps.Request {
	return []caps.Request{caps.Invalid(fmt.Errorf(format, args...))}
}

// Operations returns the operations over s.
func Operations(s Service) []*tools.Operation {
	within := tools.Within(caps.ScopeAbility("capability/request"))
	return []*tools.Operation{
		tools.New("capability:request", "Ask for capabilities for one task: handles of things, and what may be done with them.", Request.needs, s.Request, within),
		tools.New("capability:attenuate", "Make a narrower capability of one that you have, for yourself or for another.", func(in Attenuate) []caps.Request {
			if in.CapabilityID == "" {
				return []caps.Request{caps.Invalid(errors.New("capabilityId is missing"))}
			}
			return requestNeed()
		}, s.Attenuate, within),
		tools.New("capability:revoke", "End a capability that you were lent or have made, and all that was made of it.", func(Revoke) []caps.Request { return requestNeed() }, s.Revoke, within, tools.Idempotent()),
		tools.New("capability:list", "List the capabilities that you have.", func(List) []caps.Request { return requestNeed() }, s.List, within, tools.ReadOnly()),
		tools.New("capability:use", "Use what you were lent: a skill, on a thing by its handle.", Use.needs, s.Use, tools.Within(caps.ScopeUnder(CanUse, "handles", 1, 1)), tools.Exclusive()),
		tools.New("capability:ambient", "Do without a capability what one is there for, as long as the venue allows it.", Ambient.needs, s.Ambient, tools.Within(caps.ScopeAbility("invoke"), caps.ScopeUnder("agent/request", "g", 1, 1)), tools.Exclusive()),
	}
}

// Reason is why something is not lent, or cannot be used.
type Reason string

// The reasons. One that would tell strangers what there is, is [Unknown].
const (
	NoGrant   Reason = "GRANT_NOT_AVAILABLE"
	Required  Reason = "CAPABILITY_REQUIRED"
	Unknown   Reason = "CAPABILITY_INVALID"
	Expired   Reason = "CAPABILITY_EXPIRED"
	Gone      Reason = "CAPABILITY_REVOKED"
	Operation Reason = "OPERATION_NOT_PERMITTED"
	Resource  Reason = "RESOURCE_NOT_COVERED"
	Widens    Reason = "ATTENUATION_WIDENS"
	Whole     Reason = "NOT_ATTENUABLE"
	Params    Reason = "INVALID_PARAMS"
)

// Error is a refusal with its reason. It tells no path.
type Error struct {
	Reason Reason
	Text   string
}

func (e *Error) Error() string { return e.Text }

// Code is [fault.Refused], and [fault.InvalidInput] for what was asked in a wrong way.
func (e *Error) Code() fault.Code {
	if e.Reason == Params {
		return fault.InvalidInput
	}
	return fault.Refused
}

// Details are the reason.
func (e *Error) Details() any { return map[string]Reason{"reason": e.Reason} }
