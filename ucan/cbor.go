package ucan

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
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

// link is a CID of any kind inside a token, in binary.
type link string

// decodeCBOR reads one value of strict DAG-CBOR: the shortest lengths, definite
// lengths, map keys that are text, in order and once, 64-bit floats, tag 42 alone.
// What it accepts has exactly one encoding, so the signature can be checked over
// the bytes that came and the CID cannot be varied (CVE-2026-42328 and the
// malleability of decoders that re-encode do not arise). It gives nil, bool, int64,
// float64, string, []byte (a piece of b), link, []any and map[string]any.
func decodeCBOR(b []byte) (any, error) {
	r := &cborReader{b: b}
	v := r.value(maxNesting)
	if r.err == nil && r.i != len(b) {
		r.fail(ErrNotCanonical, "bytes follow the token")
	}
	return v, r.err
}

// cborReader reads b from byte i on. The first error sticks.
type cborReader struct {
	b   []byte
	i   int
	err error
}

func (r *cborReader) fail(why error, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: at byte %d: "+format, append([]any{why, r.i}, args...)...)
	}
}

// take reads n bytes; nil after an error.
func (r *cborReader) take(n uint64) []byte {
	if n > uint64(len(r.b)-r.i) {
		r.fail(ErrMalformed, "the token ends early")
	}
	if r.err != nil {
		return nil
	}
	b := r.b[r.i : r.i+int(n)]
	r.i += int(n)
	return b
}

// head reads the first byte of a value, and its argument.
func (r *cborReader) head() (first byte, arg uint64) {
	b := r.take(1)
	if b == nil {
		return cborNull, 0
	}
	switch info := b[0] & 0x1f; {
	case info < 24:
		arg = uint64(info)
	case info == 31:
		r.fail(ErrNotCanonical, "a length is indefinite")
	case info > 27:
		r.fail(ErrMalformed, "byte %#x is reserved", b[0])
	default:
		n := 1 << (info - 24)
		for _, part := range r.take(uint64(n)) {
			arg = arg<<8 | uint64(part)
		}
		// A float's bits are no number; everything else takes its shortest form.
		if b[0]>>5 != cborOther && (arg < 24 || info > 24 && arg>>(8*n/2) == 0) {
			r.fail(ErrNotCanonical, "a number is longer than it needs to be")
		}
	}
	return b[0], arg
}

// value reads what encoding/json would give, or a []byte or link. Counts are not
// believed: each item has to come before room is made for the next.
func (r *cborReader) value(depth int) any {
	if depth <= 0 && r.err == nil {
		r.err = fmt.Errorf("%w: values are nested more than %d deep", ErrTooDeep, maxNesting)
	}
	first, arg := r.head()
	major := first >> 5
	if major <= cborNeg && arg > maxInt53 {
		r.fail(ErrMalformed, "an integer is beyond 53 bits")
	}
	if r.err != nil {
		return nil
	}
	switch major {
	case cborUint:
		return int64(arg)
	case cborNeg:
		return -1 - int64(arg)
	case cborBytes:
		return r.take(arg)
	case cborText:
		return r.text(arg)
	case cborArray:
		list := make([]any, 0, min(arg, 16))
		for ; arg > 0 && r.err == nil; arg-- {
			list = append(list, r.value(depth-1))
		}
		return list
	case cborMap:
		return r.fields(arg, depth)
	case cborTag:
		return r.link(arg, depth)
	}
	switch first {
	case cborNull:
	case cborFalse:
		return false
	case cborTrue:
		return true
	case cborFloat64:
		f := math.Float64frombits(arg)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			r.fail(ErrMalformed, "a float is not a number")
		}
		return f
	default:
		r.fail(ErrNotCanonical, "a simple value or a short float")
	}
	return nil
}

func (r *cborReader) text(n uint64) string {
	b := r.take(n)
	if !utf8.Valid(b) {
		r.fail(ErrMalformed, "a text is not UTF-8")
	}
	return string(b)
}

// fields reads a map of n entries. Keys come sorted by length, then bytes, each
// once (DAG-CBOR, "Map keys").
func (r *cborReader) fields(n uint64, depth int) map[string]any {
	m, last := make(map[string]any, min(n, 16)), ""
	for i := uint64(0); i < n && r.err == nil; i++ {
		first, length := r.head()
		if first>>5 != cborText {
			r.fail(ErrMalformed, "expected a text as the key")
		}
		key := r.text(length)
		if i > 0 && compareKeys(last, key) >= 0 {
			r.fail(ErrNotCanonical, "the keys of a map are not in order")
		}
		m[key], last = r.value(depth-1), key
	}
	return m
}

// link reads the CID below a tag.
func (r *cborReader) link(tag uint64, depth int) link {
	if tag != cidTag {
		r.fail(ErrMalformed, "tag %d is not a link", tag)
	}
	b, _ := r.value(depth).([]byte)
	if len(b) == 0 || b[0] != 0 || !validLink(b[1:]) {
		r.fail(ErrMalformed, "a link does not hold a CID")
		return ""
	}
	return link(b[1:])
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

// compareKeys is the order of DAG-CBOR.
func compareKeys(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// keysInOrder gives map keys in that order.
func keysInOrder(m map[string]any) []string {
	return slices.SortedFunc(maps.Keys(m), compareKeys)
}
