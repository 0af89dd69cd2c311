// Package venue is where agents live: it opens the rooms of a venue over one
// embedded store, and puts one gate in front of everything that agents, their
// orchestrations and their owners do.
//
// [Open] a venue, take a [Principal] of it by name or by token, and create agents:
//
//	v, err := venue.Open(ctx, &venue.Options{Dir: "data"})
//	defer v.Close()
//	alice, err := v.User(ctx, "alice")
//	carol, err := alice.CreateAgent(ctx, spec)
//	for ev, err := range carol.Chat(ctx, "Approve INV-7") { … }
//
// A room has the fields that it uses, and no venue: agents over runs and accounts,
// models over keys and config, apply over config, runs over ledger, all over store.
//
// # Locks
//
// Where more than one lock is held, it is in this order: one session (see
// usher/venue/runs), then the accounts, then one budget, then the ledger, then the
// store. The book of agents is locked alone.
package venue
