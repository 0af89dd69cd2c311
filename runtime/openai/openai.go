// Package openai asks language models that speak the Chat Completions format:
// OpenAI and Azure, and the many servers that copied the format, such as
// Ollama, vLLM, OpenRouter, Groq, DeepSeek and whatever runs on this machine.
//
// Configurations name it "openai" and start at [Provider]; programs start at
// [New]. One call of [Model.Generate] is one HTTP request. Nothing is tried
// again here: errors say whether that is worth it (see [Error] and [ErrCut]),
// and models over models act on it.
//
// Servers differ in what they make of the format. What is done about it: tool
// calls are told apart by index, id and name, whichever of them is of use;
// characters that were cut in two between two pieces are put together; an
// answer that breaks off is [ErrCut], never a shorter answer, and so is one that
// the limit on tokens cuts.
package openai

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"usher/runtime"
	"usher/runtime/endpoint"
)

// Name is the provider's name in configurations.
const Name = "openai"

// DefaultTimeout is how long one request may take, the answer included, where
// nothing else is set.
const DefaultTimeout = 5 * time.Minute

// Limits on what a server may send.
const (
	maxAnswer = 64 << 20 // bytes of one answer on the wire
	maxParts  = 64       // lines of one event; each is tried with those before it
	maxCalls  = 1024     // tool calls of one answer
	drainTime = 100 * time.Millisecond
)

// Model is a model behind one endpoint. It is safe for concurrent use. It
// prints without its key.
type Model struct {
	url     string
	about   runtime.About
	opts    Options // without the key and the headers
	client  *http.Client
	timeout time.Duration
	now     func() time.Time

	// Functions, so that nothing that prints or walks a Model finds a secret.
	authorize func(http.Header)
	clip      func(string) string
	cleanID   func(string) string
}

var (
	_ runtime.Model     = (*Model)(nil)
	_ runtime.Describer = (*Model)(nil)
)

// String names the model and where it is asked.
func (m *Model) String() string { return "openai model " + m.opts.Model + " at " + m.url }

// About names the model, and OpenAI or Azure as its provider: other servers of
// the format do not say who they are, nor how large their windows are.
func (m *Model) About() runtime.About { return m.about }

func (o *Options) about(to *url.URL) runtime.About {
	about := runtime.About{Provider: "openai", Model: o.Model, Server: endpoint.Host(to)}
	if o.APIType == APIAzure {
		about.Provider = "azure.ai.openai"
	}
	return about
}

// Close ends the idle connections to the server. The model stays usable.
func (m *Model) Close() error {
	m.client.CloseIdleConnections()
	return nil
}

// Generate sends the request and yields the answer as it comes. The errors of
// the sequence are [*Error] for what the server says is wrong, [ErrRefused],
// [ErrFiltered], [ErrCut], [ErrFormat], [ErrTimeout], the cause of ctx, or a
// failure to reach the server.
func (m *Model) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		err := m.ask(ctx, req, yield)
		if err != nil && !errors.Is(err, errStopped) {
			yield(runtime.Chunk{}, err)
		}
	}
}

// errStopped: the consumer left, so that nothing may be yielded any more.
var errStopped = errors.New("consumer stopped")

func (m *Model) ask(ctx context.Context, req *runtime.Request, yield func(runtime.Chunk, error) bool) error {
	body, err := m.body(req)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, m.timeout, endpoint.TimedOut(m.timeout))
	defer cancel()
	resp, err := m.send(ctx, body)
	if err != nil {
		return failed(ctx, endpoint.Unreached(err, m.clip))
	}
	defer resp.Body.Close()
	endpoint.Plain(resp)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return failed(ctx, m.statusError(resp))
	}
	if err := m.receive(resp, req, yield); err != nil {
		return failed(ctx, err)
	}
	// A body that is read to its end leaves its connection for the next request,
	// but a server that holds it open must not hold the answer up.
	defer time.AfterFunc(drainTime, cancel).Stop()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	return nil
}

func (m *Model) send(ctx context.Context, body []byte) (*http.Response, error) {
	hr, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := hr.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "usher")
	h.Set("Accept", "application/json")
	if !m.opts.NoStream {
		h.Set("Accept", "text/event-stream")
		h.Set("Accept-Encoding", "identity") // compression would hold pieces back
	}
	m.authorize(h)
	return m.client.Do(hr)
}

// receive reads an answer. Whether it is one value or a stream is for the
// server to say: some do not do what was asked.
func (m *Model) receive(resp *http.Response, req *runtime.Request, yield func(runtime.Chunk, error) bool) error {
	in := bufio.NewReaderSize(io.LimitReader(resp.Body, maxAnswer+1), 32<<10)
	a := &answer{model: m, yield: yield, name: endpoint.CalledName(req.Tools, m.cleanID)}
	first, err := firstByte(in)
	switch {
	case err != nil:
		return m.cut(err)
	case first == '{' || first == '[':
		return a.whole(in)
	case first == '<':
		return fmt.Errorf("%w: it sent a web page: base_url is not the address of an API (many end in /v1)", ErrFormat)
	}
	return a.stream(in)
}

// cut is an [ErrCut] by a connection that broke. Of what broke it the clean text
// is left: it may repeat what the server sent, such as a trailer that is none.
func (m *Model) cut(why error) error {
	return endpoint.NewTransient(m.clip(endpoint.Cut(why).Error()), ErrCut)
}

// firstByte skips white space, which servers send to keep a connection alive.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		c, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c, in.UnreadByte()
		}
	}
}

// failed is what err means: when ctx has ended, that is the reason for
// whatever went wrong.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, errStopped) {
		return context.Cause(ctx)
	}
	return err
}
