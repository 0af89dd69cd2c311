// Package journal is the engine of a store on disk. Call [Open] first, and Close
// last.
//
// Every group of batches is first a record of an append-only journal, which is synced; only then it
// is applied to an index, and only then acknowledged. The journal is the truth. The index (package
// badger) is what reads and conditions ask; nothing in it is synced, and it is made anew from a
// snapshot and the journal whenever it is in doubt. What it must hold is known by a [Sum] over all
// rows, which each record carries.
//
// A data folder:
//
//	format              the number of the form of the folder
//	LOCK                held by the process that has the folder open
//	journal/            segments, whose records form a chain of checksums
//	archive/            segments that a snapshot covers, compressed
//	snapshots/          all rows at one position, compressed; each was read back before it counts
//	index/<n>/          the index; the highest n is in use
//
// A position counts the records, from 1 on. It is the revision of the keys that a record writes.
package journal
