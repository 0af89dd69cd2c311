package ucan

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// decodeValue turns the bytes of one value, which a cborReader has already
// checked, into Go values: nil, bool, int64, float64, string, []byte, link,
// []any and map[string]any.
func decodeValue(checked []byte) any {
	r := &cborReader{b: checked}
	return r.decode()
}

// link is a CID of any kind inside arguments or a policy, in binary.
type link string

func (r *cborReader) decode() any {
	if r.err != nil || r.i >= len(r.b) {
		return nil
	}
	switch first := r.b[r.i]; first >> 5 {
	case cborUint, cborNeg:
		return r.int()
	case cborBytes:
		return r.bytes()
	case cborText:
		return string(r.text())
	case cborArray:
		list := make([]any, r.length(cborArray, "a list"))
		for i := range list {
			list[i] = r.decode()
		}
		return list
	case cborMap:
		m := map[string]any{}
		r.fields(func(key string) { m[key] = r.decode() })
		return m
	case cborTag:
		return link(r.link())
	default:
		if first == cborFloat64 && len(r.b)-r.i >= 9 {
			bits := binary.BigEndian.Uint64(r.b[r.i+1:])
			r.i += 9
			return math.Float64frombits(bits)
		}
		r.i++
		switch first {
		case cborTrue:
			return true
		case cborFalse:
			return false
		}
		return nil
	}
}

// sortedKeys gives map keys in the order of DAG-CBOR.
func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return keys
}
