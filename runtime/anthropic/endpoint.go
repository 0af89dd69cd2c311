package anthropic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/anthropics/anthropic-sdk-go/option"
)

const defaultBaseURL = "https://api.anthropic.com"

// base returns the address that the SDK starts from.
func (o *Options) base() (string, error) {
	text := o.BaseURL
	if text == "" {
		text = defaultBaseURL
	}
	u, err := url.Parse(text)
	if err != nil {
		// The parser's error repeats the address, and a password with it.
		return "", errors.New("base_url is not an address: use one such as https://host")
	}
	path := strings.TrimRight(u.Path, "/")
	switch {
	case u.User != nil:
		return "", errors.New("base_url holds a user name or password: remove it, and use key or headers")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("base_url ends in a query or fragment: remove it, and use headers")
	case u.Hostname() == "":
		return "", fmt.Errorf("base_url %q names no host: use one such as https://host", text)
	case strings.HasSuffix(path, "/messages"):
		return "", fmt.Errorf("base_url %q names the endpoint itself: remove /messages", text)
	case u.Scheme == "https":
	case u.Scheme != "http":
		return "", fmt.Errorf("base_url %q is neither https nor http: use one such as https://host", text)
	case !o.AllowHTTP && !loopback(u.Hostname()):
		return "", fmt.Errorf("base_url %q sends key and conversation unencrypted to another machine: use https, or set allow_http: true", text)
	}
	u.Path, u.RawPath = strings.TrimSuffix(path, "/v1"), "" // the SDK adds it
	return u.String(), nil
}

func loopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// client makes the HTTP client. It follows no redirect: that would take the
// conversation, and the key, which net/http does not take for one, to a host
// that nobody named.
func (o *Options) client() *http.Client {
	transport := o.Transport
	if transport == nil {
		transport = o.transport()
	}
	return &http.Client{
		Transport:     bounded{transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (o *Options) transport() http.RoundTripper {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	if strings.HasPrefix(strings.ToLower(o.BaseURL), "http:") && !o.AllowHTTP {
		// The name said loopback; what it resolves to must be.
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			if to, err := netip.ParseAddrPort(address); err != nil || !to.Addr().Unmap().IsLoopback() {
				return fmt.Errorf("%s is not this machine: use https, or set allow_http: true", address)
			}
			return nil
		}
		t.Proxy = nil
	}
	t.DialContext = dialer.DialContext
	return t
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
// and the answer would look cut.
func expect(mediaType string) option.Middleware {
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
		return nil, fmt.Errorf("%w: it sent %s where %s was due: check base_url, or try stream: %t", ErrFormat, got, mediaType, mediaType == "application/json")
	}
}
