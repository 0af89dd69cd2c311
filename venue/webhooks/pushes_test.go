package webhooks_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/runs"
	"usher/venue/store"
	"usher/venue/store/memory"
	"usher/venue/webhooks"
)

// said answers requests as a test says, and notes what was told and when.
type said struct {
	fails atomic.Int64 // so many requests from now on

	mu    sync.Mutex
	list  []string
	times []time.Time
}

func (s *said) RoundTrip(r *http.Request) (*http.Response, error) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.times = append(s.list, r.URL.Path+" "+body.String()), append(s.times, time.Now())
	if s.fails.Add(-1) >= 0 {
		return &http.Response{StatusCode: 503, Status: "503", Body: http.NoBody, Request: r}, nil
	}
	return &http.Response{StatusCode: 200, Status: "200", Body: http.NoBody, Request: r}, nil
}

func (s *said) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.list = nil }()
	return s.list
}

// followed are pushes over a store and runs that outlive them.
type followed struct {
	t     *testing.T
	store *store.Store
	wire  *said
	mu    sync.Mutex
	runs  map[string]runs.Record
	ended atomic.Bool // the bearer of everybody
	*webhooks.Pushes
	auth tools.Authority
}

func (f *followed) Find(_ context.Context, _ ucan.DID, id string) (runs.Record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rec, ok := f.runs[id]
	if !ok {
		return rec, fault.New(fault.NotFound, "there is no such run")
	}
	return rec, nil
}

func follow(t *testing.T) *followed {
	f := &followed{t: t, store: memory.Open(), wire: new(said), runs: map[string]runs.Record{}}
	f.open()
	return f
}

// open is another start of the venue.
func (f *followed) open() {
	f.t.Helper()
	key, err := ucan.KeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	if err != nil {
		f.t.Fatal(err)
	}
	sealer, err := ucan.NewSealer(key)
	if err != nil {
		f.t.Fatal(err)
	}
	gate, mint := tools.NewGate(new(tools.Registry), &tools.GateOptions{Key: bytes.Repeat([]byte{2}, 32)})
	f.auth = mint.User(owner)
	f.Pushes = webhooks.NewPushes(webhooks.PushOptions{
		Store: f.store.Under(""), Runs: f, Gate: gate, Mint: mint, Sealer: sealer, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Transport: f.wire,
		Private: func(string) bool { return true },
		Stands: func(context.Context, ucan.DID, string) error {
			if f.ended.Load() {
				return fault.New(fault.Unauthenticated, "it was revoked")
			}
			return nil
		},
	})
	f.By(func(rec *runs.Record, form string) (http.Header, []byte, error) {
		return http.Header{}, fmt.Appendf(nil, "%s %s", form, rec.Status), nil
	})
}

func (f *followed) works() (stop func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	var work sync.WaitGroup
	work.Go(func() { f.Run(ctx) })
	return func() {
		cancel()
		work.Wait()
	}
}

// stands has a run stand otherwise.
func (f *followed) stands(id, status string) {
	f.mu.Lock()
	f.runs[id] = runs.Record{ID: id, Status: status, Updated: time.Now().UnixMilli()}
	f.mu.Unlock()
	f.OnStore(owner, id)
}

func (f *followed) set(id, run string) {
	f.t.Helper()
	in := webhooks.Push{ID: id, Run: run, Form: "1.0", Address: webhooks.Address{URL: "https://example.org/" + run + "/" + id}}
	if err := f.Set(f.t.Context(), f.auth, in); err != nil {
		f.t.Fatal(err)
	}
}

func (f *followed) wants(when string, want ...string) {
	f.t.Helper()
	if got := f.wire.take(); !slices.Equal(got, want) {
		f.t.Errorf("%s: told %q, want %q", when, got, want)
	}
}

func (f *followed) stored() int {
	keys, _, err := f.store.Under("").PageKeys(f.t.Context(), "h/push/", "", 100)
	if err != nil {
		f.t.Fatal(err)
	}
	return len(keys)
}

