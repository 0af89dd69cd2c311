package ucan

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// CBOR major types (RFC 8949, 3.1) as DAG-CBOR uses them.
const (
	cborUint  = 0
	cborNeg   = 1
	cborBytes = 2
	cborText  = 3
	cborArray = 4
	cborMap   = 5
	cborTag   = 6
	cborOther = 7

	cborNull    = 0xf6
	cborFalse   = 0xf4
	cborTrue    = 0xf5
	cborFloat64 = 0xfb
	cidTag      = 42
)

// maxInt53 bounds integers: UCAN 1.0 keeps to what every JSON reader holds.
const maxInt53 = 1<<53 - 1

// cborReader reads strict DAG-CBOR: the shortest lengths, definite lengths, map
// keys that are text, in order and once, 64-bit floats, tag 42 alone. What it
// accepts has exactly one encoding, so the signature can be checked over the
// bytes that came and the CID cannot be varied (CVE-2026-42328 and the
// malleability of decoders that re-encode do not arise). The first error sticks.
type cborReader struct {
	b   []byte
	i   int
	err error
}

func (r *cborReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: at byte %d: "+format, append([]any{ErrMalformed, r.i}, args...)...)
	}
}

func (r *cborReader) notCanonical(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: at byte %d: %s", ErrNotCanonical, r.i, what)
	}
}

// head reads a major type and its argument.
func (r *cborReader) head() (major byte, arg uint64) {
	if r.err != nil {
		return cborOther, 0
	}
	if r.i >= len(r.b) {
		r.fail("the token ends early")
		return cborOther, 0
	}
	first := r.b[r.i]
	major, info := first>>5, first&0x1f
	r.i++
	if info < 24 {
		return major, uint64(info)
	}
	if info > 27 {
		if info == 31 {
			r.notCanonical("a length is indefinite")
		} else {
			r.fail("byte %#x is reserved", first)
		}
		return cborOther, 0
	}
	n := 1 << (info - 24)
	if len(r.b)-r.i < n {
		r.fail("the token ends early")
		return cborOther, 0
	}
	for range n {
		arg = arg<<8 | uint64(r.b[r.i])
		r.i++
	}
	// A float's bits are no number; everything else takes its shortest form.
	if major != cborOther && (arg < 24 || info > 24 && arg>>(8*n/2) == 0) {
		r.notCanonical("a number is longer than it needs to be")
	}
	return major, arg
}

func (r *cborReader) want(major byte, what string) uint64 {
	got, arg := r.head()
	if r.err == nil && got != major {
		r.fail("expected %s", what)
	}
	if r.err != nil {
		return 0
	}
	return arg
}

// length reads a head whose argument counts items or bytes still to come; each
// takes one byte at least, which bounds every allocation and every loop.
func (r *cborReader) length(major byte, what string) int {
	n := r.want(major, what)
	if n > uint64(len(r.b)-r.i) {
		r.fail("%s is longer than the token", what)
		return 0
	}
	return int(n)
}

func (r *cborReader) chunk(major byte, what string) []byte {
	n := r.length(major, what)
	if r.err != nil {
		return nil
	}
	s := r.b[r.i : r.i+n]
	r.i += n
	return s
}

func (r *cborReader) bytes() []byte { return r.chunk(cborBytes, "a byte string") }

func (r *cborReader) text() []byte {
	s := r.chunk(cborText, "a text")
	if !utf8.Valid(s) {
		r.fail("a text is not UTF-8")
		return nil
	}
	return s
}

func (r *cborReader) int() int64 {
	major, arg := r.head()
	if r.err == nil && major != cborUint && major != cborNeg {
		r.fail("expected an integer")
	}
	if arg > maxInt53 {
		r.fail("an integer is beyond 53 bits")
	}
	if r.err != nil {
		return 0
	}
	if major == cborNeg {
		return -1 - int64(arg)
	}
	return int64(arg)
}

// null consumes a null if one is next.
func (r *cborReader) null() bool {
	if r.err != nil || r.i >= len(r.b) || r.b[r.i] != cborNull {
		return false
	}
	r.i++
	return true
}

// cid reads a link to a token.
func (r *cborReader) cid() CID {
	c, ok := cidFromBytes(r.link())
	if !ok {
		r.fail("a link is not the CID of a token")
	}
	return c
}

// link reads any CID and returns its binary form.
func (r *cborReader) link() []byte {
	if tag := r.want(cborTag, "a link"); r.err == nil && tag != cidTag {
		r.fail("tag %d is not a link", tag)
	}
	b := r.bytes()
	if r.err == nil && (len(b) == 0 || b[0] != 0 || !validLink(b[1:])) {
		r.fail("a link does not hold a CID")
	}
	if r.err != nil {
		return nil
	}
	return b[1:]
}

// validLink reports whether b is a well-formed binary CID, of any codec and
// hash: arguments and metadata may point at anything.
func validLink(b []byte) bool {
	if len(b) == 34 && b[0] == 0x12 && b[1] == 0x20 {
		return true // CIDv0
	}
	var parts [4]uint64 // version, codec, hash, digest length
	for i := range parts {
		v, n := binary.Uvarint(b)
		if n <= 0 || n > 1 && b[n-1] == 0 {
			return false
		}
		parts[i], b = v, b[n:]
	}
	return parts[0] == 1 && parts[3] == uint64(len(b)) && len(b) <= 64
}

// fields reads a map and calls field for each key, which must consume the
// value. Keys come sorted by length, then bytes, each once (DAG-CBOR, "Map
// keys").
func (r *cborReader) fields(field func(key string)) {
	n := r.length(cborMap, "a map")
	var last []byte
	for i := 0; i < n && r.err == nil; i++ {
		key := r.text()
		if i > 0 && r.err == nil && !keyLess(last, key) {
			r.notCanonical("the keys of a map are not in order")
		}
		if r.err != nil {
			return
		}
		field(string(key))
		last = key
	}
}

func keyLess(a, b []byte) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return string(a) < string(b)
}

// value checks any value and returns its bytes.
func (r *cborReader) value() []byte {
	start := r.i
	r.skip(maxNesting)
	if r.err != nil {
		return nil
	}
	return r.b[start:r.i]
}

func (r *cborReader) skip(depth int) {
	if r.err != nil {
		return
	}
	if depth <= 0 {
		r.err = fmt.Errorf("%w: values are nested more than %d deep", ErrTooDeep, maxNesting)
		return
	}
	if r.i >= len(r.b) {
		r.fail("the token ends early")
		return
	}
	switch first := r.b[r.i]; first >> 5 {
	case cborUint, cborNeg:
		r.int()
	case cborBytes:
		r.bytes()
	case cborText:
		r.text()
	case cborArray:
		for n := r.length(cborArray, "a list"); n > 0 && r.err == nil; n-- {
			r.skip(depth - 1)
		}
	case cborMap:
		r.fields(func(string) { r.skip(depth - 1) })
	case cborTag:
		r.link()
	default:
		switch first {
		case cborNull, cborFalse, cborTrue:
			r.i++
		case cborFloat64:
			_, bits := r.head()
			if f := math.Float64frombits(bits); math.IsNaN(f) || math.IsInf(f, 0) {
				r.fail("a float is not a number")
			}
		default:
			r.notCanonical("a simple value or a short float")
		}
	}
}

// end refuses what is left over.
func (r *cborReader) end() error {
	if r.err == nil && r.i != len(r.b) {
		r.notCanonical("bytes follow the token")
	}
	return r.err
}
