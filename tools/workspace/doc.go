// Package workspace keeps what agents write: one tree of JSON values for each owner, and the
// covia:* operations on it.
//
// Call [NewTree] on a store first, then [Operations] to register; end with [Tree.Close]. The venue
// reads the same tree by [Tree.Get] and the methods beside it.
//
// # How a tree is stored
//
// A value of at most 4 KiB is one leaf: compact JSON with sorted keys, numbers as they were
// written. A larger map or array is a branch: it has a random id, and each of its children is an
// entry of its own, again a leaf or a branch. So reading or writing one record of a collection
// costs the same whether the collection holds ten or a million.
//
//	'd' id segment -> node    an entry of a branch: a key of a map, eight bytes of an array index
//	'n' id         -> count   how many entries the branch has
//	'x' id         -> -       the branch is garbage
//	'a' owner name -> author  who wrote what lies at a name below o/
//
// The first byte of every key of this package is one of these four. A namespace of an owner is a
// branch whose id is a hash of both. What lies below o/ is looked at as a whole, and always one
// leaf for each name.
//
// # What holds
//
//   - A read takes everything from one snapshot of the store.
//   - A write is one batch, on condition that the entry that it replaces and every entry on the way
//     to it are as they were read. Losing a race means to start again with fresh reads. No lock is
//     needed for that; those of writers only keep races rare, and the time of one is bounded by
//     what one batch can hold. So one value has at most 1,000,000 bytes of JSON, while a
//     collection that is written piece by piece has no bound.
//   - Replacing or deleting a branch marks it in the same batch. The sweeper removes what is
//     marked, after a crash too, in batches of its own.
package workspace
