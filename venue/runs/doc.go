// Package runs is the room of a venue where work is done: turns of conversations,
// tasks of agents, jobs, orchestrations. All of them are a [Run].
//
// [Open] opens the [Book] of all runs. [Book.Start] starts one in a goroutine that
// the book owns: nobody who listens can slow or stop it by listening. Listeners
// follow it by [Run.Events], any number of them, from any event on; [Run.Wait]
// waits for its end and [Run.Stop] stops it. [Book.Find] finds a run by its id,
// also one that has ended.
//
// A conversation is a [Session]: the runs of it in their order, as one log under a
// head that says all that a listing shows, so that a turn costs the same after ten
// thousand others. [Sessions.Open] reads no more than what the next request needs.
//
// # Keys
//
//	r/run/<owner>/<run>              record of a run
//	r/open/<owner>/<run>             mark of a run that has not ended
//	r/hold/<owner>/<run>             mark of a run that waits
//	r/key/<owner>/<call>             id of the run that a call has started
//	r/log/<owner>/<run>/<seq>        event of a run outside of sessions
//	r/head/<life>/<session>          head of a session
//	r/wait/<life>/<session>          how many messages wait in a session; none where none do
//	r/gone/<life>/<session>          mark of a session that is being removed
//	r/ses/<life>/<session>/<seq>     event of a session
//
// What is over goes by [Book.Prune] and [Sessions.Prune].
//
// Lock order: Sessions.removing, then Sessions.mu, then sessionLog.mu, then Run.mu, then Book.mu.
package runs
