package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
)

// Arguments are the arguments of an earlier call as servers take them back: always
// an object. Many would refuse the whole conversation from then on for the sake
// of one call; the call's result tells the model what was wrong with it.
func Arguments(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}")
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return json.RawMessage(text)
	}
	raw, _ := json.Marshal(map[string]string{"not_json": text}) // texts cannot fail to encode
	return raw
}

// WithSchema is a system message that tells the schema of the answer, for servers
// that are not told it otherwise. It stands in front: the end is for the
// capabilities.
func WithSchema(system string, schema json.RawMessage) string {
	var compact bytes.Buffer
	if strings.Contains(system, string(schema)) || json.Compact(&compact, schema) != nil || strings.Contains(system, compact.String()) {
		return system
	}
	return strings.TrimRight("Answer with one JSON value that fits this JSON Schema, and nothing else:\n"+compact.String()+"\n\n"+system, "\n")
}

// Plain is a text with '_' for all that is not a letter, a digit, '_' or '-'.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, text)
}

// ToolName is the name of an earlier call as servers take it back, which is of
// letters, digits, '_' and '-', and of at most longest bytes. A model may have
// made another one up, and servers would refuse the conversation from then on;
// the call's result tells the model what was wrong with it. Names that differ
// stay different, but for an operation's own, such as "crm:lookup", which is
// that of its tool.
func ToolName(name string, longest int) string {
	plain := Plain(name)
	operation := !strings.Contains(name, "_") && strings.ReplaceAll(name, ":", "_") == plain
	if (plain == name || operation) && plain != "" && len(plain) <= longest {
		return plain
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // it never fails
	tail := fmt.Sprintf("_%08x", sum.Sum32())
	return plain[:min(len(plain), longest-len(tail))] + tail
}
