// Package venue is where agents live: it holds their records, sessions, jobs and
// data in one embedded store, runs their turns, and puts one gate in front of
// everything that they, their orchestrations and their owners do.
//
// [Open] a venue, take a [User] of it, and create agents there:
//
//	v, err := venue.Open(ctx, &venue.Options{Dir: "data"})
//	defer v.Close()
//	alice, err := v.User(ctx, "alice")
//	carol, err := alice.CreateAgent(ctx, spec)
//	for ev, err := range carol.Chat(ctx, "Approve INV-7") { … }
//
// Lock order, where more than one lock is held: agent.write, then Session's
// own, then ledger.mu. Below accounts.mu there is only a budget's own lock.
package venue
