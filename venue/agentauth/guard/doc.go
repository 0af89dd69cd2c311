// Package guard stands before a service that executes capabilities for a venue elsewhere: the
// one that the location of a capability names. [New] makes a [Guard] from the URL of the venue
// and the secret that the venue knows the service by, and [Guard.Handler] puts it before what
// executes. An agent brings a JWT that is made out to the URL of the service and names one
// capability; the guard asks the venue what that is worth (POST /agent/introspect) with each
// call, so that what a person revokes ends at once, lets each JWT through once, and holds the
// arguments against the constraints of the grant. [Guard.Status] is for what takes longer. It
// imports the standard library and usher/caps alone.
//
// A guard remembers the JWTs that it let through for as long as they could come again, in memory:
// 2,000 of one agent and 200,000 of all, each with an id of at most 256 bytes. Who sends more is
// told to wait (429). What it remembers is of one process: several behind one URL would each let a
// JWT through.
package guard
