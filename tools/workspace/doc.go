// Package workspace keeps what agents write: one tree of JSON values for each owner, and the
// covia:* operations on it.
//
// Call [NewTree] on a store first, then [Operations] to register; end with [Tree.Close]. The venue
// reads and writes the same tree by [Tree.Get], [Tree.Put] and the methods beside them.
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
//	'x' id         -> -       the branch is garbage, or is being built
//
// The first byte of every key of this package is one of these three. A namespace of an owner is a
// branch whose id is a hash of both.
//
// # What holds
//
//   - A write is one atomic step of the store, on condition that the entry that it replaces and
//     every entry on the way to it are as they were read. Losing a race means to start again with
//     fresh reads. No lock is needed for that; the one for each owner only keeps races rare.
//   - A value too large for one step is built under fresh ids, marked 'x' until the step that
//     links it. Replacing or deleting a branch marks it in the same step. The sweeper removes what
//     is marked, after a crash too, and nothing else.
//   - A reader never sees a half-written or half-swept value. A large value that is read while
//     others write single records in it may show some of these writes and not others.
package workspace
