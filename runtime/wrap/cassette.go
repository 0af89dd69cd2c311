package wrap

import (
	"time"

	"usher/runtime"
)

// episode is one request and what came of it: one YAML document of a cassette.
type episode struct {
	Request recordedRequest `yaml:"request"`
	Chunks  []recordedChunk `yaml:"chunks"`
	Error   *recordedError  `yaml:"error"` // what ended the answer
	Left    bool            `yaml:"left"`  // the consumer left, or its context ended, before the answer did
}

type recordedRequest struct {
	System   exact             `yaml:"system"`
	Messages []recordedMessage `yaml:"messages"`
	Tools    []recordedTool    `yaml:"tools"`
	Output   exact             `yaml:"output"`
}

type recordedMessage struct {
	Role      exact          `yaml:"role"`
	CallID    exact          `yaml:"call_id"`
	Name      exact          `yaml:"name"`
	Failed    bool           `yaml:"failed"`
	Reasoning exact          `yaml:"reasoning"`
	Text      exact          `yaml:"text"`
	Calls     []recordedCall `yaml:"calls"`
}

type recordedCall struct {
	ID        exact `yaml:"id" json:"id"`
	Name      exact `yaml:"name" json:"name"`
	Arguments exact `yaml:"arguments" json:"arguments"`
}

type recordedTool struct {
	Name        exact `yaml:"name"`
	Description exact `yaml:"description"`
	Input       exact `yaml:"input"`
}

type recordedChunk struct {
	Text      exact          `yaml:"text" json:"text,omitempty"`
	Reasoning exact          `yaml:"reasoning" json:"reasoning,omitempty"`
	Call      *recordedDelta `yaml:"call" json:"call,omitempty"`
	Usage     *recordedUsage `yaml:"usage" json:"usage,omitempty"`
	Finish    exact          `yaml:"finish" json:"finish,omitempty"`
	Model     exact          `yaml:"model" json:"model,omitempty"`
	Delay     *recordedDelay `yaml:"delay" json:"delay,omitempty"`
}

// recordedDelay is told again in a replay, and not waited for.
type recordedDelay struct {
	Reason exact `yaml:"reason" json:"reason"`
	WaitMS int64 `yaml:"wait_ms" json:"wait_ms,omitempty"`
	Next   exact `yaml:"next" json:"next,omitempty"`
	Try    int   `yaml:"try" json:"try,omitempty"`
	Tries  int   `yaml:"tries" json:"tries,omitempty"`
}

type recordedDelta struct {
	Index     int   `yaml:"index" json:"index"`
	ID        exact `yaml:"id" json:"id,omitempty"`
	Name      exact `yaml:"name" json:"name,omitempty"`
	Arguments exact `yaml:"arguments" json:"arguments,omitempty"`
}

type recordedUsage struct {
	Input      int   `yaml:"input" json:"input"`
	Output     int   `yaml:"output" json:"output"`
	CacheRead  int   `yaml:"cache_read" json:"cache_read,omitempty"`
	CacheWrite int   `yaml:"cache_write" json:"cache_write,omitempty"`
	Cost       int64 `yaml:"cost_micros" json:"cost_micros,omitempty"`
}

type recordedError struct {
	Message    exact `yaml:"message" json:"message"`
	Temporary  *bool `yaml:"temporary" json:"temporary,omitempty"`
	RetryAfter exact `yaml:"retry_after" json:"retry_after,omitempty"` // a Go duration
	Window     bool  `yaml:"window" json:"window,omitempty"`           // it was a runtime.ErrWindow
	Class      exact `yaml:"class" json:"class,omitempty"`             // in traces
	Code       exact `yaml:"code" json:"code,omitempty"`               // of a runtime.Coded
	Details    exact `yaml:"details" json:"details,omitempty"`         // its JSON
}

