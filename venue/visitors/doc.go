// Package visitors is the room of a venue that keeps who came in by Agent-Auth: hosts,
// their agents, what these asked for, and what a person granted them. [Room.Host] and
// [Room.Agent] say who sends a request; [Room.Register] makes an agent; [Room.Answer] is
// the word of a person; [Room.Execution] is what a granted capability lets a call do.
//
// A grant is a UCAN delegation that the venue signs with the key of the person who
// approves, for the key of the agent, with the constraints as its policy. It counts while
// the token stands and the agent is active: the token names the agent's life, for which
// [Room.Live] answers. Nothing else grants anything, and no execute does.
//
// # Keys
//
//	visit/host/<id>          a host
//	visit/agent/<id>         an agent, with its grants and what it asks for
//	visit/of/<host>/<agent>  mark of an agent of a host
//	visit/slot/<host>/<n>    id of an agent that counts: a host has as many as it may have agents
//	visit/key/<thumbprint>   whose key it is or was: "host <id>" or "agent <id>"; it stays for good
//	                         where a person has approved that
//	visit/code/<digest>      id of the agent that a user code is of, or "used <did>": by whom it was
//	                         used up, for some minutes
//	visit/due/<ms>/<agent>   mark of when an agent is looked at that nobody has approved, or that has ended
//	visit/wrong/<did>        how many wrong codes a person has given
//	visit/job/<run>          who began a run by an execute
//
// A change of a record is one batch with its row in the ledger, conditional on the
// record's revision.
package visitors
