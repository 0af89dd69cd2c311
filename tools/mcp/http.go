package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// remote is the transport to the URL of the server, with its headers, and what handler
// says of who calls. Texts of headers have no handles any more.
func (s *Server) remote(headers map[string]string, handler auth.OAuthHandler) (sdk.Transport, func(), error) {
	at, err := url.Parse(s.URL)
	if err != nil {
		return nil, nil, err
	}
	base := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	client := &http.Client{
		Transport: &guardTransport{base: base, host: at.Host, scheme: at.Scheme, headers: headers},
		CheckRedirect: func(req *http.Request, _ []*http.Request) error {
			return fmt.Errorf("the server redirects to %s: write the URL that is meant", req.URL.Redacted())
		},
	}
	// Some servers ask by that stream, and not by the answer of the call that they ask for.
	t := &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, DisableStandaloneSSE: s.Elicitation != AskPerson, MaxEventSize: maxMessage, MaxRetries: maxRetries, OAuthHandler: handler}
	return t, base.CloseIdleConnections, nil
}

// maxRetries is how often the stream of an answer is taken up again that was cut without
// an event since.
const maxRetries = 3

// guardTransport sends the headers of a server to that server alone, and reads no more of an
// answer than a server may send.
type guardTransport struct {
	base         http.RoundTripper
	scheme, host string
	headers      map[string]string
}

func (b *guardTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != b.host || req.URL.Scheme != b.scheme {
		return nil, fmt.Errorf("%s is not the server", req.URL.Host)
	}
	req = req.Clone(req.Context())
	for name, text := range b.headers {
		req.Header.Set(name, text)
	}
	res, err := b.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	res.Body = &answer{Reader: sparseAnswer(res), Closer: res.Body, left: maxMessage}
	return res, nil
}

// answer is a body that ends with an error where it is too long.
type answer struct {
	io.Reader
	io.Closer
	left int64
}

var errTooLong = errors.New("the answer of the server is too long")

func (a *answer) Read(p []byte) (int, error) {
	if a.left <= 0 {
		return 0, errTooLong
	}
	n, err := a.Reader.Read(p[:min(int64(len(p)), a.left)])
	a.left -= int64(n)
	return n, err
}
