package ucan

import (
	"encoding/base64"
	"strings"
	"unicode"

	"github.com/multiformats/go-multibase"

	"usher/caps/value"
)

// Policy is statements of a UCAN 1.0 policy, all of which have to hold, as JSON values
// (bytes and links as DAG-JSON spells them).
type Policy []any

// Policy returns what the policy of the token says beyond its resource, nil for nothing.
func (l *Link) Policy() (left Policy) {
	if !l.isConditional() {
		return nil
	}
	env, err := Limits{TokenBytes: len(l.raw)}.openEnvelope(l.raw, tagDelegation, tagDelegation1)
	if err != nil {
		return nil // it was read before
	}
	pol, _ := field[[]any](&env.payload, "pol")
	_, _, statements := splitPolicy(pol)
	for _, s := range statements {
		left = append(left, asJSON(s))
	}
	return left
}

// asJSON spells what has no form in JSON as DAG-JSON does.
func asJSON(v any) any {
	switch v := v.(type) {
	case []byte:
		return map[string]any{"/": map[string]any{"bytes": base64.RawStdEncoding.EncodeToString(v)}}
	case link:
		text := inMultibase(multibase.Base32, []byte(v))
		if v[0] != 1 { // the first version has no base in its spelling
			text = inMultibase(multibase.Base58BTC, []byte(v))[1:]
		}
		return map[string]any{"/": text}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = asJSON(v[i])
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			m[key] = asJSON(item)
		}
		return m
	}
	return v
}

// String is the statements as one line of at most 400 bytes that a terminal may show:
// ".amount <= 100 and (.to == "a" or .to == "b")".
func (p Policy) String() string {
	const most = 400
	text := statementText([]any{"and", []any(p)}, false)
	return value.Cut(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text), most)
}

// statementText writes a statement, in brackets where it stands beside others and needs them.
func statementText(item any, beside bool) string {
	s, _ := item.([]any)
	if len(s) < 2 {
		return operandText(item)
	}
	op, _ := s[0].(string)
	last := s[len(s)-1]
	switch op {
	case "not":
		return "not (" + statementText(last, false) + ")"
	case "and", "or":
		list, _ := last.([]any)
		parts := make([]string, len(list))
		for i := range list {
			parts[i] = statementText(list[i], beside || len(list) > 1)
		}
		text := strings.Join(parts, " "+op+" ")
		switch {
		case len(list) == 0:
			return "anything"
		case beside && len(list) > 1:
			return "(" + text + ")"
		}
		return text
	}
	at, _ := s[1].(string)
	switch op {
	case "all", "any":
		return op + " of " + at + " (" + statementText(last, false) + ")"
	}
	return at + " " + op + " " + operandText(last)
}

func operandText(v any) string {
	raw, err := value.Encode(v)
	if err != nil {
		return value.A(v)
	}
	return string(raw)
}
