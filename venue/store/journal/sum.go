package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"usher/venue/store"
)

// Sum is a hash over a set of rows, in whatever order they come and go: the sums of the four words
// of the SHA-256 of each, modulo 2^64. It finds faults. Whoever can write the folder can forge it;
// against them there are the checkpoints of the ledger.
type Sum struct {
	Rows  uint64
	Words [4]uint64
}

// sumSize is the length of a sum in records and snapshots.
const sumSize = 5 * 8

// add adds the hash of a row.
func (s *Sum) add(words [4]uint64) {
	s.Rows++
	for i, w := range words {
		s.Words[i] += w
	}
}

// remove takes a row away that was added.
func (s *Sum) remove(words [4]uint64) {
	s.Rows--
	for i, w := range words {
		s.Words[i] -= w
	}
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func hash(row store.Row) (words [4]uint64) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	b := binary.BigEndian.AppendUint64((*buf)[:0], row.Rev)
	b = binary.BigEndian.AppendUint64(b, uint64(len(row.Key)))
	b = append(b, row.Key...)
	b = append(b, row.Value...)
	digest := sha256.Sum256(b)
	*buf = b
	for i := range words {
		words[i] = binary.BigEndian.Uint64(digest[8*i:])
	}
	return words
}

func (s *Sum) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, s.Rows)
	for _, w := range s.Words {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b
}

// readSum reads what append wrote; b has sumSize bytes.
func readSum(b []byte) (s Sum) {
	s.Rows = binary.BigEndian.Uint64(b)
	for i := range s.Words {
		s.Words[i] = binary.BigEndian.Uint64(b[8+8*i:])
	}
	return s
}
