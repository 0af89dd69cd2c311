package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	vendor "github.com/sashabaranov/go-openai"

	"usher/runtime"
	"usher/runtime/endpoint"
)

// answer is one answer while it comes.
type answer struct {
	*endpoint.Exchange
	tools []runtime.Tool // that were offered

	refusal  strings.Builder
	calls    calls
	usage    runtime.Usage
	filtered string
	finish   vendor.FinishReason
	begun    bool     // there was a choice
	spoke    bool     // with something in its delta
	message  *message // with an answer in one piece; of several, the last
}

var _ endpoint.Answer = (*answer)(nil)

// IsWhole reports whether the finish reason came: some servers end without [DONE].
func (a *answer) IsWhole() bool { return a.finish != "" }

// Event takes the next piece of a stream.
func (a *answer) Event(data []byte, mistake bool) (done bool, err error) {
	if string(data) == "[DONE]" {
		return true, nil
	}
	var r reply
	err = json.Unmarshal(data, &r)
	switch {
	case mistake, r.Object == "error":
		return false, a.ReadError(data)
	case err != nil:
		return false, err
	}
	return false, a.take(&r)
}

// Whole takes an answer that is one JSON value.
func (a *answer) Whole(body []byte) error {
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		if body[0] == '[' && json.Valid(body) {
			return a.ReadError(body)
		}
		return err
	}
	if r.Object == "error" {
		return a.ReadError(body)
	}
	if len(r.Choices) == 0 && !endpoint.IsSaid(r.Error) {
		return a.Format("no choices in its answer: %s", body)
	}
	return a.take(&r)
}

// take passes on what a reply holds.
func (a *answer) take(r *reply) error {
	if endpoint.IsSaid(r.Error) {
		return a.ReadError(r.Error)
	}
	a.Names(string(r.Model))
	for i := range r.Choices {
		c := &r.Choices[i]
		if c.Index != 0 {
			continue // one choice was asked for
		}
		a.begun = true
		if endpoint.IsSaid(c.Error) {
			return a.ReadError(c.Error)
		}
		a.spoke = a.spoke || !c.Delta.empty()
		if c.Message != nil {
			a.message = c.Message
		}
		if err := a.takeMessage(&c.Delta); err != nil {
			return err
		}
		if c.Finish != "" && c.Finish != vendor.FinishReasonNull {
			a.finish = c.Finish
		}
		if len(c.Filter) > 2 {
			if found := endpoint.FilterCategories(c.Filter); found != "" {
				a.filtered = found
			}
		}
	}
	if u := r.Usage; u != nil {
		if now := u.usage(); now != a.usage && now != (runtime.Usage{}) { // some end with an empty one
			a.usage = now
			return a.Send(runtime.Chunk{Usage: &now})
		}
	}
	return nil
}

func (a *answer) takeMessage(m *message) error {
	// Some send both kinds of reasoning, with the same text.
	if c := (runtime.Chunk{Reasoning: string(cmp.Or(m.ReasoningContent, m.Reasoning)), Text: string(m.Content)}); c != (runtime.Chunk{}) {
		if err := a.Send(c); err != nil {
			return err
		}
	}
	a.refusal.WriteString(string(m.Refusal))
	if m.Function != nil {
		m.Calls = append(m.Calls, call{Function: *m.Function})
	}
	for i := range m.Calls {
		if err := a.MayCall(len(a.calls)); err != nil {
			return err
		}
		if err := a.sendCalls(a.calls.add(&m.Calls[i])); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) sendCalls(pieces []runtime.CallDelta) error {
	for i := range pieces {
		d := &pieces[i]
		d.ID, d.Name = a.CleanID(d.ID), a.ToolName(d.Name, a.tools)
		if err := a.Send(runtime.Chunk{Call: d}); err != nil {
			return err
		}
	}
	return nil
}

// filters are what servers end an answer with that a content filter stopped.
var filters = []string{
	string(vendor.FinishReasonContentFilter),
	"content_filtered", "guardrail_intervened", // Bedrock
	"safety", "recitation", "blocklist", "prohibited_content", "spii", // Gemini
	"sensitive",   // GLM
	"error_toxic", // Cohere
}

// End closes an answer that the server says is over, or says in which way it
// is none.
func (a *answer) End() error {
	if a.message != nil && !a.spoke {
		for i := range a.message.Calls {
			a.message.Calls[i].Index = &i // in a whole answer each entry is a call
		}
		if err := a.takeMessage(a.message); err != nil {
			return err
		}
	}
	if a.finish != "" { // without, it may be cut, and another try is worth it while nothing was passed on
		if err := a.sendCalls(a.calls.beginnings()); err != nil {
			return err
		}
	}
	finish := strings.ToLower(string(a.finish)) // some gateways shout
	switch {
	case a.refusal.Len() > 0:
		return fmt.Errorf("%w: %s", endpoint.ErrRefused, a.refusal.String())
	case finish == "refusal": // Anthropic
		return endpoint.ErrRefused
	case slices.Contains(filters, finish):
		if a.filtered == "" && a.finish != vendor.FinishReasonContentFilter {
			a.filtered = a.reason()
		}
		if a.filtered == "" {
			return fmt.Errorf("%w: the answer", endpoint.ErrFiltered)
		}
		return fmt.Errorf("%w: the answer, for %s", endpoint.ErrFiltered, a.filtered)
	case !a.begun:
		return endpoint.Cut(errors.New("the server ended it before anything came"))
	}
	switch a.finish {
	case vendor.FinishReasonStop, vendor.FinishReasonToolCalls, vendor.FinishReasonFunctionCall:
	case "error", "abort", "cancelled", "insufficient_system_resource": // OpenRouter, Mistral, vLLM, DeepSeek
		return endpoint.Cut(fmt.Errorf("the server gave up (%s)", a.finish))
	case "model_length", "model_context_window_exceeded": // Mistral, Anthropic behind OpenRouter
		return endpoint.ErrFull
	default:
		// At a limit on tokens a call is cut wherever it stands, and empty
		// arguments would pass as none.
		name, half := a.calls.half()
		switch {
		case half && a.finish == "":
			return endpoint.Cut(fmt.Errorf("the server ended it within a call of %s", name))
		case half:
			return fmt.Errorf("%w: it ended within a call of %s (finish reason %q): a higher max_tokens may help", endpoint.ErrCut, name, a.reason())
		case finish == string(vendor.FinishReasonLength), finish == "max_tokens": // Gemini and Cohere
			return endpoint.ErrMaxTokens
		}
	}
	if a.finish == "" {
		return nil
	}
	return a.Send(runtime.Chunk{Finish: a.reason()})
}

// reason is why the answer ended, as it may be shown.
func (a *answer) reason() string { return a.Word(string(a.finish)) }
