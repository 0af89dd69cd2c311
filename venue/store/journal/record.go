package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"usher/venue/store"
)

// record is what one group of batches writes.
type record struct {
	position uint64
	time     time.Time
	sum      Sum        // of all rows, after it
	ops      []store.Op // puts and deletes, each key once
}

// The form of a record, as an entry of the log whose index is the position:
//
//	1 byte    recordForm
//	8 bytes   position
//	8 bytes   time, ns since 1970
//	40 bytes  sum
//	the ops: 1 byte kind, length of the key, key, and for a put length of the value, value
//	4 bytes   CRC-32C of all before
//
// Lengths are unsigned varints, other numbers big endian. Position and CRC are there so that a
// record can be told from what is around it where the log is damaged.
const (
	recordForm = 1
	headSize   = 1 + 8 + 8 + sumSize
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (r *record) append(b []byte) []byte {
	start := len(b)
	b = append(b, recordForm)
	b = binary.BigEndian.AppendUint64(b, r.position)
	b = binary.BigEndian.AppendUint64(b, uint64(r.time.UnixNano()))
	b = r.sum.append(b)
	for _, op := range r.ops {
		b = append(b, byte(op.Kind))
		b = binary.AppendUvarint(b, uint64(len(op.Key)))
		b = append(b, op.Key...)
		if op.Kind == store.OpPut {
			b = binary.AppendUvarint(b, uint64(len(op.Value)))
			b = append(b, op.Value...)
		}
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

var errNoRecord = errors.New("it is no record of a journal that this version of usher can read")

// readRecord reads a record. Keys and values are parts of b.
func readRecord(b []byte) (r record, err error) {
	if len(b) < headSize+4 || b[0] != recordForm {
		return r, errNoRecord
	}
	end := len(b) - 4
	if crc32.Checksum(b[:end], castagnoli) != binary.BigEndian.Uint32(b[end:]) {
		return r, errNoRecord
	}
	r.position = binary.BigEndian.Uint64(b[1:])
	r.time = time.Unix(0, int64(binary.BigEndian.Uint64(b[9:])))
	r.sum = readSum(b[17:])
	for b = b[headSize:end]; len(b) > 0; {
		op := store.Op{Kind: store.OpKind(b[0])}
		key, rest, ok := cut(b[1:])
		if ok && op.Kind == store.OpPut {
			op.Value, rest, ok = cut(rest)
		}
		if !ok || op.Kind != store.OpPut && op.Kind != store.OpDelete {
			return r, errNoRecord
		}
		op.Key = string(key)
		r.ops = append(r.ops, op)
		b = rest
	}
	return r, nil
}

// cut takes what stands behind its length off b.
func cut(b []byte) (part, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, false
	}
	b = b[size:]
	return b[:n:n], b[n:], true
}
