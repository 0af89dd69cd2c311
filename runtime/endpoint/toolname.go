package endpoint

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// ToolName is the name of an earlier call as servers take it back, which is of
// letters, digits, '_' and '-', and of at most longest bytes. A model may have
// made another one up, and servers would refuse the conversation from then on;
// the call's result tells the model what was wrong with it. Names that differ
// stay different, but for an operation's own, such as "crm:lookup", which is
// that of its tool.
func ToolName(name string, longest int) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	operation := !strings.Contains(name, "_") && strings.ReplaceAll(name, ":", "_") == plain
	if (plain == name || operation) && plain != "" && len(plain) <= longest {
		return plain
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // it never fails
	tail := fmt.Sprintf("_%08x", sum.Sum32())
	return plain[:min(len(plain), longest-len(tail))] + tail
}
