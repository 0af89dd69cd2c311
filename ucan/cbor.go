package ucan

import (
	"encoding/binary"
	"fmt"
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

// head reads a major type and its argument.
func (r *cborReader) head() (major byte, arg uint64) {
	if r.i >= len(r.b) {
		r.fail(ErrMalformed, "the token ends early")
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
			r.fail(ErrNotCanonical, "a length is indefinite")
		} else {
			r.fail(ErrMalformed, "byte %#x is reserved", first)
		}
		return cborOther, 0
	}
	n := 1 << (info - 24)
	if len(r.b)-r.i < n {
		r.fail(ErrMalformed, "the token ends early")
		return cborOther, 0
	}
	for range n {
		arg = arg<<8 | uint64(r.b[r.i])
		r.i++
	}
	// A float's bits are no number; everything else takes its shortest form.
	if major != cborOther && (arg < 24 || info > 24 && arg>>(8*n/2) == 0) {
		r.fail(ErrNotCanonical, "a number is longer than it needs to be")
	}
	return major, arg
}

func (r *cborReader) value(depth int) any {
	if depth <= 0 && r.err == nil {
		r.err = fmt.Errorf("%w: values are nested more than %d deep", ErrTooDeep, maxNesting)
	}
	if r.err != nil {
		return nil
	}
	start := r.i
	major, arg := r.head()
	// A length counts items or bytes still to come; each takes one byte at least,
	// which bounds every allocation and every loop.
	if major >= cborBytes && major <= cborMap && arg > uint64(len(r.b)-r.i) {
		r.fail(ErrMalformed, "a length goes beyond the token")
	}
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
		list := make([]any, 0, min(arg, 16)) // the count is not believed yet
		for ; arg > 0 && r.err == nil; arg-- {
			list = append(list, r.value(depth-1))
		}
		return list
	case cborMap:
		return r.fields(arg, depth)
	case cborTag:
		return r.link(arg, depth)
	}
	switch r.b[start] {
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

func (r *cborReader) take(n uint64) []byte {
	b := r.b[r.i : r.i+int(n)]
	r.i += int(n)
	return b
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
	for i := range n {
		major, length := r.head()
		if major != cborText || length > uint64(len(r.b)-r.i) {
			r.fail(ErrMalformed, "expected a text as the key")
		}
		if r.err != nil {
			return nil
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
	if r.err == nil && (len(b) == 0 || b[0] != 0 || !validLink(b[1:])) {
		r.fail(ErrMalformed, "a link does not hold a CID")
	}
	if r.err != nil {
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

// sortedKeys gives map keys in that order.
func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}
