package server_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"usher/runtime"
	"usher/venue"
	"usher/venue/runs"
	"usher/venue/server"
)

// Two hundred have an agent work at once, and half of them go: nothing of them stays, and each
// run has ended. That of a user interface ends with its stream, a task goes on without one.
func TestManyStreamsOfRuns(t *testing.T) {
	for name, tt := range map[string]struct {
		path, body, done string
		left             string // what becomes of a run whose client has gone
	}{
		"user interfaces": {
			"/agui/bob", `{"threadId":"t%d","runId":"r","messages":[{"id":"1","role":"user","content":"hi"}]}`, `"outcome":{"type":"success"}`, runs.Cancelled,
		},
		"tasks of A2A": {
			"/a2a/bob/message:stream", `{"message":{"messageId":"m%d","role":"ROLE_USER","parts":[{"text":"hi"}]}}`, `TASK_STATE_COMPLETED`, runs.Complete,
		},
	} {
		t.Run(name, func(t *testing.T) { manyStreams(t, tt.path, tt.body, tt.done, tt.left) })
	}
}

func manyStreams(t *testing.T, path, body, done, left string) {
	n := 200
	model := &slow{make(chan struct{}), make(chan struct{})}
	m := server.NewMetrics()
	l := listen(t, "127.0.0.1:0")
	o := &venue.Options{Models: map[string]runtime.Model{"default": model}}
	o.Limits.Runs = n + 10
	v := beginAs(t, l, &server.Options{Streams: n, Metrics: m}, o)
	alice, err := v.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alice.Invoke(t.Context(), "agent:create", map[string]any{"agentId": "bob", "config": map[string]any{"caps": []string{}}}); err != nil {
		t.Fatal(err)
	}
	token, err := newToken(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	before := goruntime.NumGoroutine()
	run := func(ctx context.Context, i int) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.Addr().String()+path, strings.NewReader(fmt.Sprintf(body, i)))
		if err != nil {
			return "", err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("A2A-Version", "1.0")
		req.Close = true
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		return string(raw), err
	}
	cut, stop := context.WithCancel(t.Context())
	defer stop()
	var streams sync.WaitGroup
	for i := range n {
		ctx := t.Context()
		if i%2 == 0 {
			ctx = cut
		}
		streams.Go(func() {
			if said, err := run(ctx, i); i%2 == 1 && (err != nil || !strings.Contains(said, done)) {
				t.Errorf("stream %d ends with %v, after %q", i, err, said)
			}
		})
	}
	for range n {
		select {
		case <-model.asked:
		case <-time.After(time.Minute):
			t.Fatal("not all come to the model")
		}
	}
	until(t, m, "usher_http_streams", float64(n))
	stop()
	until(t, m, "usher_http_streams", float64(n/2))
	close(model.goOn)
	streams.Wait()
	until(t, m, "usher_http_streams", 0)
	for end := time.Now().Add(time.Minute); goruntime.NumGoroutine() > before+2; time.Sleep(10 * time.Millisecond) { // the connection of one that is about to close
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", goruntime.NumGoroutine(), before, buf[:goruntime.Stack(buf, true)])
		}
	}
	ended, want := make(map[string]int), map[string]int{runs.Complete: n / 2}
	want[left] += n / 2
	for at := ""; ; {
		list, more, err := alice.Runs(t.Context(), at, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range list {
			ended[rec.Status]++
		}
		if at = more; at == "" {
			break
		}
	}
	if !maps.Equal(ended, want) {
		t.Errorf("the runs are %v, want %v", ended, want)
	}
}
