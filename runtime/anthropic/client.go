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
	if err == nil {
		res.Body = &boundedBody{res.Body, maxAnswer}
	}
	return res, err
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
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

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
		if got == mediaType || got == "" {
			return res, nil
		}
		res.Body.Close()
		return nil, fmt.Errorf("%w: it sent %s where %s was due: check base_url%s", ErrFormat, got, mediaType, orElse)
	}
}