// What an address does not take is told again, later and later, as it is then, and in the
// order in which it happened; also by another start of the venue.
func TestAPushIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		stop := f.works()
		f.stands("r", runs.Started)
		f.set("a", "r")
		synctest.Wait()
		f.wants("while it works")
		f.stands("r", runs.Waiting)
		synctest.Wait()
		f.wants("when it waits", "/r/a 1.0 "+runs.Waiting)
		f.wire.fails.Store(3)
		f.stands("r", runs.Started)
		synctest.Wait()
		f.stands("r", runs.Complete)
		synctest.Wait()
		f.wants("where nobody takes it", "/r/a 1.0 "+runs.Started)
		time.Sleep(10 * time.Second)
		stop()
		f.open()
		defer f.works()()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		f.wants("as it is then", "/r/a 1.0 "+runs.Complete, "/r/a 1.0 "+runs.Complete, "/r/a 1.0 "+runs.Complete)
		for i := 2; i < len(f.wire.times); i++ {
			if f.wire.times[i].Sub(f.wire.times[i-1]) < time.Second {
				t.Errorf("tries are %s apart", f.wire.times[i].Sub(f.wire.times[i-1]))
			}
		}
		f.OnStore(owner, "r")
		synctest.Wait()
		f.wants("after the end")
	})
}

func TestAPushIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		defer f.works()()
		f.wire.fails.Store(1e6)
		f.stands("r", runs.Complete)
		f.set("a", "r")
		time.Sleep(2 * webhooks.MaxAge)
		if n := len(f.wire.take()); n < 10 || n > 60 {
			t.Errorf("told %d times within a day", n)
		}
		time.Sleep(2 * webhooks.MaxAge)
		f.wants("after that")
	})
}

// One that does not answer holds up no other's.
func TestAPushEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		defer f.works()()
		for _, run := range []string{"deleted", "pruned", "revoked"} {
			f.stands(run, runs.Started)
			f.set("a", run)
		}
		if err := f.Remove(t.Context(), f.auth, "deleted", "a"); err != nil {
			t.Fatal(err)
		}
		f.stands("deleted", runs.Complete)
		f.mu.Lock()
		delete(f.runs, "pruned")
		f.mu.Unlock()
		f.OnStore(owner, "pruned")
		synctest.Wait()
		f.ended.Store(true)
		f.stands("revoked", runs.Complete)
		synctest.Wait()
		f.wants("of runs whose pushes have ended")
		if n := f.stored(); n != 0 {
			t.Errorf("%d pushes stay", n)
		}
	})
}

func TestPushesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		for i := range 256 {
			f.set("a", fmt.Sprintf("r%d", i))
		}
		in := webhooks.Push{ID: "a", Run: "more", Address: webhooks.Address{URL: "https://example.org/"}}
		if err := f.Set(t.Context(), f.auth, in); fault.Of(err) != fault.LimitReached {
			t.Errorf("the 257th: %v", err)
		}
		f.stands("r0", runs.Complete)
		defer f.works()()
		synctest.Wait()
		if err := f.Set(t.Context(), f.auth, in); err != nil {
			t.Errorf("after one has ended: %v", err)
		}
	})
}

