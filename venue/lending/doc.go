// Package lending is the room of a venue where capabilities for one task are lent: what a
// grant of the configuration permits, of what was asked for, of what the principal and the
// grant's agent may do. [Room] is the [lending.Service] of capability:request and the rest.
//
// A capability names things by handles: 128 random bits each, of this capability alone, so
// that no two capabilities show that they are of one thing. What a handle is of stays here. It
// is held by one principal, by one agent for one task, or by both; what was made of it is
// narrower, and ends with it. Each use is decided on anew, as the principal, its agent, the
// grant and the skill are then: the gate has the last word.
//
// # Keys
//
//	q/cap/<id>            a capability
//	q/of/<holder>/<id>    mark of who has it
//	q/by/<maker>/<id>     mark of who asked for it
//	q/handle/<handle>     id of its capability
//	q/rev/<revocation>    id of its capability
//	q/cid/<cid>           id of the capability that a token is of
//	q/due/<ms>/<id>       mark of when it goes
package lending
