// Package anthropic asks models of Anthropic's Messages API, over the vendor's
// own Go SDK.
//
// Configurations name it "anthropic" and start at [Provider]; programs start at
// [New]. One call of [Model.Generate] is one HTTP request. Nothing is tried
// again here: errors say whether that is worth it (see [Error] and [ErrCut]),
// and models over models act on it. The environment is not read, but for the
// secrets that a configuration looks for there.
//
// What the API asks of a conversation is done here: the results of one answer's
// calls stand in one message, roles alternate, ids are unique, empty text is
// left out, and what a model thought before it called tools goes back to it
// with the results.
package anthropic

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"usher/runtime"
	"usher/runtime/endpoint"
)

// Name is the provider's name in configurations.
const Name = "anthropic"

// Model is a model behind one endpoint. It is safe for concurrent use. It
// prints without its key.
type Model struct {
	opts     Options // without the key and the headers
	url      string
	about    runtime.About
	messages sdk.MessageService
	http     *http.Client
	thoughts thoughts

	// Functions, so that nothing that prints or walks a Model finds a secret.
	clip, cleanID func(string) string
}

var (
	_ runtime.Model     = (*Model)(nil)
	_ runtime.Describer = (*Model)(nil)
	_ runtime.Counter   = (*Model)(nil)
)

// New returns the model that o describes. It does not reach for the server.
func New(o Options) (*Model, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	base, err := o.base()
	if err != nil {
		return nil, err
	}
	o.fill()
	m := &Model{url: base.String(), about: o.about(base), http: o.client(base), clip: endpoint.Cleaner(o.Key, o.SecretHeaders), cleanID: endpoint.IDCleaner(o.Key, o.SecretHeaders)}
	// The SDK would read keys, profiles and addresses from the environment, emit
	// spans to whatever the process registers, and try again on its own.
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithMaxRetries(0),
		option.WithHTTPClient(m.http),
		option.WithBaseURL(m.url),
		option.WithRequestTimeout(o.Timeout),
	}
	if o.Key != "" {
		opts = append(opts, option.WithAPIKey(string(o.Key)))
	}
	for name, value := range o.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	for name, value := range o.SecretHeaders {
		opts = append(opts, option.WithHeader(name, string(value)))
	}
	m.messages = sdk.NewClient(opts...).Messages
	o.Key, o.Headers, o.SecretHeaders = "", nil, nil
	m.opts = o
	return m, nil
}

// String names the model and where it is asked.
func (m *Model) String() string { return "anthropic model " + m.opts.Model + " at " + m.url }

// About names the model, and its window where the API is the vendor's own: see
// [DefaultWindow].
func (m *Model) About() runtime.About { return m.about }

func (o *Options) about(base *url.URL) runtime.About {
	about := runtime.About{Provider: "anthropic", Model: o.Model, Server: endpoint.Host(base)}
	if form.Default == "https://"+about.Server {
		about.Window = DefaultWindow
	}
	return about
}

// Close ends the idle connections to the server. The model stays usable.
func (m *Model) Close() error {
	m.http.CloseIdleConnections()
	return nil
}

// Generate sends the request and yields the answer as it comes. The errors of
// the sequence are [*Error] for what the server says is wrong, [ErrRefused],
// [ErrCut], [ErrFormat], [ErrTimeout], the cause of ctx, or a failure to reach
// the server.
func (m *Model) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		a := &answer{yield: yield, thoughts: &m.thoughts, clip: m.clip, cleanID: m.cleanID, cleanName: endpoint.CalledName(req.Tools, m.cleanID)}
		if err := m.ask(ctx, req, a); err != nil && !a.gone {
			yield(runtime.Chunk{}, err)
		}
	}
}

func (m *Model) ask(ctx context.Context, req *runtime.Request, a *answer) error {
	params, answerTool, err := m.params(req)
	if err != nil {
		return fmt.Errorf("make the request to model %s: %w", m.opts.Model, err)
	}
	a.tool = answerTool
	ctx, cancel := context.WithTimeoutCause(ctx, m.opts.Timeout, endpoint.TimedOut(m.opts.Timeout))
	defer cancel()
	if m.opts.NoStream {
		err = m.whole(ctx, params, a)
	} else {
		err = m.stream(ctx, params, a)
	}
	if err == nil {
		err = a.finish()
	}
	if err != nil {
		return m.failed(ctx, err)
	}
	return nil
}

// drainTime is how long a server may take to end a stream after its last event.
const drainTime = 100 * time.Millisecond

// stream reads the answer event by event.
func (m *Model) stream(ctx context.Context, params sdk.MessageNewParams, a *answer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := m.messages.NewStreaming(ctx, params, option.WithMiddleware(expect(streamType, ", or try stream: false")),
		option.WithHeader("Accept", "text/event-stream"),
		option.WithHeader("Accept-Encoding", "identity")) // compression would hold pieces back
	if err := stream.Err(); err != nil {
		return err
	}
	defer func() { _ = stream.Close() }() // what was read is what counts
	for stream.Next() {
		ev := stream.Current()
		if err := a.event(&ev); err != nil {
			return err
		}
		if a.gone {
			return nil
		}
		if a.complete {
			// A body that is read to its end leaves its connection for the next
			// request, but a server that holds it open must not hold the answer up.
			defer time.AfterFunc(drainTime, cancel).Stop()
			stream.Next()
			return nil
		}
	}
	return cut(stream.Err())
}

// whole takes the answer in one piece.
func (m *Model) whole(ctx context.Context, params sdk.MessageNewParams, a *answer) error {
	message, err := m.messages.New(ctx, params, option.WithMiddleware(expect(wholeType, ", or try stream: true")))
	switch {
	case ended(err):
		return cut(io.ErrUnexpectedEOF)
	case err != nil:
		return err
	case message != nil && message.Type == "error":
		return m.told(message.RawJSON())
	}
	return a.message(message)
}
