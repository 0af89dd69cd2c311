package ucan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// cborWriter writes what cborReader reads: the tests' own encoder, which makes the
// tokens that go-ucan would not and shows that those that it makes are the same.
// The caller keeps the keys in order.
type cborWriter struct{ b []byte }

func (w *cborWriter) head(major byte, n uint64) {
	switch m := major << 5; {
	case n < 24:
		w.b = append(w.b, m|byte(n))
	case n <= math.MaxUint8:
		w.b = append(w.b, m|24, byte(n))
	case n <= math.MaxUint16:
		w.b = binary.BigEndian.AppendUint16(append(w.b, m|25), uint16(n))
	case n <= math.MaxUint32:
		w.b = binary.BigEndian.AppendUint32(append(w.b, m|26), uint32(n))
	default:
		w.b = binary.BigEndian.AppendUint64(append(w.b, m|27), n)
	}
}

func (w *cborWriter) text(s string) {
	w.head(cborText, uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *cborWriter) bytes(s []byte) {
	w.head(cborBytes, uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *cborWriter) int(n int64) {
	if n < 0 {
		w.head(cborNeg, uint64(-1-n))
		return
	}
	w.head(cborUint, uint64(n))
}

func (w *cborWriter) null() { w.b = append(w.b, cborNull) }

func (w *cborWriter) link(cid []byte) {
	w.head(cborTag, cidTag)
	w.bytes(append([]byte{0}, cid...))
}

// value writes a Go value made of the types that encoding/json gives: nil,
// bool, string, int64, float64, []byte, CID, link, []any, map[string]any.
func (w *cborWriter) value(v any, depth int) error {
	if depth <= 0 {
		return fmt.Errorf("%w: values are nested more than %d deep", ErrTooDeep, maxNesting)
	}
	switch v := v.(type) {
	case nil:
		w.null()
	case bool:
		w.b = append(w.b, map[bool]byte{false: cborFalse, true: cborTrue}[v])
	case string:
		if !utf8.ValidString(v) {
			return errors.New("a text is not UTF-8")
		}
		w.text(v)
	case []byte:
		w.bytes(v)
	case CID:
		w.link(v.Bytes())
	case link:
		w.link([]byte(v))
	case int:
		return w.value(int64(v), depth)
	case int64:
		if v > maxInt53 || v < -maxInt53 {
			return fmt.Errorf("integer %d is beyond 53 bits", v)
		}
		w.int(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("a float is not a number")
		}
		w.b = binary.BigEndian.AppendUint64(append(w.b, cborFloat64), math.Float64bits(v))
	case []any:
		w.head(cborArray, uint64(len(v)))
		for _, item := range v {
			if err := w.value(item, depth-1); err != nil {
				return err
			}
		}
	case map[string]any:
		w.head(cborMap, uint64(len(v)))
		for _, key := range keysInOrder(v) {
			w.text(key)
			if err := w.value(v[key], depth-1); err != nil {
				return fmt.Errorf("%q: %w", key, err)
			}
		}
	default:
		return fmt.Errorf("a value of type %T has no place in a token", v)
	}
	return nil
}

// seal signs a payload and wraps it in the envelope, whatever the payload holds:
// what the reader has to refuse, and what go-ucan does not write.
func (k Key) seal(tag string, payload map[string]any) ([]byte, error) {
	var signed cborWriter
	signed.head(cborMap, 2)
	signed.text("h")
	signed.bytes(varsig)
	signed.text(tag)
	if err := signed.value(payload, maxNesting); err != nil {
		return nil, err
	}
	var w cborWriter
	w.head(cborArray, 2)
	w.bytes(k.Sign(signed.b))
	return append(w.b, signed.b...), nil
}
