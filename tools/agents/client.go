package agents

import (
	"encoding/json"
	"fmt"
	"strings"

	"usher/tools"
)

// ClientTool is a tool of whoever talks with an agent. The agent may ask for it as for its
// own, and nothing of the venue runs for it: the turn ends with the call pending, and the
// next one hears what whoever talks answers.
type ClientTool struct {
	Name        string          `json:"name" jsonschema:"1 to 64 letters, digits, '_' or '-', as no tool of the venue or the agent has"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty" jsonschema:"JSON Schema of the arguments, an object"`
}

// ClientAnswer answers a pending call.
type ClientAnswer struct {
	ID      string `json:"id" jsonschema:"of the pending call"`
	Content string `json:"content"`
	Failed  bool   `json:"failed,omitempty"`
}

// ClientCall is a call that whoever talks is asked to make.
type ClientCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON, an object
}

// Bounds of what whoever talks brings along.
const (
	maxClientTools = 64 // tools, and answers
	maxClientName  = 64 // bytes
	clientSigns    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
)

// checkClient says what is wrong with what whoever talks brings along, beside what takes the
// agent to know.
func (in Chat) checkClient() error {
	if n := max(len(in.Tools), len(in.Answers)); n > maxClientTools {
		return fmt.Errorf("tools and answers are %d, at most %d of each", n, maxClientTools)
	}
	seen := make(map[string]bool, len(in.Tools))
	for i, t := range in.Tools {
		if t.Name == "" || len(t.Name) > maxClientName || strings.Trim(t.Name, clientSigns) != "" {
			return fmt.Errorf("tools[%d].name is %.80q: give 1 to %d letters, digits, '_' or '-'", i, t.Name, maxClientName)
		}
		if seen[Fold(t.Name)] {
			return fmt.Errorf("tools[%d].name is %q, as another's: names differ by more than case, '_' and '-'", i, t.Name)
		}
		seen[Fold(t.Name)] = true
		if len(t.Parameters) > 0 && tools.CheckObject(t.Parameters) != nil {
			return fmt.Errorf("tools[%d].parameters is no object: give a JSON Schema", i)
		}
	}
	return nil
}

// Fold returns a tool's name without what a reader overlooks: two that fold to one are one.
func Fold(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "-", "_")
}
