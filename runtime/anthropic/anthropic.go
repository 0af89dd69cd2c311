// Package anthropic asks models of Anthropic's Messages API, in the types of the
// vendor's own Go SDK.
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
	"net/url"
	"strings"

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
	server   *endpoint.Server
	thoughts thoughts
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
	m := &Model{url: strings.TrimRight(base.String(), "/") + "/v1/messages", about: o.about(base), server: o.server(base)}
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
	m.server.Close()
	return nil
}

// Generate sends the request and yields the answer as it comes. The errors of
// the sequence are [*Error] for what the server says is wrong, [ErrRefused],
// [ErrCut], [ErrFormat], [ErrTimeout], the cause of ctx, or a failure to reach
// the server.
func (m *Model) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		a := &answer{
			yield: yield, thoughts: &m.thoughts, clip: m.server.Clean, cleanID: m.server.CleanID,
			cleanName: endpoint.CalledName(req.Tools, m.server.CleanID),
		}
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
	due, orElse := streamType, ", or try stream: false"
	if m.opts.NoStream {
		due, orElse = wholeType, ", or try stream: true"
	}
	return m.post(ctx, "", params, !m.opts.NoStream, func(kind string, body io.Reader) (err error) {
		switch {
		case kind == wholeType, kind == "" && m.opts.NoStream:
			err = m.whole(body, a, due, orElse)
		case kind != "" && kind != due:
			return unexpected(kind, due, orElse)
		default:
			err = m.stream(body, a)
		}
		if err != nil {
			return err
		}
		return a.finish()
	})
}
