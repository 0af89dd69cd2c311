// Package ledger keeps the audit ledger of a venue: a transparency log of the
// gate's decisions and of what came of them. Call [Open] first and
// [Ledger.Close] last; [Ledger.RecordDecision] and [Ledger.RecordOutcome] write, readers
// call [Reader.Rows], [Reader.Last] and [Reader.Verify].
//
// The rows are the leaves of a Merkle tree (RFC 6962, as golang.org/x/mod's
// sumdb/tlog computes it). A [Checkpoint] is the tree's size and root, signed
// by the venue's key as a C2SP signed note. Whoever holds one finds any change,
// loss or exchange of a row that it covers, and any older state put in place:
// in the data folder, in an export ([VerifyExport]), or of one row by a proof
// ([Ledger.Prove]). Checkpoints are made every 1000 rows, after
// a minute at the latest, when the ledger closes, and on demand.
//
// What the store holds, below "l/":
//
//	head        the size of the tree (8 bytes, big endian), and the roots of its complete subtrees
//	row/<seq>   a row as JSON, behind the hashes of the subtrees that it completes
//	sign/<size> a checkpoint as a signed note
//
//	pruned      how many rows were pruned, and the row that says so
//	hash/<i>    a hash of the tree over those
//
// [Ledger.Prune] removes the first rows. A note, which is a row itself and signed
// before they go, names them and the root over them, so that what was pruned is
// told apart from what was cut. The checkpoints stay, with the hashes by which each
// continues the one before and by which later rows are proved: some 0.5 KiB a
// checkpoint.
//
// Rows that are written at the same time go into one batch, on condition that
// the row after the last does not exist: two writers of one store never fork
// the ledger, each continues what the other wrote.
package ledger
