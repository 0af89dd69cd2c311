package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// The form of a segment. It begins with its head, which stands there twice, in sectors of their own:
//
//	8 bytes   segmentMagic
//	8 bytes   number of the segment
//	8 bytes   position that its first record has, or will have
//	4 bytes   chain of the records before it
//	4 bytes   salt of the folder
//	4 bytes   CRC-32C of all before
//
// From headRoom on it holds frames, each with one record, and behind the last of them zeros:
//
//	4 bytes   length of the record, above 0
//	4 bytes   chain: CRC-32C that goes on from the one before with the record
//	4 bytes   zeros
//	4 bytes   CRC-32C that goes on from the salt with the twelve bytes before
//	the record, and zeros up to a multiple of frameAlign
//
// The start of a frame lies in one sector, which a disk writes whole or not at all: where it is neither
// zero nor as its sum says, it is damaged. As long as it is sound, what is behind its record is found.
// The salt keeps a value that was made to look like a frame from being taken for one.
const (
	segmentMagic = "usherseg"
	segmentHead  = 8 + 8 + 8 + 4 + 4 + 4
	headRoom     = 2 * sectorSize
	frameHead    = 16
	frameAlign   = 16
	sectorSize   = 512
)

// head is how a segment begins.
type head struct {
	seq, first  uint64
	chain, salt uint32
}

// append appends both copies, and the zeros behind each.
func (h head) append(b []byte) []byte {
	for range 2 {
		start := len(b)
		b = append(b, segmentMagic...)
		b = binary.BigEndian.AppendUint64(b, h.seq)
		b = binary.BigEndian.AppendUint64(b, h.first)
		b = binary.BigEndian.AppendUint32(b, h.chain)
		b = binary.BigEndian.AppendUint32(b, h.salt)
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
		b = append(b, make([]byte, start+sectorSize-len(b))...)
	}
	return b
}

var errHead = errors.New("it does not begin as a segment does")

// readSegmentHead reads the head that b begins with.
func readSegmentHead(b []byte) (h head, err error) {
	if len(b) < segmentHead || string(b[:8]) != segmentMagic || crc32.Checksum(b[:segmentHead-4], castagnoli) != binary.BigEndian.Uint32(b[segmentHead-4:]) {
		return h, errHead
	}
	return head{binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:]), binary.BigEndian.Uint32(b[24:]), binary.BigEndian.Uint32(b[28:])}, nil
}

// headOf reads the head of a segment, both copies of which must be as they were written.
func headOf(raw []byte) (h head, err error) {
	if h, err = readSegmentHead(raw); err == nil && string(raw[:min(headRoom, len(raw))]) != string(h.append(nil)) {
		err = errHead
	}
	return h, err
}

// appendFrame appends the frame of a record, and returns the chain after it.
func appendFrame(b, record []byte, chain, salt uint32) ([]byte, uint32) {
	start := len(b)
	chain = crc32.Update(chain, castagnoli, record)
	b = binary.BigEndian.AppendUint32(b, uint32(len(record)))
	b = binary.BigEndian.AppendUint32(b, chain)
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, crc32.Update(salt, castagnoli, b[start:]))
	b = append(b, record...)
	return append(b, make([]byte, (start-len(b))&(frameAlign-1))...), chain
}

// frameSize is how many bytes the frame of a record of n bytes has.
func frameSize(n int64) int64 { return (frameHead + n + frameAlign - 1) &^ (frameAlign - 1) }

var errRecord = errors.New("a record is not as it was written")

// frameLength reads how long the record is whose frame b begins with.
func frameLength(b []byte, salt uint32) (n int64, err error) {
	n = int64(binary.BigEndian.Uint32(b))
	if n == 0 || binary.BigEndian.Uint32(b[8:]) != 0 || crc32.Update(salt, castagnoli, b[:12]) != binary.BigEndian.Uint32(b[12:]) {
		return 0, errRecord
	}
	return n, nil
}

// image is a segment in memory, without most of the zeros at its end: size counts them too.
type image struct {
	raw  []byte
	size int64
}

// part returns the bytes from one offset to another, as far as the segment reaches.
func (i *image) part(from, to int64) []byte {
	to = min(to, i.size)
	if n := to - int64(len(i.raw)); n > 0 {
		i.raw = append(i.raw, make([]byte, n)...)
	}
	return i.raw[min(from, to):to]
}

// frame reads the frame at an offset, and returns its record, the chain after it and how long it is.
// [io.EOF] says that no frame was begun there, [io.ErrUnexpectedEOF] that one was, and not written
// whole: it ends behind the segment, or what a sector has of it is zero.
func (i *image) frame(offset int64, chain, salt uint32) (record []byte, next uint32, size int64, err error) {
	b := i.part(offset, offset+frameHead)
	if zeros(b) {
		return nil, 0, 0, io.EOF
	}
	if len(b) < frameHead {
		return nil, 0, 0, io.ErrUnexpectedEOF
	}
	n, err := frameLength(b, salt)
	if err != nil {
		return nil, 0, 0, err
	}
	size = frameSize(n)
	if b = i.part(offset, offset+size); int64(len(b)) < size {
		return nil, 0, 0, io.ErrUnexpectedEOF
	}
	record = b[frameHead : frameHead+n : frameHead+n]
	next = crc32.Update(chain, castagnoli, record)
	switch {
	case next == binary.BigEndian.Uint32(b[4:]) && zeros(b[frameHead+n:]):
		return record, next, size, nil
	case missesSector(b, offset):
		return nil, 0, 0, io.ErrUnexpectedEOF
	}
	return nil, 0, 0, errRecord
}

// missesSector reports whether a part of a frame that one sector holds is zero.
func missesSector(frame []byte, offset int64) bool {
	for len(frame) > 0 {
		n := min(int64(len(frame)), sectorSize-offset%sectorSize)
		if zeros(frame[:n]) {
			return true
		}
		frame, offset = frame[n:], offset+n
	}
	return false
}
