package agentauth

import (
	"encoding/json"

	"usher/caps"
	"usher/tools"
	"usher/tools/agentauth/client"
)

// serverAt names a server.
type serverAt struct {
	Server string `json:"server" jsonschema:"origin of the server, for example https://auth.example.com"`
}

func (s serverAt) server() string { return s.Server }

// search selects capabilities of a server.
type search struct {
	serverAt
	Query  string `json:"query,omitempty" jsonschema:"words that they are about"`
	Cursor string `json:"cursor,omitempty" jsonschema:"nextCursor of the page before"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many at most"`
}

// capabilityRef names a capability of a server.
type capabilityRef struct {
	serverAt
	Capability string `json:"capability" jsonschema:"its name there"`
}

// registration asks for an agent at a server.
type registration struct {
	serverAt
	Capabilities []client.Want `json:"capabilities,omitzero" jsonschema:"what you want to do there; left out, what the server gives by default; an empty list is nothing yet"`
	Reason       string        `json:"reason,omitempty" jsonschema:"what for: the person who approves reads it"`
	Mode         string        `json:"mode,omitempty" jsonschema:"delegated, for a person, or autonomous; left out, delegated"`
}

// escalation asks for more at a server.
type escalation struct {
	serverAt
	Capabilities []client.Want `json:"capabilities" jsonschema:"what you want to do beside what you may"`
	Reason       string        `json:"reason,omitempty" jsonschema:"what for: the person who approves reads it"`
}

// execution executes a capability.
type execution struct {
	capabilityRef
	Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"an object, as agentauth:describe has its schema"`
}

// batch executes several capabilities.
type batch struct {
	serverAt
	Requests []client.Call `json:"requests" jsonschema:"1 to 50 of them; each has an outcome of its own"`
}

// poll asks what became of an execution.
type poll struct {
	capabilityRef
	StatusURL string `json:"statusUrl" jsonschema:"as agentauth:execute gave it"`
}

// ending ends what an agent has at a server.
type ending struct {
	serverAt
	Capabilities []string `json:"capabilities,omitzero" jsonschema:"those to give back, one at least; left out, the whole registration ends"`
}

// maxBatch is how many calls a batch has (POST /capability/batch-execute).
const maxBatch = 50

// Operations returns the operations over the clients of a venue.
func Operations(c *Clients) []*tools.Operation {
	return []*tools.Operation{
		tools.New("agentauth:discover", "Ask an Agent-Auth server what it is.",
			func(in serverAt) []caps.Request { return needs(canRead, in.Server) },
			c.discover, onServer(canRead), tools.ReadOnly()),
		tools.New("agentauth:list", "List what an Agent-Auth server offers, and what of it you were granted.",
			func(in search) []caps.Request { return needs(canRead, in.Server) },
			c.list, onServer(canRead), tools.ReadOnly()),
		tools.New("agentauth:describe", "Describe one capability of an Agent-Auth server, with the schemas of its arguments and its result.",
			func(in capabilityRef) []caps.Request { return needs(canRead, in.Server, in.Capability) },
			c.describe, onCapability(canRead), tools.ReadOnly()),
		tools.New("agentauth:status", "Ask an Agent-Auth server how you stand there, and what of what you asked for was granted.",
			func(in serverAt) []caps.Request { return needs(canRead, in.Server) },
			withRegistration(c, (*guest).status), onServer(canRead), tools.ReadOnly()),
		tools.New("agentauth:register", "Register yourself at an Agent-Auth server, with what you want to do there. Where a person has to approve, it says where and with which code: pass that on, and ask agentauth:status later.",
			func(in registration) []caps.Request {
				return needs(canRequest, in.Server, names(in.Capabilities)...)
			},
			c.register, tools.Within(caps.ScopeUnder(canRequest, root, 1, 2)), tools.Idempotent()),
		tools.New("agentauth:request", "Ask an Agent-Auth server for more than you were granted. A person has to approve.",
			func(in escalation) []caps.Request {
				return needsEach(canRequest, in.Server, names(in.Capabilities))
			},
			withRegistration(c, (*guest).request), onCapability(canRequest)),
		tools.New("agentauth:execute", "Execute a capability of an Agent-Auth server. One that takes long is pending: ask agentauth:poll what became of it.",
			func(in execution) []caps.Request { return needs(canInvoke, in.Server, in.Capability) },
			withRegistration(c, (*guest).execute), onCapability(canInvoke)),
		tools.New("agentauth:batch", "Execute several capabilities of an Agent-Auth server.",
			func(in batch) []caps.Request {
				var list []string
				for _, it := range in.Requests[:min(len(in.Requests), maxBatch+1)] {
					list = append(list, it.Capability)
				}
				return needsEach(canInvoke, in.Server, list)
			},
			withRegistration(c, (*guest).batch), onCapability(canInvoke)),
		tools.New("agentauth:poll", "Ask an Agent-Auth server what became of an execution that was pending.",
			func(in poll) []caps.Request { return needs(canInvoke, in.Server, in.Capability) },
			withRegistration(c, (*guest).poll), onCapability(canInvoke), tools.ReadOnly()),
		tools.New("agentauth:reactivate", "Come back to an Agent-Auth server where you have expired. What you got by agentauth:request is gone.",
			func(in serverAt) []caps.Request { return needs(canManage, in.Server) },
			withRegistration(c, (*guest).reactivate), onServer(canManage)),
		tools.New("agentauth:rotate", "Change your key at an Agent-Auth server. The old one ends at once.",
			func(in serverAt) []caps.Request { return needs(canManage, in.Server) },
			withRegistration(c, (*guest).rotate), onServer(canManage)),
		tools.New("agentauth:revoke", "Give capabilities back to an Agent-Auth server, or end your registration there, for good.",
			func(in ending) []caps.Request {
				if in.Capabilities != nil && len(in.Capabilities) == 0 {
					return []caps.Request{caps.Invalid(errEnd)}
				}
				return needs(canManage, in.Server)
			},
			withRegistration(c, (*guest).revoke), onServer(canManage), tools.Idempotent()),
	}
}

// The abilities, and where servers are.
const (
	canRead    = "agentauth/read"
	canRequest = "agentauth/request"
	canManage  = "agentauth/manage"
	canInvoke  = "invoke"
	root       = "agentauth"
)

func onServer(can string) tools.Option     { return tools.Within(caps.ScopeUnder(can, root, 1, 1)) }
func onCapability(can string) tools.Option { return tools.Within(caps.ScopeUnder(can, root, 2, 2)) }

func names(list []client.Want) (out []string) {
	for _, a := range list {
		out = append(out, a.Name)
	}
	return out
}
