// Package schedules is the room of a venue that fires what was scheduled. [New] makes
// the [Room], which answers the operations scheduler:schedule, list, cancel and
// trigger; [Room.Run] fires, until its context ends.
//
// A schedule fires once for each of its times: moving it on to its next time, and
// storing the record of the job that it starts, is one conditional batch. The job has
// what it needs in its record: the operation, the input, and the authority of whoever
// made the schedule, sealed. The gate computes at the call what that allows.
//
// The keys, below "e/":
//
//	rec/<owner>/<name>         the schedule
//	due/<time>/<owner>/<name>  when it fires next
//	past/<time>/<owner>/<name> the last time that passed without a firing of its own, until it fires in time again
//	done/<owner>/<time>/<name> one that has fired for the last time
//	count/<owner>              how many there are
//
// Waiting costs one timer, and no memory for each schedule. Times are compared with the
// clock, and never with what has passed: a clock that leaps forward makes times pass,
// as a venue does that is down; when it is set back, what passed is still to come, but
// for times that have fired.
package schedules
