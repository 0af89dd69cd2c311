package endpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
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
	Timeout time.Duration // of one request, its answer included

	client *http.Client

	// Functions, so that nothing that prints or walks a Server finds a secret.
	authorize func(http.Header)
	Clean     func(string) string // makes a text of the server's fit to be shown
	CleanID   func(string) string // the same of ids, which go back to it and are long sometimes
}

// Access is how a [Server] is reached.
type Access struct {
	To        *url.URL // whichever path: the scheme says whether the connection may leave the machine
	AllowHTTP bool
	Transport http.RoundTripper // nil is one of the server's own
	Timeout   time.Duration     // 0 is [DefaultTimeout]

	Key     Secret
	Secrets map[string]Secret // headers
	Headers map[string]string // headers beside those
	Own     http.Header       // headers of the format; those above win
}

// DefaultTimeout is how long one request may take, the answer included, where
// nothing else is set.
const DefaultTimeout = 5 * time.Minute

// NewServer does not reach for the server.
func NewServer(a Access) *Server {
	set := a.Own.Clone()
	for name, value := range a.Headers {
		set.Set(name, value)
	}
	for name, value := range a.Secrets {
		set.Set(name, string(value))
	}
	s := &Server{
		Timeout: a.Timeout, client: newClient(a.To, a.AllowHTTP, a.Transport),
		Clean: cleanerOf(a.Key, a.Secrets), CleanID: idCleaner(a.Key, a.Secrets),
		authorize: func(h http.Header) {
			for name, values := range set {
				h[name] = slices.Clone(values)
			}
		},
	}
	if s.Timeout == 0 {
		s.Timeout = DefaultTimeout
	}
	return s
}

// Close ends the idle connections. The server stays usable.
func (s *Server) Close() { s.client.CloseIdleConnections() }

// Exchange is one request.
type Exchange struct {
	URL    string
	Body   []byte
	Stream bool // the answer is asked for in pieces

	// Read takes an answer that is one, and Refused makes an error of one whose
	// status says what is wrong.
	Read    func(*http.Response) error
	Refused func(*http.Response, []byte) error
}

// Ask makes a request within the server's timeout. When ctx has ended, its cause
// is the reason for whatever went wrong.
func (s *Server) Ask(ctx context.Context, x Exchange) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, TimedOut(s.Timeout))
	defer cancel()
	err := s.exchange(ctx, cancel, &x)
	if err != nil && ctx.Err() != nil && !errors.Is(err, ErrLeft) {
		return context.Cause(ctx)
	}
	return err
}

func (s *Server) exchange(ctx context.Context, cancel context.CancelFunc, x *Exchange) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.URL, bytes.NewReader(x.Body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "usher")
	req.Header.Set("Accept", "application/json")
	if x.Stream {
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("Accept-Encoding", "identity") // compression would hold pieces back
	}
	s.authorize(req.Header)
	res, err := s.client.Do(req)
	if err != nil {
		return Unreached(err, s.Clean)
	}
	defer res.Body.Close()
	plain(res)
	if res.StatusCode < 200 || res.StatusCode > 299 {
		body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		if err != nil && len(body) == 0 {
			return s.Broken(err)
		}
		return x.Refused(res, errorBody(body, err == nil))
	}
	if err := x.Read(res); err != nil {
		return err
	}
	// A body that is read to its end leaves its connection for the next request,
	// but a server that holds it open must not hold the answer up.
	defer time.AfterFunc(drainTime, cancel).Stop()
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10)
	return nil
}

// Broken is an [ErrCut] by a connection that broke. Of what broke it the clean
// text is left: it may repeat what the server sent, such as a trailer that is none.
func (s *Server) Broken(why error) error {
	return Passing(s.Clean(Cut(why).Error()), ErrCut)
}
