package anthropic

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"usher/runtime/endpoint"
)

var form = endpoint.Form{
	Default:  "https://api.anthropic.com",
	Example:  "https://host",
	Endpoint: "/messages",
	Query:    "headers",
}

// base returns the address that the API's paths are below.
func (o *Options) base() (*url.URL, error) {
	u, err := form.Base(o.BaseURL, o.AllowHTTP)
	if err != nil {
		return nil, err
	}
	u.Path, u.RawPath = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1"), ""
	return u, nil
}

// apiVersion is the version of the API, by its documentation.
const apiVersion = "2023-06-01"

// server is the server at base.
func (o *Options) server(base *url.URL) *endpoint.Server {
	own := http.Header{"Anthropic-Version": {apiVersion}}
	if o.Key != "" {
		own.Set("X-Api-Key", string(o.Key))
	}
	return endpoint.NewServer(endpoint.Access{
		To: base, AllowHTTP: o.AllowHTTP, Transport: o.Transport, Timeout: o.Timeout,
		Key: o.Key, Secrets: o.SecretHeaders, Headers: o.Headers, Own: own,
	})
}

// post makes a request with the parameters and hands the answer to read, as a
// stream where it is one.
func (m *Model) post(ctx context.Context, path string, params any, stream bool, read func(kind string, body io.Reader) error) error {
	body, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode request to model %s: %w", m.opts.Model, err)
	}
	if stream {
		body = append(body[:len(body)-1], `,"stream":true}`...)
	}
	return m.server.Ask(ctx, endpoint.Exchange{
		URL: m.url + path, Body: body, Stream: stream, Refused: m.refused,
		Read: func(res *http.Response) error {
			kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
			return m.meant(read(kind, res.Body))
		},
	})
}

const (
	wholeType  = "application/json"
	streamType = "text/event-stream"
)

// stream reads the answer event by event.
func (m *Model) stream(body io.Reader, a *answer) error {
	events := endpoint.NewEvents(bufio.NewReaderSize(body, 32<<10), ErrFormat)
	for {
		data, err := events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return endpoint.Cut(errors.New("the stream ended early"))
		case errors.Is(err, ErrFormat):
			return err
		case err != nil:
			return m.server.Broken(err)
		}
		if data[0] != '{' {
			continue // of a server that ends its streams as other formats do
		}
		var ev sdk.MessageStreamEventUnion
		if err := json.Unmarshal(data, &ev); err != nil {
			return err
		}
		if ev.Type == "error" || events.Mistake {
			return m.told(string(data))
		}
		if err := a.event(&ev); err != nil {
			return err
		}
		if a.gone {
			return endpoint.ErrLeft
		}
		if a.complete {
			return nil
		}
	}
}

// whole takes the answer in one piece, which may come although a stream is due.
func (m *Model) whole(body io.Reader, a *answer, due, orElse string) error {
	message := new(sdk.Message)
	raw, err := m.value(body, message)
	switch {
	case err != nil:
		return err
	case message.Type == "error":
		return m.told(string(raw))
	case message.Type != "message" && due != wholeType:
		return unexpected(wholeType, due, orElse)
	}
	return a.message(message)
}

// value reads an answer that is one JSON value.
func (m *Model) value(body io.Reader, into any) ([]byte, error) {
	raw, err := m.server.Whole(body, ErrFormat)
	if err != nil {
		return nil, err
	}
	if endpoint.Half(raw) {
		return nil, endpoint.Cut(io.ErrUnexpectedEOF)
	}
	return raw, json.Unmarshal(raw, into)
}

func unexpected(got, due, orElse string) error {
	return fmt.Errorf("%w: it sent %s where %s was due: check base_url%s", ErrFormat, got, due, orElse)
}
