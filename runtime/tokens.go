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
	if b := req.brief; b != nil && b.is(req) {
		e = b.size
	} else {
		e.briefing(req.System, req.Tools, string(req.Output))
	}
	e.quarters += req.since(0).quarters
	return e.tokens()
}

// since estimates the conversation from a message on. What a session has
// measured is not measured again, unless a wrapper sends another conversation.
func (r *Request) since(from int) (e estimate) {
	if n := len(r.Messages); from < n && n == len(r.sizes) && &r.Messages[0] == r.first {
		e = r.sizes[n-1]
		if from > 0 {
			e.quarters -= r.sizes[from-1].quarters
		}
		return e
	}
	for i := from; i < len(r.Messages); i++ {
		e.message(&r.Messages[i])
	}
	return e
}

// is reports whether the request still says what its briefing does: wrappers of
// models may send a changed copy.
func (b *Briefing) is(req *Request) bool {
	output := 0
	if b.of.output != nil {
		output = len(b.of.output.JSON())
	}
	return req.System == b.System && len(req.Tools) == len(b.Tools) && len(req.Output) == output &&
		(len(b.Tools) == 0 || &req.Tools[0] == &b.Tools[0])
}

func (e *estimate) briefing(system string, tools []Tool, output string) {
	e.text(system)
	e.text(output)
	for _, t := range tools {
		e.text(t.Name)
		e.text(t.Description)
		count(e, t.Input)
	}
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

// count counts eight bytes at a time: conversations are long, and are measured
// before each request.
func count[T string | json.RawMessage](e *estimate, s T) {
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

func (e *estimate) text(s string) { count(e, s) }