// Where an address leads is looked at with each connection, whatever was found before.
func TestAPushReachesNothingPrivate(t *testing.T) {
	reached := make(chan struct{}, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	defer srv.Close()
	f := follow(t)
	f.Transport = nil
	f.stands("r", runs.Complete)
	if err := f.Set(t.Context(), f.auth, webhooks.Push{ID: "a", Run: "r", Address: webhooks.Address{URL: srv.URL}}); err != nil {
		t.Fatal(err)
	}
	f.Private = func(string) bool { return false }
	tried := make(chan string, 10)
	f.Logger = slog.New(slog.NewTextHandler(lines(tried), nil))
	defer f.works()()
	select {
	case line := <-tried:
		if !strings.Contains(line, "private") {
			t.Errorf("it fails by %s", line)
		}
	case <-reached:
		t.Error("the address was reached")
	case <-time.After(time.Minute):
		t.Error("nothing was tried")
	}
}

// Who may look at a run only when a person allows it is told nothing of it.
func TestAPushAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		type named struct {
			ID string `json:"id"`
		}
		registry := new(tools.Registry)
		look := tools.New("grid:jobStatus", "Look at a run.",
			func(in named) []caps.Request { return []caps.Request{caps.Need("job/read", "j/"+in.ID)} },
			func(context.Context, tools.Call, named) (struct{}, error) { return struct{}{}, nil })
		if err := registry.Declare(look); err != nil {
			t.Fatal(err)
		}
		f.Gate, f.Mint = tools.NewGate(registry, &tools.GateOptions{Key: bytes.Repeat([]byte{2}, 32)})
		defer f.works()()
		for run, may := range map[string]string{"asks": `[{"with":"j/","can":"job/read","ask":true}]`, "may": `[{"with":"j/","can":"job/read"}]`} {
			set, err := caps.ParseSet([]byte(may))
			if err != nil {
				t.Fatal(err)
			}
			f.auth = f.Mint.User(owner).Narrow(set)
			f.stands(run, runs.Complete)
			f.set("a", run)
		}
		synctest.Wait()
		f.wants("of one who may", "/may/a 1.0 "+runs.Complete)
	})
}

// lines has what is written.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// Whoever is bounded knows of the own pushes alone, and replaces and ends no other's. The user
// knows of all.
func TestPushesOfTheBounded(t *testing.T) {
	f := follow(t)
	f.stands("r", runs.Started)
	user, bounded, again, other := f.auth, f.auth.Narrow(caps.Of(caps.MustCapability("j/", "crud"))), f.auth.Narrow(caps.Of(caps.MustCapability("j/", "crud"))), f.auth.Narrow(caps.Of(caps.MustCapability("j/", "crud/read")))
	for path, auth := range map[string]tools.Authority{"/user": user, "/bounded": bounded, "/other": other} {
		if err := f.Set(t.Context(), auth, webhooks.Push{ID: "a", Run: "r", Address: webhooks.Address{URL: "https://example.org" + path}}); err != nil {
			t.Fatal(err)
		}
	}
	see := func(name string, auth tools.Authority, want ...string) {
		t.Helper()
		list, err := f.List(t.Context(), auth, "r")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, in := range list {
			got = append(got, strings.TrimPrefix(in.URL, "https://example.org/"))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s sees %q, want %q", name, got, want)
		}
	}
	see("the user", user, "bounded", "other", "user")
	see("the same bounds", again, "bounded")
	see("other bounds", other, "other")
	if err := f.Remove(t.Context(), other, "r", "a"); err != nil {
		t.Fatal(err)
	}
	see("the user, when another has ended theirs", user, "bounded", "user")
	if err := f.Remove(t.Context(), other, "r", "a"); fault.Of(err) != fault.NotFound {
		t.Errorf("who has none ends one: %v", err)
	}
	if err := f.Remove(t.Context(), user, "r", "a"); err != nil {
		t.Fatal(err)
	}
	see("the user, who has ended all", user)
}

// Whoever is bounded leaves room for the pushes of the user, and of others who are.
func TestPushesOfTheBoundedLeaveRoom(t *testing.T) {
	f := follow(t)
	within := func(n int) tools.Authority {
		return f.auth.Narrow(caps.Of(caps.MustCapability(fmt.Sprint("j/", n), "crud")))
	}
	sets := func(auth tools.Authority) (n int) {
		t.Helper()
		for ; n <= 256; n++ {
			err := f.Set(t.Context(), auth, webhooks.Push{ID: fmt.Sprint(n % 8), Run: fmt.Sprint("r", n/8), Address: webhooks.Address{URL: "https://example.org/"}})
			if fault.Of(err) == fault.LimitReached {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	if got := sets(within(1)); got != 64 {
		t.Errorf("who is bounded sets %d pushes, want a quarter of 256", got)
	}
	if err := f.Set(t.Context(), within(2), webhooks.Push{ID: "a", Run: "r100", Address: webhooks.Address{URL: "https://example.org/"}}); err != nil {
		t.Errorf("another who is bounded: %v", err)
	}
	if got := sets(f.auth); got != 256 {
		t.Errorf("the user sets %d pushes, want 256", got)
	}
}
