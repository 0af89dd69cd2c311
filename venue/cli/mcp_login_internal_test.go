package cli

import (
	"net"
	"net/http"
	"testing"
	"testing/synctest"

	"usher/tools/mcp"
)

// What comes to the port without the state of the question ends nothing.
func TestCameBack(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		mcp.LoginAnswer
		err error
	}
	came := make(chan answer, 1)
	go func() {
		a, err := cameBack(t.Context(), l, "https://login.example.org/?state=s1")
		came <- answer{a, err}
	}()
	for _, c := range []struct {
		path string
		want int
	}{
		{"/", http.StatusNotFound},
		{"/callback", http.StatusBadRequest},
		{"/callback?code=c&state=s2", http.StatusBadRequest},
		{"/callback?code=c&state=s1&iss=https://login.example.org", http.StatusOK},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != c.want {
			t.Errorf("%s answers %d (%v), want %d", c.path, res.StatusCode, err, c.want)
		}
	}
	if got, want := <-came, (mcp.LoginAnswer{Code: "c", State: "s1", Issuer: "https://login.example.org"}); got.err != nil || got.LoginAnswer != want {
		t.Errorf("cameBack = %+v, %v, want %+v", got.LoginAnswer, got.err, want)
	}
}

func TestCameBackWaitsNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := idle{make(chan struct{})}
		if a, err := cameBack(t.Context(), l, "https://login.example.org/?state=s1"); err == nil {
			t.Errorf("cameBack = %+v, want an error", a)
		}
	})
}

// idle is a listener that nobody reaches.
type idle struct{ closed chan struct{} }

func (i idle) Accept() (net.Conn, error) {
	<-i.closed
	return nil, net.ErrClosed
}

func (i idle) Close() error {
	close(i.closed)
	return nil
}

func (i idle) Addr() net.Addr { return &net.TCPAddr{} }
