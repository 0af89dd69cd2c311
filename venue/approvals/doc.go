// Package approvals is the room of a venue where calls wait for a person. The gate
// asks it about each call that a capability or a guard lets pass only after a person
// was asked; what comes in is answered by [approvals.Operations].
//
// An agent that is to ask for what its capabilities deny has a person asked for exactly
// that: what is granted is for its run and those below it, until a time, and for nobody
// else.
//
// A request is filed by the call itself, and shows it whole. The answer is for that
// call alone: for the agent's life, the place in its run, the operation and the bytes
// of the input, by one digest. It is signed by the person's key, ends, and is used up
// with the decision of the gate, in one batch.
//
// # Keys
//
//	p/req/<owner>/<id>     a request; owner is the person who is asked
//	p/call/<digest>        id of the last request of a call
//	p/at/<run>/<place>     id of the last request of a call by its place
//	p/cap/<run>/<id>       mark of a capability that was granted for a run
//	p/near/<kind>/<id>     mark of an answer with limits that its call is beyond
//	p/open/<owner>/<id>    mark of a request that nobody has answered, with the agents that it counts for
//	p/due/<ms>/<id>        mark of when it expires, with its owner
//	p/count/<owner>        is written with each new one
package approvals
