package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Bounds of what is read of a server, in bytes and time.
const (
	maxAnswer  = 4 << 20
	answerTime = 60 * time.Second // of whatever is no stream
	maxPause   = time.Hour        // that a server can ask for
)

// Refusal is the answer of a server that does not do what it is asked for.
type Refusal struct {
	Status    int             // of HTTP
	Code      string          // such as capability_not_granted; empty where the server gave none
	Message   string          // its own words
	Body      json.RawMessage // whole, as it came; nil where it is no JSON
	Challenge string          // WWW-Authenticate
	Pause     time.Duration   // that it asks for before the next try; 0 for none
}

func (e *Refusal) Error() string {
	text := "the server answers " + strconv.Itoa(e.Status)
	if e.Code != "" {
		text += " " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// signer makes the token of a request; nobody makes none.
type signer func() (string, error)

func nobody() (string, error) { return "", nil }

// look asks an endpoint for what the values select.
func look[T any](ctx context.Context, s *Server, sign signer, endpoint string, values url.Values) (*T, error) {
	query := ""
	if len(values) > 0 {
		query = "?" + values.Encode()
	}
	out := new(T)
	return out, s.request(ctx, sign, http.MethodGet, endpoint, query, nil, out)
}

// send sends a body to an endpoint.
func send[T any](ctx context.Context, s *Server, sign signer, endpoint string, body any) (*T, error) {
	out := new(T)
	return out, s.request(ctx, sign, http.MethodPost, endpoint, "", body, out)
}

func (s *Server) request(ctx context.Context, sign signer, method, endpoint, query string, body, into any) error {
	token, err := sign()
	if err != nil {
		return err
	}
	at, err := s.endpoint(endpoint)
	if err != nil {
		return err
	}
	return s.exchange(ctx, method, at+query, token, body, into)
}

func (s *Server) exchange(ctx context.Context, method, at, token string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	res, err := s.send(ctx, method, at, token, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = read(res, into)
	return err
}

// send makes one request. The caller closes the body of the answer.
func (s *Server) send(ctx context.Context, method, at, token string, body any) (*http.Response, error) {
	var sent io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode a request: %w", err)
		}
		sent = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, at, sent)
	if err != nil {
		return nil, fmt.Errorf("%.200q is no URL", at)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := s.opts.HTTP.Do(req)
	if err != nil {
		if of, ok := errors.AsType[*url.Error](err); ok {
			err = of.Err
		}
		return nil, fmt.Errorf("ask %s: %w", req.URL.Host, err)
	}
	return res, nil
}

// read reads an answer, and how long a server asks to wait before the next request.
func read(res *http.Response, into any) (pause time.Duration, err error) {
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return 0, fmt.Errorf("read the answer: %w", err)
	}
	if len(raw) > maxAnswer {
		return 0, fmt.Errorf("the answer is longer than %d MiB", maxAnswer>>20)
	}
	pause = pauseOf(res)
	if res.StatusCode/100 != 2 {
		return pause, refusal(res, raw, pause)
	}
	if into == nil {
		return pause, nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return pause, fmt.Errorf("the answer is not what the protocol has: %.200s", err.Error())
	}
	return pause, nil
}

func refusal(res *http.Response, raw []byte, pause time.Duration) *Refusal {
	e := &Refusal{Status: res.StatusCode, Challenge: res.Header.Get("WWW-Authenticate"), Pause: pause}
	var said struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	if json.Valid(raw) {
		e.Body = raw
		_ = json.Unmarshal(raw, &said) // a body of another shape has no code
		e.Code, e.Message = said.Error, said.Message
	}
	return e
}

func pauseOf(res *http.Response) time.Duration {
	n, err := strconv.Atoi(strings.TrimSpace(res.Header.Get("Retry-After")))
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(min(n, int(maxPause/time.Second)))*time.Second, maxPause)
}

func isStream(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return kind == "text/event-stream"
}

// rest waits, or until ctx ends. Nothing of the house is linked in for it.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Violations are the bounds of a grant that a call was beyond, as JSON; empty for none.
func (e *Refusal) Violations() string {
	var said struct {
		Violations json.RawMessage `json:"violations"`
	}
	if json.Unmarshal(e.Body, &said) != nil {
		return ""
	}
	return string(said.Violations)
}
