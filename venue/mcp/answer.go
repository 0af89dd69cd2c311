package mcp

import (
	"encoding/json"
	"maps"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/tools"
)

// answer is a result whose members are written here: the SDK keeps resultType, which
// 2026-07-28 wants of each, to itself.
type answer struct {
	sdk.ResultBase
	members map[string]any
}

// answerOf is an answer of the members to c.
func answerOf(c *caller, members map[string]any) *answer {
	if c.modern {
		if _, set := members["resultType"]; !set {
			members["resultType"] = "complete"
		}
	}
	return &answer{members: members}
}

// MarshalJSON writes the result.
func (a *answer) MarshalJSON() ([]byte, error) {
	members := a.members
	if len(a.Meta) > 0 {
		members = maps.Clone(members)
		members["_meta"] = a.Meta
	}
	return json.Marshal(members)
}

// text is a block of text.
func text(s string) map[string]any { return map[string]any{"type": "text", "text": s} }

// refusal is the result of a call that failed or was denied: its text for a model, and
// what programs are told of it.
func refusal(c *caller, err error) *answer {
	return answerOf(c, map[string]any{
		"content": []any{text(err.Error())}, "structuredContent": tools.Explain(err), "isError": true,
	})
}
