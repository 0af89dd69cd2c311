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
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"

	"usher/runtime"
	"usher/runtime/endpoint"
)

// Name is the provider's name in configurations.
const Name = "openai"

const maxCalls = 1024 // tool calls of one answer

// Model is a model behind one endpoint. It is safe for concurrent use. It
// prints without its key.
type Model struct {
	url    string
	about  runtime.About
	opts   Options // without the key and the headers
	server *endpoint.Server
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
	m.server.Close()
	return nil
}

// Generate sends the request and yields the answer as it comes. The errors of
// the sequence are [*Error] for what the server says is wrong, [ErrRefused],
// [ErrFiltered], [ErrCut], [ErrFormat], [ErrTimeout], the cause of ctx, or a
// failure to reach the server.
func (m *Model) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		body, err := m.body(req)
		if err == nil {
			err = m.server.Ask(ctx, endpoint.Exchange{
				URL: m.url, Body: body, Stream: !m.opts.NoStream, Refused: m.statusError,
				Read: func(res *http.Response) error { return m.receive(res, req, yield) },
			})
		}
		if err != nil && !errors.Is(err, endpoint.ErrLeft) {
			yield(runtime.Chunk{}, err)
		}
	}
}

// receive reads an answer. Whether it is one value or a stream is for the
// server to say: some do not do what was asked.
func (m *Model) receive(resp *http.Response, req *runtime.Request, yield func(runtime.Chunk, error) bool) error {
	in := bufio.NewReaderSize(io.LimitReader(resp.Body, endpoint.MaxAnswer+1), 32<<10)
	a := &answer{model: m, yield: yield, name: endpoint.CalledName(req.Tools, m.server.CleanID)}
	first, err := firstByte(in)
	switch {
	case err != nil:
		return m.server.Broken(err)
	case first == '{' || first == '[':
		return a.whole(in)
	case first == '<':
		return fmt.Errorf("%w: it sent a web page: base_url is not the address of an API (many end in /v1)", ErrFormat)
	}
	return a.stream(in)
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
