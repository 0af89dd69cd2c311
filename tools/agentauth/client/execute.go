package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Call asks for a capability to be executed.
type Call struct {
	ID         string          `json:"id,omitempty" jsonschema:"to tell its outcome by"` // of an item of a batch
	Capability string          `json:"capability" jsonschema:"its name there"`
	Arguments  json.RawMessage `json:"arguments,omitempty" jsonschema:"an object"`
	Location   string          `json:"-"` // of the capability, where it has one of its own

	// May says why an URL that lies where the call was sent, and not where the server lies, is not
	// asked how the call stands; nil is that each may be.
	May func(at string) error `json:"-"`
}

// Answer is what came of a call: Data once it is completed, StatusURL while it is pending.
type Answer struct {
	Status    string            `json:"status"` // completed, pending or failed
	Data      json.RawMessage   `json:"data,omitempty"`
	Chunks    []json.RawMessage `json:"chunks,omitempty"` // of a stream, before its end
	StatusURL string            `json:"status_url,omitempty"`
	Pause     time.Duration     `json:"-"` // before the status is asked for
}

// completed and Failed are the ends of a call.
const (
	completed = "completed"
	Failed    = "failed"
)

// Execute executes a capability. A token that is good for that alone goes to where it is
// executed. each is told what a stream says as it comes, and may end it by an error; with
// nil the chunks stand in the answer.
func (a *Agent) Execute(ctx context.Context, c *Call, each func(json.RawMessage) error) (*Answer, error) {
	at := c.Location
	if at == "" {
		var err error
		if at, err = a.host.Location(); err != nil {
			return nil, err
		}
	}
	token, err := a.Token(at, c.Capability)
	if err != nil {
		return nil, err
	}
	res, err := a.host.send(ctx, http.MethodPost, at, token, c)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK && isStream(res) {
		return follow(res.Body, each)
	}
	return answer(res)
}

// answer reads what an execution, or its status, says.
func answer(res *http.Response) (*Answer, error) {
	var said struct {
		Answer
		Result     json.RawMessage `json:"result"` // as the pages have it
		RetryAfter int             `json:"retry_after"`
		Error      json.RawMessage `json:"error"`
	}
	pause, err := read(res, &said)
	if err != nil {
		return nil, err
	}
	out := &said.Answer
	if out.Data == nil {
		out.Data = said.Result
	}
	switch out.Status {
	case Pending:
		out.Pause = max(pause, min(time.Duration(said.RetryAfter)*time.Second, maxPause))
	case Failed:
		return out, fmt.Errorf("the execution failed: %w", failure(said.Error))
	default:
		out.Status = completed
	}
	return out, nil
}

// failure is the error object of an execution.
func failure(raw json.RawMessage) error {
	e := &Refusal{Status: http.StatusOK, Body: raw}
	var said struct{ Code, Error, Message string }
	if json.Unmarshal(raw, &said) != nil {
		_ = json.Unmarshal(raw, &said.Code) // or nothing is known
	}
	e.Code, e.Message = cmp.Or(said.Code, said.Error), said.Message
	return e
}

// Poll asks once for the status of a call, with a token of its own. One that lies elsewhere
// than the server gets a token that counts there alone, for the call's capability, so that
// nobody there is the agent at the server.
func (a *Agent) Poll(ctx context.Context, c *Call, at string) (*Answer, error) {
	token, err := a.Token(c.Location, c.Capability)
	if a.host.Has(at) {
		token, err = a.Token("")
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	res, err := a.host.send(ctx, http.MethodGet, at, token, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return answer(res)
}

// Bounds of the pauses between polls.
const (
	firstPoll = time.Second
	lastPoll  = 30 * time.Second
)

// Wait polls a call that is pending until it has ended, or ctx has, with pauses that grow.
// Its status must lie where the server lies, or where the call was sent.
func (a *Agent) Wait(ctx context.Context, c *Call, pending *Answer) (*Answer, error) {
	out := pending
	for wait := firstPoll; out.Status == Pending; wait = min(2*wait, lastPoll) {
		if !a.host.Has(out.StatusURL) {
			if !sameOrigin(c.Location, out.StatusURL) {
				return out, fmt.Errorf("status_url is %.200q: %w", out.StatusURL, errElsewhere)
			}
			if c.May != nil && out.StatusURL != c.Location {
				if err := c.May(out.StatusURL); err != nil {
					return out, fmt.Errorf("status_url is %.200q: %w", out.StatusURL, err)
				}
			}
		}
		if err := rest(ctx, max(wait, out.Pause)); err != nil {
			return out, err
		}
		next, err := a.Poll(ctx, c, out.StatusURL)
		if slow, ok := errors.AsType[*Refusal](err); ok && slow.Status == http.StatusTooManyRequests {
			out.Pause = slow.Pause
			continue
		}
		if err != nil {
			return out, err
		}
		next.StatusURL = cmp.Or(next.StatusURL, out.StatusURL)
		out = next
	}
	return out, nil
}

// Item is what came of one call of a batch.
type Item struct {
	ID     string          `json:"id"`
	Status string          `json:"status"`
	Data   json.RawMessage `json:"data,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// Batch executes several capabilities. Each has an outcome of its own.
func (a *Agent) Batch(ctx context.Context, calls []Call) ([]Item, error) {
	var names []string
	for _, c := range calls {
		names = append(names, c.Capability)
	}
	out, err := send[struct {
		Responses []Item `json:"responses"`
	}](ctx, a.host.Server, func() (string, error) { return a.Token("", names...) }, "batch_execute", map[string]any{"requests": calls})
	if err != nil {
		return nil, err
	}
	return out.Responses, nil
}

// errOpenEnd: a stream ended without saying so.
var errOpenEnd = errors.New("the stream ended before it was done")

// follow reads a stream of server-sent events to its end: data, then done or error.
func follow(body io.Reader, each func(json.RawMessage) error) (*Answer, error) {
	out := &Answer{Status: completed}
	lines := bufio.NewScanner(io.LimitReader(body, maxAnswer))
	lines.Buffer(nil, maxAnswer)
	event, data := "", []string(nil)
	for lines.Scan() {
		field, text, _ := strings.Cut(lines.Text(), ":")
		text = strings.TrimPrefix(text, " ")
		switch {
		case lines.Text() != "":
			switch field {
			case "event":
				event = text
			case "data":
				data = append(data, text)
			}
			continue
		case event == "" && data == nil:
			continue
		}
		text = strings.Join(data, "\n")
		raw := json.RawMessage(text)
		switch event {
		case "done":
			if json.Valid(raw) {
				out.Data = raw
			}
			return out, nil
		case "error":
			return out, fmt.Errorf("the stream ended by an error: %w", failure(raw))
		case "data", "message", "":
			if !json.Valid(raw) { // a text as it is
				raw, _ = json.Marshal(text) // of a text: cannot fail
			}
			if each == nil {
				out.Chunks = append(out.Chunks, raw)
			} else if err := each(raw); err != nil {
				return out, err
			}
		}
		event, data = "", nil
	}
	if err := lines.Err(); err != nil {
		return out, fmt.Errorf("read the stream: %w", err)
	}
	return out, errOpenEnd
}
