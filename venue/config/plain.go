package config

import (
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// joinPlain undoes a fault of the lexer: within a flow mapping it takes every
// colon after a word for the end of a key, so that {tools: [covia:read]} would
// hold the mapping {covia: read}. In YAML 1.2 (7.3.3) a colon that no space and
// no bracket follows is part of the text.
func joinPlain(src *source, tokens token.Tokens) (token.Tokens, error) {
	flow := 0
	out := make(token.Tokens, 0, len(tokens))
	for i := 0; i < len(tokens); i++ {
		tk := tokens[i]
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		}
		// It also takes a second colon for text, where YAML allows none.
		if flow > 0 && isPlain(tk) && strings.Contains(tk.Value+" ", ": ") {
			return nil, unclearColon(src, tk)
		}
		if flow == 0 || tk.Type != token.MappingValueType || len(out) == 0 || i+1 == len(tokens) {
			out = append(out, tk)
			continue
		}
		key, next := out[len(out)-1], tokens[i+1]
		if !isPlain(key) || !follows(tk, next, 1) || isBracket(next) {
			out = append(out, tk)
			continue
		}
		if !isPlain(next) || !follows(key, tk, utf8.RuneCountInString(key.Value)) {
			return nil, unclearColon(src, tk)
		}
		if strings.Contains(next.Value+" ", ": ") {
			return nil, unclearColon(src, tk)
		}
		joined := *key
		joined.Type, joined.Value, joined.Origin = token.StringType, key.Value+":"+next.Value, key.Origin+tk.Origin+next.Origin
		joined.Next = next.Next
		if joined.Prev != nil {
			joined.Prev.Next = &joined
		}
		if joined.Next != nil {
			joined.Next.Prev = &joined
		}
		out[len(out)-1] = &joined
		i++
	}
	return out, nil
}

func unclearColon(src *source, tk *token.Token) error {
	return fault{src.at(posOf(tk)), "it is not clear which colon here ends a key: write one space after that one, and text with a colon in quotes"}
}

// isPlain reports whether a token is a scalar without quotes.
func isPlain(tk *token.Token) bool {
	switch tk.Type {
	case token.StringType, token.IntegerType, token.FloatType, token.BoolType, token.NullType, token.InfinityType,
		token.NanType, token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType:
		return true
	}
	return false
}

func isBracket(tk *token.Token) bool {
	switch tk.Type {
	case token.MappingStartType, token.SequenceStartType, token.MappingEndType, token.SequenceEndType, token.CollectEntryType:
		return true
	}
	return false
}

// follows reports whether b stands where a, of the given width, ends.
func follows(a, b *token.Token, width int) bool {
	return a.Position.Line == b.Position.Line && a.Position.Column+width == b.Position.Column
}
