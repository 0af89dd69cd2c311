package completions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"usher/runtime"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/face"
	"usher/venue/runs"
)

// responseRequest is what is read of a request to /responses.
type responseRequest struct {
	Model        string          `json:"model"`
	Input        json.RawMessage `json:"input"`
	Instructions string          `json:"instructions"`
	Stream       bool            `json:"stream"`
	Previous     string          `json:"previous_response_id"`
	Conversation json.RawMessage `json:"conversation"`
	Metadata     metadata        `json:"metadata"`
	Text         struct {
		Format struct {
			Type string `json:"type"`
		} `json:"format"`
	} `json:"text"`
}

// response is a turn as clients read it.
type response struct {
	ID           string           `json:"id"`
	Object       string           `json:"object"`
	Created      int64            `json:"created_at"` // s
	Status       string           `json:"status"`
	Model        string           `json:"model"`
	Output       []*item          `json:"output"`
	Error        *responseError   `json:"error"`
	Incomplete   *reason          `json:"incomplete_details"`
	Conversation *conversationRef `json:"conversation,omitempty"`
	Previous     *string          `json:"previous_response_id"`
	Metadata     metadata         `json:"metadata"`
	Parallel     bool             `json:"parallel_tool_calls"`
	Choice       string           `json:"tool_choice"`
	Tools        []any            `json:"tools"` // those of the agent are its own
	Usage        *responseUsage   `json:"usage"`
}

type conversationRef struct {
	ID string `json:"id"`
}

type reason struct {
	Reason string `json:"reason"`
}

type responseError struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

