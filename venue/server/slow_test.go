package server_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"usher/runtime"
	"usher/venue"
	"usher/venue/server"
)

// pipes is a listener whose connections are pipes: without buffers, and within a bubble.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (*pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- there
	return here
}

// sleepy is a model that takes a while.
type sleepy time.Duration

func (s sleepy) Generate(ctx context.Context, _ *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		select {
		case <-time.After(time.Duration(s)):
			yield(runtime.Chunk{Text: "good morning"}, nil)
		case <-ctx.Done():
			yield(runtime.Chunk{}, context.Cause(ctx))
		}
	}
}

// slowly runs a test with a venue that is served over pipes, in a bubble of time.
func slowly(t *testing.T, takes time.Duration, test func(t *testing.T, p *pipes, token string)) {
	synctest.Test(t, func(t *testing.T) {
		v, err := venue.Open(t.Context(), &venue.Options{Models: map[string]runtime.Model{"default": sleepy(takes)}})
		if err != nil {
			t.Fatal(err)
		}
		alice, err := v.User(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := alice.Invoke(t.Context(), "agent:create", map[string]any{"agentId": "bob", "config": map[string]any{"caps": []string{}}}); err != nil {
			t.Fatal(err)
		}
		token, err := v.Session(t.Context(), alice, 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		s, err := server.New(v, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, p) }()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		}()
		test(t, p, token)
	})
}

// A body that trickles is given a minute, and no more; one from whom nobody knows yet less.
func TestATricklingBodyIsCut(t *testing.T) {
	for _, tt := range []struct {
		path        string
		least, most time.Duration
	}{
		{"/api/v1/invoke", 59 * time.Second, 2 * time.Minute},
		{"/hooks/tickets", 15 * time.Second, 20 * time.Second},
	} {
		slowly(t, 10*time.Minute, func(t *testing.T, p *pipes, token string) {
			began, c := time.Now(), p.dial()
			var sends sync.WaitGroup
			defer sends.Wait()
			defer c.Close()
			sends.Go(func() {
				fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: v\r\nAuthorization: Bearer %s\r\nContent-Length: 100000\r\n", tt.path, token)
				if signed(began).Write(c) != nil {
					return
				}
				for text := "\r\n{"; ; text = " " {
					if _, err := io.WriteString(c, text); err != nil {
						return
					}
					time.Sleep(time.Second) // the clock is the bubble's
				}
			})
			if said, err := io.ReadAll(c); err != nil && !strings.Contains(string(said), " 400 ") {
				t.Errorf("%s %v", said, err)
			}
			if took := time.Since(began); took < tt.least || took > tt.most {
				t.Errorf("%s was cut after %s", tt.path, took)
			}
		})
	}
}

// request makes a request over a connection of its own, and returns the connection.
func (p *pipes) request(t *testing.T, token, method, path, body string) net.Conn {
	t.Helper()
	c := p.dial()
	if _, err := fmt.Fprintf(c, "%s /api/v1%s HTTP/1.1\r\nHost: v\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", method, path, token, len(body), body); err != nil {
		t.Fatal(err)
	}
	return c
}

// What takes longer than a request may take to come, or an answer to be read, is answered
// all the same; so is a stream that is followed meanwhile, and one that nobody reads is cut.
func TestALongCallIsAnswered(t *testing.T) {
	slowly(t, 10*time.Minute, func(t *testing.T, p *pipes, token string) {
		began := time.Now()
		chat := p.request(t, token, "POST", "/invoke", `{"operation":"agent:chat","input":{"agentId":"bob","message":"hi"},"wait":true}`)
		defer chat.Close()
		synctest.Wait()
		list := p.request(t, token, "GET", "/jobs", "")
		defer list.Close()
		said, err := io.ReadAll(list)
		id := regexp.MustCompile(`"id":"(\w+)"`).FindStringSubmatch(string(said))
		if err != nil || id == nil {
			t.Fatalf("%s %v", said, err)
		}
		follow := p.request(t, token, "GET", "/jobs/"+id[1]+"/sse", "")
		defer follow.Close()
		deaf := p.request(t, token, "GET", "/jobs/"+id[1]+"/sse", "")
		defer deaf.Close()
		var reads sync.WaitGroup
		reads.Go(func() {
			said, err := io.ReadAll(follow)
			if text := string(said); err != nil || !strings.Contains(text, "event: job-ended") || strings.Count(text, ": nothing new") < 30 {
				t.Errorf("the stream says %s, %v", text, err)
			}
		})
		if said, err := io.ReadAll(chat); err != nil || !strings.Contains(string(said), "good morning") {
			t.Errorf("the call is answered %s, %v", said, err)
		}
		if took := time.Since(began); took != 10*time.Minute {
			t.Errorf("it was answered after %s", took)
		}
		reads.Wait()
		if said, err := io.ReadAll(deaf); err != nil || len(said) > 0 {
			t.Errorf("who reads nothing for ten minutes is then told %s, %v", said, err)
		}
	})
}

// What has a key goes on when whoever sent it has left, and not for ever.
func TestWhatHasAKeyGoesOnForAWhile(t *testing.T) {
	for takes, want := range map[time.Duration]string{50 * time.Minute: " 200 .*good morning", 3 * time.Hour: " 504 .*for an hour since"} {
		slowly(t, takes, func(t *testing.T, p *pipes, token string) {
			const body = `{"model":"bob","messages":[{"role":"user","content":"hi"}]}`
			ask := func() net.Conn {
				c := p.dial()
				if _, err := fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: v\r\nConnection: close\r\nAuthorization: Bearer %s\r\nIdempotency-Key: k\r\nContent-Length: %d\r\n\r\n%s", token, len(body), body); err != nil {
					t.Fatal(err)
				}
				return c
			}
			left := ask()
			synctest.Wait()
			left.Close()
			time.Sleep(2 * time.Hour) // the clock is the bubble's
			back := ask()
			defer back.Close()
			if said, err := io.ReadAll(back); err != nil || !regexp.MustCompile("(?s)"+want).Match(said) || !strings.Contains(string(said), "Idempotent-Replayed: true") {
				t.Errorf("of a turn of %s: %s, %v, want %s", takes, said, err, want)
			}
		})
	}
}
