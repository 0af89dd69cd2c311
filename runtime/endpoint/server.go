package endpoint

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"usher/runtime"
)

// drainTime is how long a server may take to end an answer that has come.
const drainTime = 100 * time.Millisecond

// errLeft says that the consumer of an answer left, so that nothing may be
// yielded any more.
var errLeft = errors.New("consumer left")

// Server is the server of a model. It prints without its key.
type Server struct {
	form    *Form
	url     string
	about   runtime.About
	options Options // without the key and the headers
	client  *http.Client
	header  func(ctx context.Context) (set http.Header, secrets []string, err error) // of a request
}

// Serve returns the server whose requests go to an address, with the headers of
// the format, to which authorize adds the key; those of the options win. It does
// not reach for the server, and takes the secrets out of the options.
func (f *Form) Serve(o *Options, to *url.URL, own http.Header, authorize func(h http.Header, key string), about runtime.About) *Server {
	about.Model, about.Server = o.Model, Host(to)
	s := &Server{form: f, url: to.String(), about: about, client: newClient(to, o.AllowHTTP, o.Transport)}
	// A function, so that nothing that prints or walks a Server finds a secret.
	key, headers, secrets := o.Key, o.Headers, o.Secrets
	s.header = func(ctx context.Context) (set http.Header, held []string, err error) {
		set = own.Clone()
		read := func(setting string, secret Secret) string {
			text := string(secret)
			var missing error
			if secrets != nil && reference().MatchString(text) {
				text, missing = secrets(ctx, setting, text)
			}
			err = errors.Join(err, missing, CheckValue(setting, text))
			return text
		}
		if key != "" {
			held = append(held, read(KeySetting, key))
			authorize(set, held[0])
		}
		for _, name := range slices.Sorted(maps.Keys(headers)) {
			text := read(HeadersSetting+": "+name, headers[name])
			set.Set(name, text)
			if holdsKey(name) || reference().MatchString(string(headers[name])) {
				held = append(held, text)
			}
		}
		return set, held, err
	}
	o.Key, o.Headers, o.Secrets = "", nil, nil
	if s.options = *o; o.Now == nil {
		s.options.Now = time.Now
	}
	s.options.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	return s
}

// String names the model and where it is asked.
func (s *Server) String() string { return s.form.Name + " model " + s.about.Model + " at " + s.url }

// About is what is known of the model.
func (s *Server) About() runtime.About { return s.about }

// Ready says which of the keys that its requests need are not there now.
func (s *Server) Ready(ctx context.Context) error {
	_, _, err := s.header(ctx)
	return err
}

// Close ends the idle connections. The server stays usable.
func (s *Server) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// Chunks asks for an answer with the body that begin makes, and yields it as it
// comes: what begin makes beside takes it, and sends its pieces by the exchange.
func (s *Server) Chunks(ctx context.Context, begin func(*Exchange) (body []byte, a Answer, err error)) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		x := &Exchange{form: s.form, now: s.options.Now, yield: yield}
		body, a, err := begin(x)
		if err == nil {
			err = s.ask(ctx, "", body, !bool(s.options.NoStream), x, a)
		}
		if err != nil && !x.left {
			yield(runtime.Chunk{}, err)
		}
	}
}

// Fetch asks for an answer that is one JSON value, at a path below the server's
// address, and reads it into what to points to.
func (s *Server) Fetch(ctx context.Context, path string, body []byte, to any) error {
	return s.ask(ctx, path, body, false, &Exchange{form: s.form, now: s.options.Now}, one{to})
}

// ask sends body, and hands the answer to a, within the server's timeout. Stream
// asks for it in pieces; whether it comes so is for the server to say. The keys
// are read anew. When ctx has ended, its cause is the reason for whatever went
// wrong.
func (s *Server) ask(ctx context.Context, path string, body []byte, stream bool, x *Exchange, a Answer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.Timeout, timeoutError(s.options.Timeout))
	defer cancel()
	header, secrets, err := s.header(ctx)
	if err == nil {
		x.hide = Redactor(secrets...)
		err = s.exchange(ctx, cancel, path, body, stream, header, x, a)
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, errLeft) {
		return context.Cause(ctx)
	}
	return err
}

// one is an answer that is one JSON value.
type one struct{ to any }

func (one) IsWhole() bool                    { return false }
func (one) End() error                       { return nil }
func (one) Event([]byte, bool) (bool, error) { return false, errors.New("it sent a stream") }
func (o one) Whole(data []byte) error        { return json.Unmarshal(data, o.to) }

func (s *Server) exchange(ctx context.Context, cancel func(), path string, body []byte, stream bool, header http.Header, x *Exchange, a Answer) error {
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
	maps.Copy(req.Header, header)
	res, err := s.client.Do(req)
	if err != nil {
		return Transient("reach the model's server: "+x.clean(err.Error()), nil)
	}
	defer res.Body.Close()
	from := io.Reader(res.Body)
	if strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip") { // although nobody asked for that
		if from, err = gzip.NewReader(from); err != nil {
			return x.safeError(cutError(err))
		}
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		body, err := io.ReadAll(io.LimitReader(from, maxErrorBody))
		if err != nil && len(body) == 0 {
			return x.safeError(Cut(err))
		}
		return x.statusError(res, errorBody(body, err == nil))
	}
	if err := x.safeError(x.receive(from, a)); err != nil {
		return err
	}
	// A body that is read to its end leaves its connection for the next request,
	// but a server that holds it open must not hold the answer up.
	defer time.AfterFunc(drainTime, cancel).Stop()
	_, _ = io.CopyN(io.Discard, from, 4<<10)
	return nil
}
