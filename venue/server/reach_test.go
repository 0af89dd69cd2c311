package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"usher/venue"
	"usher/venue/server"
)

// certify writes a certificate for a name, and its key.
func certify(t *testing.T, dir, name string, number int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &x509.Certificate{
		SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	signed, err := x509.CreateCertificate(rand.Reader, is, is, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	for file, b := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// begin serves a venue at a listener until the test ends.
func begin(t *testing.T, l net.Listener, o *server.Options) *venue.Venue {
	t.Helper()
	return beginAs(t, l, o, nil)
}

// beginAs is begin with options of the venue.
func beginAs(t *testing.T, l net.Listener, o *server.Options, as *venue.Options) *venue.Venue {
	t.Helper()
	v, err := venue.Open(t.Context(), as)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(v, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

func listen(t *testing.T, at string) net.Listener {
	t.Helper()
	l, err := server.Listen(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A certificate that is replaced is shown to the next client; one that is broken is not.
func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	cert, key := certify(t, dir, "venue.test", 1)
	log := new(text)
	conf, err := server.Certificate(cert, key, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t, "127.0.0.1:0")
	begin(t, l, &server.Options{TLS: conf})
	c, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n := c.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64(); n != 1 {
		t.Fatalf("certificate %d is shown, want 1", n)
	}
	synctest.Test(t, func(t *testing.T) {
		conf, err := server.Certificate(cert, key, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		shows := func(want int64, or string) {
			t.Helper()
			time.Sleep(time.Second)
			c, err := conf.GetCertificate(&tls.ClientHelloInfo{ServerName: "venue.test"})
			if err != nil {
				t.Fatal(err)
			}
			leaf, err := x509.ParseCertificate(c.Certificate[0])
			if err != nil || leaf.SerialNumber.Int64() != want || !strings.Contains(log.String(), or) {
				t.Fatalf("certificate %v is shown, %v, want %d, and the log has %s", leaf.SerialNumber, err, want, log)
			}
		}
		shows(1, "")
		if err := os.WriteFile(cert, []byte("broken"), 0o600); err != nil {
			t.Fatal(err)
		}
		shows(1, "a certificate that changed is not taken")
		certify(t, dir, "venue.test", 2)
		shows(2, "")
	})
	if _, err := server.Certificate(filepath.Join(dir, "none"), key, slog.Default()); err == nil {
		t.Error("a certificate that is not there is taken")
	}
	if c := server.ACME([]string{"venue.test"}, dir, ""); c.GetCertificate == nil || c.NextProtos[len(c.NextProtos)-1] != "acme-tls/1" {
		t.Errorf("ACME offers %v", c.NextProtos)
	} else if _, err := c.GetCertificate(&tls.ClientHelloInfo{ServerName: "other.test"}); err == nil {
		t.Error("a certificate is fetched for a host that nobody named")
	}
}

// A socket is its user's alone, takes the place of one that nobody listens at, and of nothing
// else.
func TestSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // whose a socket is cannot be told there
	}
	dir, err := os.MkdirTemp("", "u") // t.TempDir is longer than a socket's path may be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	stale, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	l := listen(t, "unix:"+path)
	if at, err := os.Lstat(path); err != nil || at.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket is %v, %v", at.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("beside the socket are %v, %v", left, err)
	}
	begin(t, l, nil)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://venue/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != 200 {
		t.Error(resp.Status, err)
	}
	if _, err := server.Listen(t.Context(), "unix:"+path); err == nil || !strings.Contains(err.Error(), "somebody listens there") {
		t.Errorf("where somebody listens: %v", err)
	}
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Listen(t.Context(), "unix:"+file); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("where a file is: %v", err)
	}
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "x" {
		t.Errorf("the file has %q, %v", raw, err)
	}
	link := filepath.Join(dir, "l")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Listen(t.Context(), "unix:"+link); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("where a link is: %v", err)
	}
}

// Pages of the origins that are named may call, and nobody else's.
func TestCORS(t *testing.T) {
	l := listen(t, "127.0.0.1:0")
	begin(t, l, &server.Options{CORS: []string{"https://app.test"}})
	for _, tt := range []struct {
		name, method, origin, asks string
		status                     int
		allowed                    string
	}{
		{"the origin", "GET", "https://app.test", "", 200, "https://app.test"},
		{"another", "GET", "https://app.test.evil", "", 200, ""},
		{"none", "GET", "", "", 200, ""},
		{"null", "GET", "null", "", 200, ""},
		{"preflight", "OPTIONS", "https://app.test", "POST", 204, "https://app.test"},
		{"preflight of another", "OPTIONS", "https://evil.test", "POST", 405, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://"+l.Addr().String()+"/api/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true
		if tt.origin != "" {
			req.Header.Set("Origin", tt.origin)
		}
		if tt.asks != "" {
			req.Header.Set("Access-Control-Request-Method", tt.asks)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != tt.status || resp.Header.Get("Access-Control-Allow-Origin") != tt.allowed || resp.Header.Get("Vary") != "Origin" || resp.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %s %v, want %d and %q", tt.name, resp.Status, resp.Header, tt.status, tt.allowed)
		}
	}
}

// Beyond the requests that may be under way the next is sent away, but not one that asks how
// the process is; and all of it is counted by routes.
func TestRequestsAtOnce(t *testing.T) {
	l, m, log := listen(t, "127.0.0.1:0"), server.NewMetrics(), new(text)
	v := begin(t, l, &server.Options{Requests: 1, Metrics: m, Access: slog.New(slog.NewJSONHandler(log, nil))})
	url := "http://" + l.Addr().String()
	alice, err := v.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	token, err := v.Session(t.Context(), alice, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) (int, string) {
		status, _, said := get(t, "GET", url+path, "", "")
		return status, said
	}
	body, send := io.Pipe()
	inside := make(chan struct{}) // closed when its body is asked for
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(inside) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/decide", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Expect", "100-continue")
	answered := make(chan *http.Response, 1)
	go func() {
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Error(err)
		}
		answered <- resp
	}()
	until := func(path string, want int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; {
			status, said := read(path)
			if status == want {
				return
			} else if time.Now().After(end) {
				t.Fatalf("%s: %d %s, want %d", path, status, said, want)
			}
		}
	}
	select {
	case <-inside:
	case <-time.After(time.Minute):
		t.Fatal("the first request does not come in")
	}
	until("/api/v1/status", 503)
	until("/healthz", 200)
	if _, err := io.WriteString(send, `{"operation":"covia:list"}`); err != nil {
		t.Fatal(err)
	}
	if err := send.Close(); err != nil {
		t.Fatal(err)
	}
	if resp := <-answered; resp != nil {
		if resp.StatusCode != 200 || resp.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s %v", resp.Status, resp.Header)
		}
		_ = resp.Body.Close()
	}
	until("/api/v1/status", 200)
	until("/a/b/c", 404)
	at := listen(t, "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Serve(ctx, at) }()
	_, _, said := get(t, "GET", "http://"+at.Addr().String()+"/metrics", "", "")
	for _, want := range []string{
		`usher_http_requests_total{route="GET /api/v1/status",status="200"} `, `usher_http_requests_total{route="none",status="404"} 1`,
		`usher_http_requests_total{route="POST /api/v1/decide",status="200"} 1`, "usher_runs_executing 0", "usher_runs_resting 0", "go_goroutines ", "usher_http_streams 0",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the metrics lack %s:\n%s", want, said)
		}
	}
	if status, said := read("/metrics"); status != 404 {
		t.Errorf("the metrics are on the venue's port: %d %s", status, said)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if said := log.String(); !strings.Contains(said, `"path":"/api/v1/status","status":200`) || !strings.Contains(said, `"caller":"`+alice.DID().String()) {
		t.Errorf("the log has %s", log)
	}
}