func recordRequest(req *runtime.Request) recordedRequest {
	out := recordedRequest{System: exact(req.System), Output: exact(canonicalJSON(req.Output))}
	for _, m := range req.Messages {
		r := recordedMessage{Role: exact(m.Role), Text: exact(m.Text), CallID: exact(m.CallID), Name: exact(m.Name), Failed: m.Failed, Reasoning: exact(m.Reasoning)}
		for _, c := range m.Calls {
			r.Calls = append(r.Calls, recordedCall{exact(c.ID), exact(c.Name), exact(c.Arguments)})
		}
		out.Messages = append(out.Messages, r)
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, recordedTool{exact(t.Name), exact(t.Description), exact(canonicalJSON(t.Input))})
	}
	return out
}

func recordChunk(c *runtime.Chunk) recordedChunk {
	out := recordedChunk{Text: exact(c.Text), Reasoning: exact(c.Reasoning), Finish: exact(c.Finish), Model: exact(c.Model)}
	if c.Call != nil {
		out.Call = &recordedDelta{c.Call.Index, exact(c.Call.ID), exact(c.Call.Name), exact(c.Call.Arguments)}
	}
	if c.Usage != nil {
		used := recordedUsage(*c.Usage)
		out.Usage = &used
	}
	if d := c.Delay; d != nil {
		out.Delay = &recordedDelay{exact(d.Reason), d.Wait.Milliseconds(), exact(d.Next), d.Try, d.Tries}
	}
	return out
}

func (c *recordedChunk) chunk() runtime.Chunk {
	out := runtime.Chunk{Text: string(c.Text), Reasoning: string(c.Reasoning), Finish: string(c.Finish), Model: string(c.Model)}
	if c.Call != nil {
		out.Call = &runtime.CallDelta{Index: c.Call.Index, ID: string(c.Call.ID), Name: string(c.Call.Name), Arguments: string(c.Call.Arguments)}
	}
	if c.Usage != nil {
		used := runtime.Usage(*c.Usage)
		out.Usage = &used
	}
	if d := c.Delay; d != nil {
		out.Delay = &runtime.Delay{
			Reason: string(d.Reason), Wait: time.Duration(d.WaitMS) * time.Millisecond, Next: string(d.Next), Try: d.Try, Tries: d.Tries,
		}
	}
	return out
}

// scrubWith replaces the secrets in every text of the episode.
func (e *episode) scrubWith(s scrubber) {
	e.Request.scrubWith(s)
	e.answerTexts(s.across)
}

// answerTexts calls f with every text of the answer, together with those that
// it goes on in.
func (e *episode) answerTexts(f func(parts ...*string)) {
	var text, reasoning []*string
	arguments := make(map[int][]*string)
	for i := range e.Chunks {
		c := &e.Chunks[i]
		text = append(text, (*string)(&c.Text))
		reasoning = append(reasoning, (*string)(&c.Reasoning))
		f((*string)(&c.Finish))
		f((*string)(&c.Model))
		if c.Call != nil {
			arguments[c.Call.Index] = append(arguments[c.Call.Index], (*string)(&c.Call.Arguments))
			f((*string)(&c.Call.ID))
			f((*string)(&c.Call.Name))
		}
		if c.Delay != nil {
			f((*string)(&c.Delay.Reason))
			f((*string)(&c.Delay.Next))
		}
	}
	f(text...)
	f(reasoning...)
	for _, pieces := range arguments {
		f(pieces...)
	}
	if e.Error != nil {
		f((*string)(&e.Error.Message))
		f((*string)(&e.Error.Class))
		f((*string)(&e.Error.Details))
	}
}

func (r *recordedRequest) scrubWith(s scrubber) {
	each := func(texts ...*exact) {
		for _, t := range texts {
			s.across((*string)(t))
		}
	}
	each(&r.System, &r.Output)
	for i := range r.Messages {
		m := &r.Messages[i]
		each(&m.Role, &m.CallID, &m.Name, &m.Reasoning, &m.Text)
		for j := range m.Calls {
			each(&m.Calls[j].ID, &m.Calls[j].Name, &m.Calls[j].Arguments)
		}
	}
	for i := range r.Tools {
		each(&r.Tools[i].Name, &r.Tools[i].Description, &r.Tools[i].Input)
	}
}
