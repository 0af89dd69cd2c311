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
	e := estimate{}
	e.text(req.System)
	e.raw(req.Output)
	for i := range req.Messages {
		e.message(&req.Messages[i])
	}
	for _, t := range req.Tools {
		e.text(t.Name)
		e.text(t.Description)
		e.raw(t.Input)
	}
	return e.tokens()
}

func estimateMessages(messages []Message) int {
	e := estimate{}
	for i := range messages {
		e.message(&messages[i])
	}
	return e.tokens()
}

// estimate counts quarters of a token.
type estimate struct{ quarters int }

func (e *estimate) tokens() int { return (e.quarters + 3) / 4 }

func (e *estimate) message(m *Message) {
	const frame = 4 * 4 // what tells one message from the next
	e.quarters += frame
	e.text(m.Text)
	e.text(m.CallID)
	e.text(m.Name)
	for _, c := range m.Calls {
		e.text(c.ID)
		e.text(c.Name)
		e.text(c.Arguments)
	}
}

// text counts eight bytes at a time: conversations are long, and are measured
// before each request.
func (e *estimate) text(s string) {
	e.quarters += len(s)
	const high = 0x8080808080808080
	for len(s) >= 8 {
		e.quarters += bits.OnesCount64(binary.LittleEndian.Uint64([]byte(s[:8])) & high)
		s = s[8:]
	}
	for i := range len(s) {
		e.quarters += int(s[i] >> 7)
	}
}

func (e *estimate) raw(r json.RawMessage) { e.text(string(r)) }
