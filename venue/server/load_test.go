package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"usher/runtime"
	"usher/tools/tokens"
	"usher/venue"
	"usher/venue/runs"
	"usher/venue/server"
)

// load is how long TestMixedLoad goes on: go test ./venue/server -run TestMixedLoad -load 10m -timeout 20m.
var load = flag.Duration("load", 0, "how long TestMixedLoad goes on; memory is judged from 3 minutes on; 0 is a second")

// childDir is the data folder that a child process serves.
const childDir = "USHER_TEST_SERVE"

// serveChild serves a data folder, and says where and with which token, until it is killed.
func serveChild(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	v, err := venue.Open(ctx, &venue.Options{Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l, err := server.Listen(ctx, "127.0.0.1:0")
	var s *server.Server
	if err == nil {
		s, err = server.New(v, nil)
	}
	var token string
	if err == nil {
		token, err = newToken(ctx, v)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("http://"+l.Addr().String(), token)
	if err := errors.Join(s.Serve(ctx, l), v.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func newToken(ctx context.Context, v *venue.Venue) (string, error) {
	alice, err := v.User(ctx, "alice")
	if err != nil {
		return "", err
	}
	raw, err := alice.Invoke(ctx, "token:create", tokens.New{Name: "load"})
	if err != nil {
		return "", err
	}
	var made tokens.CreateResult
	err = json.Unmarshal(raw, &made)
	return made.Secret, err
}

// post sends a call, and returns the id of the job that it is, if it is one.
func post(ctx context.Context, client *http.Client, url, token, body string) (id string, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/invoke", strings.NewReader(body))
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	var job struct{ ID string }
	err = json.NewDecoder(resp.Body).Decode(&job)
	return job.ID, resp.StatusCode, err
}

// mixed are calls as a busy venue has them.
var mixed = []string{
	`{"operation":"json:merge","input":{"values":[{"a":1},{"b":2}]}}`,
	`{"operation":"covia:write","input":{"path":"w/load/a","value":{"n":1}}}`,
	`{"operation":"covia:read","input":{"path":"w/load/a"},"wait":10}`,
	`{"operation":"grid:run","input":{"operation":"covia:list","input":{}},"wait":true}`,
	`{"operation":"covia:read","input":{"path":"w/load/none"}}`,
	`{"operation":"covia:read","input":{"path":"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK/w/a"}}`,
}

// After kill -9 in the middle of a load each job that was acknowledged is there, and comes to
// an end.
func TestKillUnderLoad(t *testing.T) {
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), childDir+"="+dir)
	said := new(bytes.Buffer)
	child.Stderr = said
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	url, token, ok := strings.Cut(strings.TrimSpace(line), " ")
	if err != nil || !ok {
		_ = child.Wait()
		t.Fatalf("the child says %q: %v %s", line, err, said)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var ids []string
	enough := make(chan struct{})
	var clients sync.WaitGroup
	for n := range 8 {
		clients.Go(func() {
			for i := n; ; i++ {
				id, status, err := post(t.Context(), client, url, token, mixed[i%len(mixed)])
				if err != nil {
					return // it was killed
				}
				if status >= 500 {
					t.Errorf("a call is answered %d", status)
				}
				mu.Lock()
				if id != "" {
					if ids = append(ids, id); len(ids) == 60 {
						close(enough)
					}
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-enough:
	case <-time.After(time.Minute):
		t.Error("the child does not get on")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	clients.Wait()

	v, err := venue.Open(t.Context(), &venue.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}()
	alice, err := v.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	statuses := ended(t, alice, ids)
	t.Logf("of %d acknowledged jobs: %v", len(ids), statuses)
	if statuses[runs.Complete] == 0 {
		t.Errorf("none is complete: %v", statuses)
	}
}

// ended waits until jobs are over, and counts how they ended. One that is lost fails the test.
func ended(t *testing.T, of *venue.Principal, ids []string) map[string]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	statuses := make(map[string]int)
	for _, id := range ids {
		for _, err := range of.Events(ctx, id, 0) {
			if err != nil {
				t.Errorf("job %s is lost: %v", id, err)
			}
		}
		rec, err := of.Run(ctx, id)
		if err != nil || !rec.Over() {
			t.Errorf("job %s is %s: %v", id, rec.Status, err)
		}
		statuses[rec.Status]++
	}
	return statuses
}

// Many follow the events of one job, and half of them go: nothing of them stays.
func TestManyStreams(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	model := &slow{make(chan struct{}), make(chan struct{})}
	m := server.NewMetrics()
	l := listen(t, "127.0.0.1:0")
	v := beginAs(t, l, &server.Options{Streams: n, Metrics: m}, &venue.Options{Models: map[string]runtime.Model{"default": model}})
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
	id, err := alice.Start(t.Context(), "agent:chat", map[string]string{"agentId": "bob", "message": "hi"})
	if err != nil {
		t.Fatal(err)
	}
	<-model.asked
	follow := func(ctx context.Context) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String()+"/api/v1/jobs/"+id+"/sse", nil)
		if err != nil {
			return "", err
		}
		req.Header.Set("Authorization", "Bearer "+token)
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
			if said, err := follow(ctx); i%2 == 1 && (err != nil || !strings.Contains(said, "event: job-ended")) {
				t.Errorf("stream %d ends with %v, after %q", i, err, said)
			}
		})
	}
	until(t, m, "usher_http_streams", float64(n))
	if said, err := follow(t.Context()); err != nil || !strings.Contains(said, "as many as a principal may") {
		t.Errorf("one more is told %q, %v", said, err)
	}
	stop()
	until(t, m, "usher_http_streams", float64(n/2))
	model.goOn <- struct{}{}
	streams.Wait()
	until(t, m, "usher_http_streams", 0)
}

// until waits until a gauge has a value.
func until(t *testing.T, m *server.Metrics, name string, want float64) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		families, err := m.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := -1.0
		for _, f := range families {
			if f.GetName() == name {
				got = f.Metric[0].GetGauge().GetValue()
			}
		}
		if got == want {
			return
		} else if time.Now().After(end) {
			t.Fatalf("%s is %v, want %v", name, got, want)
		}
	}
}

// state is what a process takes, after collection: the least of what it does within a second,
// as the store takes more for a moment when it brings tables to the disk.
func state() (heap uint64, goroutines int) {
	for n := range 10 {
		goruntime.GC()
		var m goruntime.MemStats
		goruntime.ReadMemStats(&m)
		if g := goruntime.NumGoroutine(); n == 0 || g < goroutines {
			goroutines = g
		}
		if n == 0 || m.HeapAlloc < heap {
			heap = m.HeapAlloc
		}
		time.Sleep(100 * time.Millisecond)
	}
	return heap, goroutines
}

// Under a mixed load no job is lost; and where it goes on for long, memory and goroutines stay
// as they are after a fifth of it.
func TestMixedLoad(t *testing.T) {
	long := *load
	if long == 0 {
		long = time.Second
	}
	l := listen(t, "127.0.0.1:0")
	v := beginAs(t, l, nil, &venue.Options{Dir: t.TempDir()})
	token, err := newToken(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	alice, err := v.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	defer client.CloseIdleConnections()
	var clients sync.WaitGroup
	var mu sync.Mutex
	var some []string // of the jobs: each hundredth, and the last ones
	calls, busy := 0, 0
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				id, status, err := post(ctx, client, "http://"+l.Addr().String(), token, mixed[rand.IntN(len(mixed))])
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				if status >= 500 {
					t.Errorf("a call is answered %d", status)
				}
				mu.Lock()
				if calls++; status == http.StatusTooManyRequests {
					busy++
				} else if id != "" && (calls%100 == 0 || calls < 100) {
					some = append(some, id)
				}
				mu.Unlock()
			}
		})
	}
	var heap uint64
	var goroutines int
	select {
	case <-ctx.Done():
	case <-time.After(long / 5):
		heap, goroutines = state()
		<-ctx.Done()
	}
	h, g := state()
	clients.Wait()
	t.Logf("%d calls, %d sent away, %v; heap %d and then %d KiB, goroutines %d and then %d", calls, busy, ended(t, alice, some), heap>>10, h>>10, goroutines, g)
	if calls == 0 || len(some) == 0 {
		t.Errorf("%d calls, %d jobs", calls, len(some))
	}
	if *load >= 3*time.Minute && (float64(h) > 1.05*float64(heap) || float64(g) > 1.05*float64(goroutines)) {
		t.Error("it takes more and more")
	}
}
