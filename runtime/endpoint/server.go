package endpoint

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"usher/runtime"
)

// MaxAnswer bounds an answer on the wire: bytes. The longest that is made today
// streams in about 20 MiB.
const MaxAnswer = 64 << 20

// drainTime is how long a server may take to end an answer that has come.
const drainTime = 100 * time.Millisecond

// ErrLeft says that the consumer of an answer left, so that nothing may be
// yielded any more.
var ErrLeft = errors.New("consumer left")

// Server is the server of a model. It prints without its key.
type Server struct {
	form    *Form
	url     string
	about   runtime.About
	timeout time.Duration
	now     func() time.Time
	client  *http.Client

	// Functions, so that nothing that prints or walks a Server finds a secret.
	authorize func(http.Header)
	Clean     func(string) string // makes a text of the server's fit to be shown
	CleanID   func(string) string // the same of ids, which go back to it and are long sometimes
}

// Serve returns the server whose requests go to an address, with the headers of
// the format; those of the options win. It does not reach for the server, and
// takes the secrets out of the options.
func (f *Form) Serve(o *Options, to *url.URL, own http.Header, about runtime.About) *Server {
	set := own.Clone()
	for name, value := range o.Headers {
		set.Set(name, value)
	}
	for name, value := range o.SecretHeaders {
		set.Set(name, string(value))
	}
	about.Model, about.Server = o.Model, Host(to)
	s := &Server{
		form: f, url: to.String(), about: about, timeout: o.Timeout, now: o.Now, client: newClient(to, o.AllowHTTP, o.Transport),
		Clean: cleanerOf(o.Key, o.SecretHeaders), CleanID: idCleaner(o.Key, o.SecretHeaders),
		authorize: func(h http.Header) {
			for name, values := range set {
				h[name] = slices.Clone(values)
			}
		},
	}
	if s.timeout == 0 {
		s.timeout = defaultTimeout
	}
	if s.now == nil {
		s.now = time.Now
	}
	o.Key, o.Headers, o.SecretHeaders = "", nil, nil
	return s
}

// String names the model and where it is asked.
func (s *Server) String() string { return s.form.Name + " model " + s.about.Model + " at " + s.url }

// About is what is known of the model.
func (s *Server) About() runtime.About { return s.about }

// Close ends the idle connections. The server stays usable.
func (s *Server) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// Answer takes one answer while it comes, in one of two ways. Errors of its
// methods are shown without the secrets; those that are none of this package's
// say that the server does not speak the format.
type Answer interface {
	Event(data []byte, mistake bool) (done bool, err error) // the next value of a stream; mistake is an error by its name
	IsWhole() bool                                          // a stream that ends here may, though it did not say so
	Whole(data []byte) error                                // an answer that is one value
	End() error                                             // closes an answer that came completely
}

// Ask sends body, to a path below the server's address, and hands the answer to
// a, within the server's timeout. Stream asks for it in pieces; whether it comes
// so is for the server to say. When ctx has ended, its cause is the reason for
// whatever went wrong.
func (s *Server) Ask(ctx context.Context, path string, body []byte, stream bool, a Answer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, timedOut(s.timeout))
	defer cancel()
	err := s.exchange(ctx, cancel, path, body, stream, a)
	if err != nil && ctx.Err() != nil && !errors.Is(err, ErrLeft) {
		return context.Cause(ctx)
	}
	return err
}

func (s *Server) exchange(ctx context.Context, cancel context.CancelFunc, path string, body []byte, stream bool, a Answer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "usher")
	req.Header.Set("Accept", "application/json")
	if stream {
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("Accept-Encoding", "identity") // compression would hold pieces back
	}
	s.authorize(req.Header)
	res, err := s.client.Do(req)
	if err != nil {
		return &failure{"reach the model's server: " + s.Clean(err.Error()), nil, true}
	}
	defer res.Body.Close()
	plain(res)
	if res.StatusCode < 200 || res.StatusCode > 299 {
		body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		if err != nil && len(body) == 0 {
			return s.shown(Cut(err))
		}
		return s.statusError(res, errorBody(body, err == nil))
	}
	if err := s.shown(s.receive(res.Body, a)); err != nil {
		return err
	}
	// A body that is read to its end leaves its connection for the next request,
	// but a server that holds it open must not hold the answer up.
	defer time.AfterFunc(drainTime, cancel).Stop()
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10)
	return nil
}

// receive reads an answer.
func (s *Server) receive(body io.Reader, a Answer) error {
	in := bufio.NewReaderSize(&bounded{body, MaxAnswer, s}, 16) // the smallest: larger reads pass it by
	first, err := firstByte(in)
	switch {
	case errors.Is(err, io.EOF):
		return Cut(io.ErrUnexpectedEOF)
	case err != nil:
		return broken(err)
	case first == '{' || first == '[':
		err = s.whole(in, a)
	case first == '<':
		return s.Format("it sent a web page: base_url is not the address of an API (it looks like %s)", s.form.Example)
	default:
		err = s.stream(in, a)
	}
	if err != nil {
		return err
	}
	return a.End()
}

func (s *Server) stream(in io.Reader, a Answer) error {
	events := s.events(in)
	for begun := false; ; begun = true {
		data, err := events.next()
		switch {
		case errors.Is(err, io.EOF) && a.IsWhole():
			return nil
		case errors.Is(err, io.EOF) && events.strange != "" && !begun:
			return s.Format("check base_url: it sent %s", events.strange)
		case errors.Is(err, io.EOF):
			return Cut(io.ErrUnexpectedEOF)
		case err != nil:
			return err
		}
		if done, err := a.Event(data, events.mistake); done || err != nil {
			return s.unread(err, data)
		}
	}
}

func (s *Server) whole(in io.Reader, a Answer) error {
	body, err := io.ReadAll(in)
	if err == nil && half(body) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return broken(err)
	}
	return s.unread(a.Whole(body), body)
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

// bounded is an answer that may have so many bytes more.
type bounded struct {
	io.Reader
	left   int
	server *Server
}

func (b *bounded) Read(to []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.server.Format("its answer is longer than %d bytes", MaxAnswer)
	}
	n, err := b.Reader.Read(to[:min(len(to), b.left)])
	b.left -= n
	return n, err
}

// Format is an [ErrFormat], and says why.
func (s *Server) Format(why string, args ...any) error {
	return &failure{"the model's server does not speak " + s.form.Speaks + ": " + fmt.Sprintf(why, args...), ErrFormat, false}
}
