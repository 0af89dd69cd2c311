package anthropic

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/option"

	"usher/runtime/endpoint"
)

var form = endpoint.Form{
	Default:  "https://api.anthropic.com",
	Example:  "https://host",
	Endpoint: "/messages",
	Query:    "headers",
}

// base returns the address that the SDK starts from.
func (o *Options) base() (*url.URL, error) {
	u, err := form.Base(o.BaseURL, o.AllowHTTP)
	if err != nil {
		return nil, err
	}
	u.Path, u.RawPath = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1"), "" // the SDK adds it
	return u, nil
}

// client is the common one, with bounded answers.
func (o *Options) client(base *url.URL) *http.Client {
	c := endpoint.Client(base, o.AllowHTTP, o.Transport)
	c.Transport = bounded{c.Transport}
	return c
}

// maxAnswer bounds the body of an answer on the wire: bytes. The longest that
// the API gives today streams in about 20 MiB.
const maxAnswer = 64 << 20

// bounded bounds the bodies of answers: the SDK reads them to their end.
type bounded struct{ next http.RoundTripper }

func (t bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	endpoint.Plain(res)
	res.Body = &boundedBody{res.Body, maxAnswer, errTooLong}
	if res.StatusCode >= 400 {
		res.Body = &boundedBody{res.Body, endpoint.MaxErrorBody, io.EOF}
	}
	return res, nil
}

// CloseIdleConnections lets [http.Client] reach the transport's.
func (t bounded) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type boundedBody struct {
	io.ReadCloser
	left int
	end  error // after that
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.end
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

const (
	wholeType  = "application/json"
	streamType = "text/event-stream"
)

// expect refuses a success of another form: the SDK would find no events in it,
// and the answer would look cut. What to do about it comes after "check base_url".
func expect(mediaType, orElse string) option.Middleware {
	return func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		res, err := next(req)
		if err != nil || res.StatusCode >= 400 {
			return res, err
		}
		if res.StatusCode >= 300 {
			res.Body.Close()
			return nil, fmt.Errorf("%w: it redirects (%s): set base_url to the final address", ErrFormat, res.Status)
		}
		got, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
		switch {
		case got == mediaType, got == "":
			if mediaType == streamType {
				res.Body = newEvents(res.Body)
			}
		case got == wholeType && mediaType == streamType:
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil {
				return nil, cut(err)
			}
			if res.Body = oneEvent(body); res.Body == nil {
				return nil, unexpected(got, mediaType, orElse)
			}
		default:
			res.Body.Close()
			return nil, unexpected(got, mediaType, orElse)
		}
		res.Header.Set("Content-Type", mediaType) // where there is none, the SDK would not read it
		return res, nil
	}
}

func unexpected(got, due, orElse string) error {
	return fmt.Errorf("%w: it sent %s where %s was due: check base_url%s", ErrFormat, got, due, orElse)
}
