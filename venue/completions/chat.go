package completions

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"usher/runtime"
	"usher/tools/agents"
	"usher/venue"
	"usher/venue/face"
)

// chatRequest is what is read of a request to /chat/completions.
type chatRequest struct {
	Model    string          `json:"model"`
	Messages json.RawMessage `json:"messages"`
	Stream   bool            `json:"stream"`
	Metadata metadata        `json:"metadata"`
	Options  struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// completion is an answer, or a piece of one.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"` // s
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index   int          `json:"index"`
	Message *chatMessage `json:"message,omitempty"`
	Delta   *delta       `json:"delta,omitempty"`
	Finish  *string      `json:"finish_reason"`
}

type chatMessage struct {
	Role    string  `json:"role"`
	Content string  `json:"content"`
	Refusal *string `json:"refusal"`
}

type delta struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content,omitempty"`
}

// usage counts tokens, of all that the turn asked its model.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func usageOf(u runtime.Usage) *usage {
	out := &usage{Prompt: u.Input, Completion: u.Output, Total: u.Input + u.Output}
	out.Details.Cached = u.CacheRead
	return out
}

// chatInput is what the agent is told, and in which session.
func (c *chatRequest) chatInput() (in agents.Chat, err error) {
	in.AgentID = c.Model
	if c.Model == "" {
		return in, invalid("model", "model is missing: give the id of an agent, as "+Prefix+"/models lists them")
	}
	list, err := appendMessages(nil, "messages", c.Messages, invalid("messages", "messages is no list of messages"), func(*message) (bool, error) { return true, nil })
	if err != nil {
		return in, err
	}
	if name, named := c.Metadata["conversation"]; named {
		if in.SessionID, err = sessionOf("metadata.conversation", name); err != nil {
			return in, err
		}
		in.Create, list = true, fresh(list)
	}
	in.Message, err = say("messages", list)
	return in, err
}

func (f *Face) chat(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	var req chatRequest
	if err := read(w, r, &req); err != nil {
		return err
	}
	in, err := req.chatInput()
	if err != nil {
		return err
	}
	return f.turn(p, w, r, in, req.Stream, func(ctx context.Context, t *venue.Talk) error {
		made := completion{ID: "chatcmpl-" + t.Run(), Created: time.Now().Unix(), Model: in.AgentID}
		if req.Stream {
			return streamChat(ctx, w, t, &made, req.Options.Usage)
		}
		var c recital
		for e, err := range t.Events(ctx) {
			if err != nil {
				return err
			}
			c.take(e.Event)
		}
		out, err := t.Answer()
		if _, err := c.end(text(out.Response), err, t.Run()); err != nil {
			return err
		}
		made.Object, made.Usage = "chat.completion", usageOf(c.usage)
		made.Choices = []choice{{Message: &chatMessage{Role: assistant, Content: c.text.String()}, Finish: c.reason()}}
		return face.Answer(w, face.JSON, http.StatusOK, made)
	})
}

// turn says something to an agent, and has answer tell what comes of it, which may take as long
// as it takes. A stream is one of those that the caller follows.
func (f *Face) turn(p *venue.Principal, w http.ResponseWriter, r *http.Request, in agents.Chat, stream bool, answer func(context.Context, *venue.Talk) error) error {
	if stream {
		done, err := f.door.Streams.Begin(p.Place(), p.Guest())
		if err != nil {
			return err
		}
		defer done()
	}
	if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	t, err := p.Talk(ctx, in)
	if err != nil {
		cancel()
		return err
	}
	defer t.Answer() //nolint:errcheck // it is waited for
	defer cancel()
	if err := answer(ctx, t); err != nil {
		return &face.LateError{Err: err, Told: stream}
	}
	return nil
}

// reason is why the text ends.
func (c *recital) reason() *string {
	reason := "stop"
	switch c.finish {
	case "length", "max_tokens":
		reason = "length"
	}
	return &reason
}

// text is what an agent says as a text: an answer that is no text, as JSON.
func text(response json.RawMessage) string {
	var text string
	if json.Unmarshal(response, &text) != nil {
		return string(response)
	}
	return text
}

// streamChat sends the answer as it comes. The error is one that the client was told, or that
// it is gone.
func streamChat(ctx context.Context, w http.ResponseWriter, t *venue.Talk, made *completion, counts bool) (err error) {
	s := face.NewStream(w)
	made.Object = "chat.completion.chunk"
	send := func(d delta, finish *string) error {
		made.Choices = []choice{{Delta: &d, Finish: finish}}
		return s.Send("", "", made)
	}
	defer func() {
		if err != nil {
			out, _ := wrongOf(err)
			_ = s.Send("", "", map[string]wrong{"error": out}) // or it is gone
		}
	}()
	if err := send(delta{Role: assistant}, nil); err != nil {
		return err
	}
	var c recital
	err = face.Follow(ctx, s, t.Still, t.Events, func(e runtime.Entry, err error) error {
		if err != nil {
			return err
		}
		if grown := c.take(e.Event); grown != "" {
			return send(delta{Content: grown}, nil)
		}
		return nil
	})
	if err != nil {
		return err
	}
	out, err := t.Answer()
	grown, err := c.end(text(out.Response), err, t.Run())
	if err == nil && grown != "" {
		err = send(delta{Content: grown}, nil)
	}
	if err == nil {
		err = send(delta{}, c.reason())
	}
	if err == nil && counts {
		made.Choices, made.Usage = []choice{}, usageOf(c.usage)
		err = s.Send("", "", made)
	}
	if err == nil {
		err = s.Text("[DONE]")
	}
	return err
}

// responseID is the id of a run as one of a response.
func responseID(run string) string { return responsePrefix + run }

const responsePrefix = "resp_"

func runOf(at, id string) (string, error) {
	run, ok := strings.CutPrefix(id, responsePrefix)
	if !ok {
		return "", invalid(at, fmt.Sprintf("%.80q is no id of a response", id))
	}
	return run, nil
}
