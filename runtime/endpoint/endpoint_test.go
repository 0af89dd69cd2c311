package endpoint

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var wanted = Form{Default: "https://api.example/v1", Example: "https://host/v1", Endpoint: "/chat", Query: "headers"}

func TestBase(t *testing.T) {
	for _, tt := range []struct {
		text      string
		allowHTTP bool
		want      string // the address, or what the error says
	}{
		{"", false, "https://api.example/v1"},
		{"https://host/v1/", false, "https://host/v1/"},
		{"HTTP://localhost:1", false, "http://localhost:1"},
		{"http://Model.Localhost.:1", false, "http://Model.Localhost.:1"},
		{"http://127.9.9.9", false, "http://127.9.9.9"},
		{"http://[::1]:8000", false, "http://[::1]:8000"},
		{"http://[::ffff:127.0.0.1]", false, "http://[::ffff:127.0.0.1]"},
		{"http://10.0.0.1", true, "http://10.0.0.1"},
		{"http://10.0.0.1", false, "use https, or set allow_http: true"},
		{"http://0.0.0.0", false, "use https, or set allow_http: true"},
		{"http://localhost.example", false, "use https, or set allow_http: true"},
		{"http://notlocalhost", false, "use https, or set allow_http: true"},
		{"ftp://localhost", false, "is neither https nor http: use one such as https://host/v1"},
		{"localhost:11434/v1", false, "names no host"},
		{"https://:443/v1", false, "names no host"},
		{"https://me:pa55word@host", false, "holds a user name or password"},
		{"https://me:pa55word@ho st", false, "base_url is not an address: use one such as https://host/v1"},
		{"https://host?key=pa55word", false, "ends in a query or fragment: remove it, and use headers"},
		{"https://host#pa55word", false, "ends in a query or fragment: remove it, and use headers"},
		{"https://host/v1/chat/", false, "names the endpoint itself: remove /chat"},
	} {
		u, err := wanted.Base(tt.text, tt.allowHTTP)
		if address := strings.Contains(tt.want, "://") && !strings.Contains(tt.want, " "); address != (err == nil) {
			t.Errorf("Base(%q, %t) = %v, %v, want %s", tt.text, tt.allowHTTP, u, err, tt.want)
		} else if err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "pa55word")) || err == nil && u.String() != tt.want {
			t.Errorf("Base(%q, %t) = %v, %v, want %s", tt.text, tt.allowHTTP, u, err, tt.want)
		}
	}
}

func TestHost(t *testing.T) {
	for address, want := range map[string]string{
		"https://api.example/v1": "api.example", "https://api.example:443": "api.example", "http://api.example:80": "api.example",
		"https://api.example:80": "api.example:80", "http://localhost:11434": "localhost:11434",
		"http://[::1]:8000": "[::1]:8000", "http://[::1]": "::1",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := Host(u); got != want {
			t.Errorf("Host(%s) = %s, want %s", address, got, want)
		}
	}
}

// A name that says loopback and resolves to something else.
func TestPlainHTTPStaysHere(t *testing.T) {
	base, err := wanted.Base("HTTP://localhost:1", false)
	if err != nil {
		t.Fatal(err)
	}
	transport := newClient(base, false, nil).Transport.(*http.Transport)
	if conn, err := transport.DialContext(t.Context(), "tcp", "192.0.2.1:80"); err == nil {
		_ = conn.Close()
		t.Error("it connects to another machine")
	} else if !strings.Contains(err.Error(), "is not this machine") {
		t.Errorf("error %v", err)
	}
	if transport.Proxy != nil {
		t.Error("it goes through a proxy")
	}
	if free := newClient(base, true, nil).Transport.(*http.Transport); free.Proxy == nil {
		t.Error("with allow_http, the proxy of the environment is left out")
	}
}

// A redirect must not take key and conversation to another host.
func TestRedirectIsNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusPermanentRedirect))
	defer server.Close()
	base, err := wanted.Base(server.URL, false)
	if err != nil {
		t.Fatal(err)
	}
	client := newClient(base, false, nil)
	defer client.CloseIdleConnections()
	resp, err := client.Post(base.String(), "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusPermanentRedirect {
		t.Errorf("status %s", resp.Status)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		ms, s string
		want  time.Duration
		known bool
	}{
		{"", "", 0, false},
		{"", "20", 20 * time.Second, true},
		{"", "0.5", 500 * time.Millisecond, true},
		{"1500", "9", 1500 * time.Millisecond, true},
		{"soon", "9", 9 * time.Second, true},
		{"", "-1", 0, false},
		{"-1", "9", 9 * time.Second, true},
		{"86400001", "9", 24 * time.Hour, true},
		{"", "86401", 24 * time.Hour, true},
		{"", "1e300", 24 * time.Hour, true},
		{"1e300", "9", 24 * time.Hour, true},
		{"", "NaN", 0, false},
		{"", "Fri, 20 Nov 2026 12:01:00 GMT", time.Minute, true},
		{"", "Fri, 20 Nov 2025 12:01:00 GMT", 0, true},
		{"", "Fri, 20 Nov 2027 12:01:00 GMT", 24 * time.Hour, true},
	} {
		h := make(http.Header)
		h.Set("Retry-After-Ms", tt.ms)
		h.Set("Retry-After", tt.s)
		if got, known := retryAfter(h, now); got != tt.want || known != tt.known {
			t.Errorf("RetryAfter(%q, %q) = %s, %t, want %s, %t", tt.ms, tt.s, got, known, tt.want, tt.known)
		}
	}
}

func TestTemporary(t *testing.T) {
	for status, want := range map[int]bool{
		400: false, 401: false, 404: false, 408: true, 409: true, 413: false, 425: true, 429: true,
		500: true, 501: false, 502: true, 503: true, 505: false, 529: true,
	} {
		if got := isTemporary(status); got != want {
			t.Errorf("Temporary(%d) = %t, want %t", status, got, want)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		err  error
		is   error
		text string
	}{
		{Cut(io.ErrUnexpectedEOF), ErrCut, "the model's answer is incomplete: unexpected EOF"},
		{timeoutError(time.Minute), ErrTimeout, "the model took too long: no complete answer after 1m0s, its timeout"},
	} {
		failed, ok := errors.AsType[*failure](tt.err)
		if !ok || !failed.Temporary() || !errors.Is(tt.err, tt.is) || tt.err.Error() != tt.text {
			t.Errorf("%v is temporary: %t, want a temporary %v that reads %s", tt.err, ok, tt.is, tt.text)
		}
	}
}

// No count of a server's is a refund, and no sum of counts wraps around.
func TestTokens(t *testing.T) {
	for n, want := range map[int]int{-1: 0, 0: 0, 7: 7, 1 << 40: 1 << 40, 1<<40 + 1: 1 << 40, 1 << 62: 1 << 40} {
		if got := Tokens(n); got != want {
			t.Errorf("Tokens(%d) = %d, want %d", n, got, want)
		}
	}
}