type responseUsage struct {
	Input   int `json:"input_tokens"`
	Output  int `json:"output_tokens"`
	Total   int `json:"total_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Spent struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func responseUsageOf(u runtime.Usage) *responseUsage {
	out := &responseUsage{Input: u.Input, Output: u.Output, Total: u.Input + u.Output}
	out.Details.Cached = u.CacheRead
	return out
}

func newResponse(run, model string, created time.Time) *response {
	return &response{
		ID: responseID(run), Object: "response", Created: created.Unix(), Status: inProgress, Model: model,
		Output: []*item{}, Metadata: metadata{}, Parallel: true, Choice: "auto", Tools: []any{},
	}
}

// ends notes what the turn came to.
func (m *response) ends(o *items, said string, failure error) {
	status, out := o.end(said, failure)
	m.Status, m.Output, m.Usage = status, o.list, responseUsageOf(o.usage)
	if out != nil {
		m.Error = &responseError{out.Code, out.Message}
	}
	if status == incomplete {
		m.Incomplete = &reason{string(fault.Waiting)}
	}
}

// messages are those of the input. Items that a response had beside messages are left out:
// the venue knows what its agents did.
func (q *responseRequest) messages() ([]agentMessage, error) {
	var list []agentMessage
	if q.Instructions != "" {
		list = append(list, agentMessage{Role: "developer", Text: q.Instructions})
	}
	var text string
	if json.Unmarshal(q.Input, &text) == nil {
		return append(list, agentMessage{Role: user, Text: text}), nil
	}
	return appendMessages(list, "input", q.Input, invalid("input", "input is neither a text nor a list of items"), func(m *message) (bool, error) {
		switch m.Type {
		case "", aMessage:
			return true, nil
		case aCall, "reasoning", "mcp_list_tools":
			return false, nil
		}
		return false, invalid("type", fmt.Sprintf("an item of type %.40q cannot be told: agents of this venue hear messages", m.Type))
	})
}

// chatInput is what the agent is told, and in which session.
func (q *responseRequest) chatInput(ctx context.Context, p *venue.Principal) (in agents.Chat, conversation string, err error) {
	in.AgentID = q.Model
	if q.Model == "" {
		return in, "", invalid("model", "model is missing: give the id of an agent, as "+Prefix+"/models lists them")
	}
	if t := q.Text.Format.Type; t != "" && t != "text" {
		return in, "", invalid("text.format", "text.format cannot be had here: the agent's own configuration says what its answer fits")
	}
	list, err := q.messages()
	if err != nil {
		return in, "", err
	}
	if c := string(q.Conversation); c != "" && c != "null" {
		var by conversationRef
		if json.Unmarshal(q.Conversation, &conversation) != nil {
			if json.Unmarshal(q.Conversation, &by) != nil {
				return in, "", invalid("conversation", "conversation is neither a name nor an object with an id")
			}
			conversation = by.ID
		}
		if in.SessionID, err = sessionOf("conversation", conversation); err != nil {
			return in, "", err
		}
		in.Create, list = true, fresh(list)
	}
	if q.Previous != "" {
		if conversation != "" {
			return in, "", invalid("previous_response_id", "conversation and previous_response_id are both given: give one of them")
		}
		rec, err := recordOf(ctx, p, "previous_response_id", q.Previous)
		if err != nil {
			return in, "", err
		}
		if rec.Agent != in.AgentID {
			return in, "", invalid("model", fmt.Sprintf("the response before is of model %s: a conversation keeps its model", rec.Agent))
		}
		in.SessionID, list = rec.Session, fresh(list)
	}
	in.Message, err = say("input", list)
	return in, conversation, err
}

// recordOf is the record of a response: of a turn that answers somebody, and of no other
// run.
func recordOf(ctx context.Context, p *venue.Principal, at, id string) (runs.Record, error) {
	run, err := runOf(at, id)
	if err != nil {
		return runs.Record{}, err
	}
	rec, err := p.Run(ctx, run)
	if err == nil && (rec.Kind != runs.Task || rec.Session == "") {
		err = fault.New(fault.NotFound, fmt.Sprintf("there is no response %q", id))
	}
	return rec, err
}

func (f *Face) respond(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	var req responseRequest
	if err := read(w, r, &req); err != nil {
		return err
	}
	in, conversation, err := req.chatInput(r.Context(), p)
	if err != nil {
		return err
	}
	return f.turn(p, w, r, in, req.Stream, func(ctx context.Context, t *venue.Talk) error {
		made := newResponse(t.Run(), in.AgentID, time.Now())
		if req.Metadata != nil {
			made.Metadata = req.Metadata
		}
		if conversation != "" {
			made.Conversation = &conversationRef{conversation}
		}
		if req.Previous != "" {
			made.Previous = &req.Previous
		}
		if req.Stream {
			return streamResponse(ctx, w, t, made)
		}
		o := newItems(t.Run(), func(event) error { return nil })
		for e, err := range t.Events(ctx) {
			if err == nil {
				err = o.take(e.Event)
			}
			if err != nil {
				return err
			}
		}
		out, err := t.Answer()
		if err != nil && fault.Of(err) != fault.Waiting {
			return err
		}
		made.ends(o, text(out.Response), err)
		return face.Answer(w, face.JSON, http.StatusOK, made)
	})
}

// streamResponse sends the response as it comes. The error is one that the client was told, or
// that it is gone.
func streamResponse(ctx context.Context, w http.ResponseWriter, t *venue.Talk, made *response) error {
	s, number := face.NewStream(w), 0
	send := func(ev event) error {
		kind, _ := ev["type"].(string)
		ev["sequence_number"] = number
		number++
		return s.Send("", kind, ev)
	}
	o := newItems(t.Run(), send)
	whole := func(kind string) error { return send(event{"type": kind, "response": made}) }
	err := cmp.Or(whole("response.created"), whole("response.in_progress"))
	if err != nil {
		return err
	}
	err = face.Follow(ctx, s, t.Still, t.Events, func(e runtime.Entry, err error) error {
		if err != nil {
			return err
		}
		return o.take(e.Event)
	})
	if err != nil {
		out, _ := wrongOf(err)
		_ = send(event{"type": "error", "code": out.Code, "message": out.Message, "param": nil}) // or it is gone
		return err
	}
	out, err := t.Answer()
	if made.ends(o, text(out.Response), err); o.err != nil {
		return o.err
	}
	if fault.Of(err) == fault.Waiting {
		err = nil
	}
	return cmp.Or(whole("response."+made.Status), err)
}

// response shows a response that was made, as far as it is.
func (f *Face) response(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	rec, err := recordOf(r.Context(), p, "id", r.PathValue("id"))
	if err != nil {
		return err
	}
	return show(r.Context(), w, p, &rec)
}

func show(ctx context.Context, w http.ResponseWriter, p *venue.Principal, rec *runs.Record) error {
	made := newResponse(rec.ID, rec.Agent, time.UnixMilli(rec.Created))
	if rec.Status == runs.Started { // what it says is not whole yet
		return face.Answer(w, face.JSON, http.StatusOK, made)
	}
	o := newItems(rec.ID, func(event) error { return nil })
	for e, err := range p.Events(ctx, rec.ID, 0) {
		if err == nil {
			err = o.take(e.Event)
		}
		if err != nil {
			return err
		}
	}
	made.ends(o, text(rec.Output), failureOf(rec))
	if rec.Status == runs.Cancelled {
		made.Status, made.Error = cancelled, nil
	}
	return face.Answer(w, face.JSON, http.StatusOK, made)
}

// failureOf is why a run has no output.
func failureOf(rec *runs.Record) error {
	switch {
	case rec.Status == runs.Complete:
		return nil
	case !rec.Over():
		return fault.New(fault.Waiting, fmt.Sprintf("the turn is %s", rec.Status))
	}
	return fault.New(rec.Code, rec.Error)
}

func (f *Face) cancel(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	rec, err := recordOf(r.Context(), p, "id", r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := p.Stop(r.Context(), rec.ID); err != nil {
		return err
	}
	if rec, err = p.Run(r.Context(), rec.ID); err != nil {
		return err
	}
	return show(r.Context(), w, p, &rec)
}

var errKept = fault.New(fault.Refused, "a response is a run of the venue, in its log: it goes when its retention says so, and by no request")

func (f *Face) remove(p *venue.Principal, _ http.ResponseWriter, r *http.Request) error {
	if _, err := recordOf(r.Context(), p, "id", r.PathValue("id")); err != nil {
		return err
	}
	return errKept
}
