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
	if req.measured == req {
		return req.tokens
	}
	n := 0
	for i := range req.Messages {
		n += weight(&req.Messages[i])
	}
	return estimateBrief(req.System, req.Tools, req.Output) + whole(n)
}

// measure lets a request know what it takes: it is made of parts that were measured
// before, and nobody changes it any more. A copy of it is measured anew.
func (r *Request) measure(tokens int) { r.tokens, r.measured = tokens, r }

// estimateBrief estimates what a request says beside the conversation.
func estimateBrief(system string, tools []Tool, output json.RawMessage) int {
	n := quarters(system) + quarters(output)
	for _, t := range tools {
		n += quarters(t.Name) + quarters(t.Description) + quarters(t.Input)
	}
	return whole(n)
}

// weight is what a message takes, in quarters of a token.
func weight(m *Message) int {
	const frame = 4 * 4 // what tells one message from the next
	n := frame + quarters(m.Text) + quarters(m.CallID) + quarters(m.Name)
	for _, c := range m.Calls {
		n += quarters(c.ID) + quarters(c.Name) + quarters(c.Arguments)
	}
	return n
}

// whole is a number of quarters in tokens.
func whole(quarters int) int { return (quarters + 3) / 4 }

// quarters counts quarters of a token, eight bytes at a time: conversations are
// long.
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
