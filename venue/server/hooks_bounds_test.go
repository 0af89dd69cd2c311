package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"usher/venue/runs"
)

// begin sends the head of a request to a webhook, and so much of a body of a length.
func (p *hookPort) begin(t *testing.T, hook string, head http.Header, sent, length int) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST /hooks/%s HTTP/1.1\r\nHost: venue\r\nContent-Length: %d\r\n", hook, length); err != nil {
		t.Fatal(err)
	}
	if err := head.Write(conn); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "\r\n"+strings.Repeat(" ", sent)); err != nil && sent == 0 {
		t.Fatal(err) // who is refused meanwhile cannot send the rest
	}
	return conn
}

// answer is what comes over a connection.
func answer(conn net.Conn) (status int, err error) {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// signed is a head whose signature is none of the webhook's.
func signed(at time.Time) http.Header {
	return http.Header{
		"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {fmt.Sprint(at.Unix())}, "Webhook-Signature": {"v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
	}
}

// Whose head cannot hold is refused before any of the body comes.
func TestAHeadThatCannotHold(t *testing.T) {
	p := serveHooks(t, "")
	for name, change := range map[string]func(http.Header){
		"old":            func(h http.Header) { h.Set("Webhook-Timestamp", fmt.Sprint(time.Now().Add(-6*time.Minute).Unix())) },
		"of the future":  func(h http.Header) { h.Set("Webhook-Timestamp", fmt.Sprint(time.Now().Add(6*time.Minute).Unix())) },
		"no time":        func(h http.Header) { h.Del("Webhook-Timestamp") },
		"no number":      func(h http.Header) { h.Set("Webhook-Timestamp", "now") },
		"no signature":   func(h http.Header) { h.Del("Webhook-Signature") },
		"another form":   func(h http.Header) { h.Set("Webhook-Signature", "v1a,AAAA v1,AAAA") },
		"no id":          func(h http.Header) { h.Del("Webhook-Id") },
		"a very long id": func(h http.Header) { h.Set("Webhook-Id", strings.Repeat("x", 257)) },
		"a short one":    func(h http.Header) { h.Set("Webhook-Signature", "v1,AAAA") },
	} {
		for _, hook := range []string{"tickets", "nothing"} {
			for _, length := range []int{2, 1 << 20} {
				head := signed(time.Now())
				change(head)
				conn := p.begin(t, hook, head, 0, length)
				if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
					t.Fatal(err)
				}
				if status, err := answer(conn); status != http.StatusUnauthorized {
					t.Errorf("%s, at %s, of %d bytes: %d, %v", name, hook, length, status, err)
				}
			}
		}
	}
}

// What all hold together who are not known to have signed is bounded: who comes on top
// is told to come again, and those who are done leave room.
func TestBodiesAreBoundedTogether(t *testing.T) {
	const begun, most = 24, 16
	p := serveHooks(t, "")
	type answered struct {
		status int
		err    error
	}
	answers := make(chan answered, begun)
	var conns []net.Conn
	for range begun {
		conn := p.begin(t, "tickets", signed(time.Now()), 1<<20-1, 1<<20)
		conns = append(conns, conn)
		go func() {
			status, err := answer(conn)
			answers <- answered{status, err}
		}()
	}
	for range begun - most {
		if a := <-answers; a.status != http.StatusServiceUnavailable {
			t.Fatalf("%d, %v, want to be told to come again", a.status, a.err)
		}
	}
	for _, conn := range conns {
		conn.Close()
	}
	for tries := 0; ; tries++ {
		status, run, said := send(t, p.request(t, "tickets", "msg_2", time.Now(), `"`+strings.Repeat("x", 1<<18)+`"`))
		if status == http.StatusAccepted {
			p.ended(t, run)
			return
		}
		if status != http.StatusServiceUnavailable || tries == 1000 {
			t.Fatalf("after the others have gone: %d %s", status, said)
		}
	}
}

// Who names no webhook holds nothing, and hears what others hear.
func TestBodiesForNobody(t *testing.T) {
	p := serveHooks(t, "")
	var conns []net.Conn
	for range 24 {
		conns = append(conns, p.begin(t, "nothing", signed(time.Now()), 1<<20-1, 1<<20))
	}
	status, run, said := send(t, p.request(t, "tickets", "msg_2", time.Now(), `"`+strings.Repeat("x", 1<<18)+`"`))
	if status != http.StatusAccepted {
		t.Fatalf("while others send to nobody: %d %s", status, said)
	}
	if rec := p.ended(t, run); rec.Status != runs.Complete {
		t.Errorf("it comes to %s %s", rec.Status, rec.Error)
	}
	for _, conn := range conns {
		if _, err := io.WriteString(conn, " "); err != nil {
			t.Fatal(err)
		}
		if status, err := answer(conn); status != http.StatusUnauthorized {
			t.Errorf("to nobody: %d, %v", status, err)
		}
	}
}
