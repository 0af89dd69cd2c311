// Package a2a is the face of a venue for other agents, by the Agent2Agent protocol, versions
// 1.0 and 0.3 at one address. [New] returns its handler.
//
// An agent of the caller's is a tenant: /a2a/{agent} is that agent by JSON-RPC, and the paths
// below it are the same methods by HTTP+JSON. At /a2a itself the request names the tenant; who
// may ask one agent alone need not. A task is a run of the venue: to send a message is
// agent:request, which the gate decides about as about every call, a task is looked at by
// grid:jobStatus and canceled by grid:jobCancel. Another principal's looks like none. So a
// token for this face has agent/request on g/<agent>, and crud/read on j and job/manage on j for
// who follows and cancels tasks; without these the answer to a message is the task as it began.
//
// Nothing in a message is authority. A task that waits for the approval of a person is
// AUTH_REQUIRED, and its status says which: who may answer, answers as at every door of the
// venue, or by a data part {"approval": id, "digest": digest, "approve": true} in a message to
// the task. The state itself is never authority (section 7.6.4). A task that its owner has
// paused is INPUT_REQUIRED: a message to it is left for the agent, and has it go on.
//
// # Capability negotiation
//
// What the A2A proposal of that name leaves open, with the clause that it is of:
//
//	extension        [URI], in capabilities.extensions of the card    "Capability Advertisement"; A2A 1.0: no fields of our own in core objects
//	capabilityGrants six fields in the extended card, ids in public   "Agents MUST advertise available capability grants in their Agent Card"
//	phase            1 where the configuration says none              "Migration Path"
//	principal        the DID of whose things they are                 "principal": "user:..."
//	holder           of attenuate: DID of who is to have the child    "When delegating to sub-agents, callers attenuate capabilities"
//	ambient          metadata URI/ambient: true                       "as long as they explicitly advertise this state"
//	capabilities     metadata URI/capabilities, URI/attenuations      "the capability context determines what the downstream agent can invoke"
//	a2a/task/send    SendMessage by another name                      the same
//	token            a UCAN of the venue's store; with names handles  "Agents MUST NOT accept tokens issued by other entities"
//	revoke           a2a/capabilities/revoke {revocationId}           "revocationId"; POST capabilities:revoke
//	list             a2a/capabilities/list                            GET capabilities
//	request          POST capabilities:request                        "Task-Scoped Request"
//	attenuate        POST capabilities:attenuate                      "Delegation and Attenuation"
//	skill            POST skills/{skill}:invoke                       "Capability-Bound Invocation"
//
// Its refusals, in the domain "usher": -32050 GRANT_NOT_AVAILABLE, -32051 CAPABILITY_REQUIRED,
// -32052 CAPABILITY_INVALID (unknown, forged, foreign, or another's: one answer), -32053
// CAPABILITY_EXPIRED, -32054 CAPABILITY_REVOKED, -32055 OPERATION_NOT_PERMITTED, -32056
// RESOURCE_NOT_COVERED, -32057 ATTENUATION_WIDENS, -32058 NOT_ATTENUABLE, -32059
// APPROVAL_REQUIRED. A denial of the gate is -32049 CAPABILITY_DENIED, who is nobody is
// -32048 UNAUTHENTICATED, and a tenant that is no agent -32602 AGENT_NOT_FOUND.
//
// # Differences to a2a-go
//
// The types are a2a-go's. Its server is not used: it checks no version, echoes no extensions,
// takes a message to an ended task for wrong parameters, and has no way to other methods.
package a2a
