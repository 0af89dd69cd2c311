// Package agui is the face of a venue for user interfaces, by AG-UI 1.0: an agent's turn as
// a stream of events, at POST /agui/{agent}, and what the agent can do for whoever asks, at
// GET /agui/{agent}/capabilities. [New] returns its handler. To run an agent is agent:chat,
// and the gate decides about it as about every call.
//
// # What of a request counts
//
// A thread is a session of the agent, which the venue keeps: its name is made of threadId,
// and no threadId leads to a session that was not begun by it. It is no secret between
// callers who are one principal. The venue knows itself what was said in it, so that of
// messages only the last counts, which has to be the user's or answers to calls of the
// client's own tools; all before it, system messages, the agent's own answers and the results
// of tools among it, is neither history nor authority. What context tells is quoted before
// that message as the client's word. state is not read. Of forwardedProps, detached alone is.
//
// # Tools of a client
//
// The agent may ask for the tools that a client sends, for one run, under names that no tool
// of the venue or the agent has. Nothing of the venue runs for such a call, and no capability
// is needed: the run ends with the call in pendingToolCallIds, behind those of the venue's own
// tools, and the ledger has that the client was asked. The next run's messages of role tool
// answer, each once and within 480 KiB in all, and reach the agent as a
// quotation. A call that gets no answer is told as unanswered.
//
// # Runs
//
// A run ends with its request: who leaves stops it, and it says so in the thread. With
// forwardedProps {"detached": true} it goes on by itself, an hour at most. POST
// /agui/{agent}/connect takes the same input, tells what the thread is by a snapshot, and
// then what comes of the run that has not ended, of agents that work for it among it. Ids of messages and calls are those of the
// venue's log, so that they are the same in each stream.
//
// # Interrupts
//
// A run that waits for the approval of a person ends with an interrupt for each; their ids
// are those of the requests. resume answers them, as approval:approve and approval:deny,
// with the payload {"approved", "reason", "when"}: limits make of an approval one of less.
// What was answered elsewhere meanwhile is left as it is.
//
// # State
//
// The state of a thread is what its agent wrote below w/ of the owner's workspace, as it lies
// there when it is told and the caller may read it: {"w": {"notes": {"a": 1}}}. A value that is
// too large is left out.
//
// # Order
//
// Events come from an emitter, which is told what happens and opens and closes by itself
// whatever the protocol wants opened and closed: no order of its calls makes a stream that
// a client refuses.
package agui
