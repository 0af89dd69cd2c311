package runtime

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// EstimateTokens estimates the tokens of a request where nobody counts them: a
// token for four bytes of ASCII, which English and JSON come near, and for two
// bytes of anything else, which errs on the side of too many.
func EstimateTokens(req *Request) int {
	n := quarters(req.System) + quarters(req.Output)
	for _, t := range req.Tools {
		n += quarters(t.Name) + quarters(t.Description) + quarters(t.Input)
	}
	return (n+3)/4 + estimateMessages(req.Messages)
}

func estimateMessages(messages []Message) int {
	n := 0
	for i := range messages {
		m := &messages[i]
		const frame = 4 * 4 // what tells one message from the next
		n += frame + quarters(m.Text) + quarters(m.CallID) + quarters(m.Name)
		for _, c := range m.Calls {
			n += quarters(c.ID) + quarters(c.Name) + quarters(c.Arguments)
		}
	}
	return (n + 3) / 4
}

// quarters counts quarters of a token, eight bytes at a time: conversations are
// long, and are measured before each request.
func quarters[T string | json.RawMessage](s T) int {
	n := len(s)
	const high = 0x8080808080808080
	for len(s) >= 8 {
		n += bits.OnesCount64(binary.LittleEndian.Uint64([]byte(s[:8])) & high)
		s = s[8:]
	}
	for i := range len(s) {
		n += int(s[i] >> 7)
	}
	return n
}
