package venue

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// valueDigest is a digest of what a value is once it is stored: two spellings of
// one value have the same, whatever the order of their keys and the form of
// their numbers. Text is text, whatever it holds.
func valueDigest(raw json.RawMessage) (string, error) {
	v, err := decoded(raw)
	if err != nil {
		return "", fmt.Errorf("value: %w", err)
	}
	sum := sha256.Sum256(appendCanonical(nil, v))
	return hex.EncodeToString(sum[:]), nil
}

func decoded(raw json.RawMessage) (v any, err error) {
	if !json.Valid(raw) {
		return nil, fmt.Errorf("not one JSON value")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return v, dec.Decode(&v)
}

// appendCanonical writes a decoded value in its one spelling.
func appendCanonical(dst []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(dst, v)
	case json.Number:
		return append(dst, canonicalNumber(v.String())...)
	case string:
		return strconv.AppendQuote(dst, v)
	case []any:
		dst = append(dst, '[')
		for _, item := range v {
			dst = append(appendCanonical(dst, item), ',')
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			dst = append(strconv.AppendQuote(dst, key), ':')
			dst = append(appendCanonical(dst, v[key]), ',')
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// canonicalNumber is a JSON number as digits that neither begin nor end with 0,
// and a power of ten. It is exact, and an exponent of any size costs nothing.
func canonicalNumber(text string) string {
	mantissa, exponent := strings.ToLower(text), 0
	if at := strings.IndexByte(mantissa, 'e'); at >= 0 {
		n, err := strconv.Atoi(mantissa[at+1:])
		if err != nil || n > 1<<40 || n < -1<<40 {
			return text // no number that anyone has written down twice
		}
		mantissa, exponent = mantissa[:at], n
	}
	sign := ""
	if rest, negative := strings.CutPrefix(mantissa, "-"); negative {
		sign, mantissa = "-", rest
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	return sign + short + "e" + strconv.Itoa(exponent-len(fraction)+len(digits)-len(short))
}
