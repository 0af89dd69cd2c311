package ledger

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// tree is a Merkle tree that grows: its size, and the roots of its complete
// subtrees from the largest to the smallest, which is all that growing needs.
type tree struct {
	size  uint64
	peaks []tlog.Hash
}

// add appends a leaf, and to above the roots of the larger subtrees that the
// leaf completes, from the lowest up: [subtreeLength] bytes of them.
func (t *tree) add(leaf tlog.Hash, above []byte) []byte {
	t.size++
	for range bits.TrailingZeros64(t.size) {
		last := len(t.peaks) - 1
		leaf = tlog.NodeHash(t.peaks[last], leaf)
		t.peaks = t.peaks[:last]
		above = append(above, leaf[:]...)
	}
	t.peaks = append(t.peaks, leaf)
	return above
}

func (t *tree) root() tlog.Hash {
	if t.size == 0 {
		return emptyRoot
	}
	i := len(t.peaks) - 1
	root := t.peaks[i]
	for i--; i >= 0; i-- {
		root = tlog.NodeHash(t.peaks[i], root)
	}
	return root
}

// set makes t a copy of from.
func (t *tree) set(from *tree) {
	t.size, t.peaks = from.size, append(t.peaks[:0], from.peaks...)
}

// emptyRoot is the root of no leaves.
var emptyRoot, _ = tlog.TreeHash(0, nil)

// equal reports whether the rows of both trees are the same.
func (t *tree) equal(other *tree) bool {
	return t.size == other.size && slices.Equal(t.peaks, other.peaks)
}

// head is the size and the root of a tree.
type head struct {
	size uint64
	root tlog.Hash
}

func (t *tree) head() head { return head{t.size, t.root()} }

// append writes the tree down as the store's head: its size and its peaks,
// which say the same as its root and need no hashing.
func (t *tree) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, t.size)
	for i := range t.peaks {
		b = append(b, t.peaks[i][:]...)
	}
	return b
}

// maxSize keeps the numbers of hashes below those of rows within 63 bits.
const maxSize = 1 << 60

func parseTree(raw []byte) (*tree, error) {
	if len(raw) < 8 {
		return nil, fmt.Errorf("%w: its head cannot be read", ErrBroken)
	}
	t := &tree{size: binary.BigEndian.Uint64(raw)}
	raw = raw[8:]
	if t.size > maxSize || len(raw) != bits.OnesCount64(t.size)*tlog.HashSize {
		return nil, fmt.Errorf("%w: its head cannot be read", ErrBroken)
	}
	for peak := range slices.Chunk(raw, tlog.HashSize) {
		t.peaks = append(t.peaks, tlog.Hash(peak))
	}
	return t, nil
}

// subtreeLength is the length of the hashes that stand before the row in its
// record: the roots of the subtrees of two leaves and more that it completes.
func subtreeLength(seq uint64) int { return bits.TrailingZeros64(seq) * tlog.HashSize }

// record reads the record of a row: the hashes, and the row's JSON.
func (r *Reader) record(ctx context.Context, seq uint64) (hashes, row []byte, err error) {
	raw, _, err := r.view.Get(ctx, rowKey(seq))
	if err != nil {
		return nil, nil, err
	}
	if raw == nil {
		if p, err := r.PruneNote(ctx); err != nil {
			return nil, nil, err
		} else if seq <= p.To {
			return nil, nil, &p
		}
	}
	return split(seq, raw)
}

func split(seq uint64, raw []byte) (hashes, row []byte, err error) {
	n := subtreeLength(seq)
	if len(raw) <= n {
		return nil, nil, fmt.Errorf("%w: row %d is missing", ErrBroken, seq)
	}
	return raw[:n], raw[n:], nil
}

// hashes reads the tree's hashes out of the records, as proofs need them. A
// leaf's hash is that of the row as it is stored now.
func (r *Reader) hashes(ctx context.Context) tlog.HashReaderFunc {
	return func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			level, n := tlog.SplitStoredHashIndex(index)
			hashes, row, err := r.record(ctx, uint64(n+1)<<level)
			if _, pruned := errors.AsType[*PruneNote](err); pruned {
				if out[i], err = r.spareHash(ctx, index, err); err == nil {
					continue
				}
			}
			switch {
			case err != nil:
				return nil, err
			case level == 0:
				out[i] = tlog.RecordHash(row)
			default:
				copy(out[i][:], hashes[(level-1)*tlog.HashSize:])
			}
		}
		return out, nil
	}
}

// grown reads the tree that the first rows make.
func grown(size uint64, hashes tlog.HashReader) (t tree, err error) {
	t.size = size
	if size == 0 {
		return t, nil
	}
	var indexes []int64
	for end, rest := uint64(0), size; rest != 0; {
		level := bits.Len64(rest) - 1
		indexes = append(indexes, tlog.StoredHashIndex(level, int64(end>>level)))
		end += 1 << level
		rest &^= 1 << level
	}
	t.peaks, err = hashes.ReadHashes(indexes)
	return t, err
}
