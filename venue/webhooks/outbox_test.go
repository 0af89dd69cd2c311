package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"

	"usher/ucan"
	"usher/venue/config"
	"usher/venue/runs"
	"usher/venue/store"
	"usher/venue/store/memory"
	"usher/venue/webhooks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// wire answers requests as a test says, and notes them.
type wire struct {
	answer func(n int, r *http.Request) (status int, err error) // n from 1

	mu    sync.Mutex
	times []time.Time
	ids   []string
	said  []string
	hosts []string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	signer, err := standardwebhooks.NewWebhook(secret)
	if err == nil {
		err = signer.Verify(body, r.Header)
	}
	if err != nil {
		return nil, fmt.Errorf("the request is not signed: %w", err)
	}
	w.mu.Lock()
	w.times, w.ids, w.said = append(w.times, time.Now()), append(w.ids, r.Header.Get("webhook-id")), append(w.said, string(body))
	w.hosts = append(w.hosts, r.URL.Host)
	n := len(w.ids)
	w.mu.Unlock()
	status, err := w.answer(n, r)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{"Location": {"http://elsewhere.example/"}}, Body: http.NoBody, Request: r}, nil
}

func (w *wire) requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ids)
}

func did(text string) ucan.DID {
	d, err := ucan.ParseDID(text)
	if err != nil {
		panic(err)
	}
	return d
}

var owner = did("did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK")

// desk is an outbox over a store that outlives it.
type desk struct {
	*webhooks.Outbox
	store *store.Store
	log   *strings.Builder
}

func open(st *store.Store, w *wire, hooks ...config.HookOut) *desk {
	d := &desk{store: st, log: new(strings.Builder)}
	d.Outbox = webhooks.NewOutbox(webhooks.OutboxOptions{
		Store: st.Under(""), Now: time.Now, Transport: w, Logger: slog.New(slog.NewTextHandler(d.log, nil)),
		Secret: func(context.Context, ucan.DID, string) (string, error) { return secret, nil },
	})
	d.Set(owner, hooks)
	return d
}

// works runs the outbox until stop is called, which waits for its end.
func (d *desk) works(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { d.Run(ctx) })
	return func() {
		cancel()
		work.Wait()
	}
}

// ends stores the end of a run.
func (d *desk) ends(t *testing.T, rec runs.Record) {
	t.Helper()
	rec.Updated = time.Now().UnixMilli()
	put := make(map[string][]byte)
	d.Draft(owner, &rec, put)
	if _, err := d.store.Under("").Apply(t.Context(), nil, put, nil); err != nil {
		t.Fatal(err)
	}
	d.OnStore()
}

func hook(id, url string) config.HookOut {
	return config.HookOut{ID: id, URL: url, Secret: "secret:X"}
}

func always(status int) func(int, *http.Request) (int, error) {
	return func(int, *http.Request) (int, error) { return status, nil }
}

var done = runs.Record{ID: "01A", Kind: runs.Task, Status: runs.Complete, Agent: "bob", Output: []byte(`"private"`), Input: []byte(`"private"`)}

func TestWhatIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: always(204)}
		only := hook("some", "https://some.example/")
		only.Events, only.Agents = []string{config.RunFailed, config.RunWaiting}, []string{"bob"}
		d := open(memory.Open(), w, hook("all", "https://all.example/"), only)
		defer d.works(t)()
		d.ends(t, done)
		d.ends(t, runs.Record{ID: "01B", Kind: runs.Turn, Status: runs.Failed, Agent: "bob", Error: "private", Code: "timeout"})
		d.ends(t, runs.Record{ID: "01C", Kind: runs.Turn, Status: runs.Failed, Agent: "carol"})
		d.ends(t, runs.Record{ID: "01D", Kind: runs.Job, Status: runs.Waiting, Caller: "bob", Waits: []string{"ap1"}})
		d.ends(t, runs.Record{ID: "01E", Kind: runs.Job, Status: runs.Cancelled, Caller: "bob"})
		synctest.Wait()
		got := map[string]int{}
		for i, said := range w.said {
			if strings.Contains(said, "private") {
				t.Errorf("it is told %s", said)
			}
			for _, want := range []string{
				`"type":"run.completed"`, `"run":"01A"`, `"errorCode":"timeout"`, `"type":"run.waiting"`, `"waits":["ap1"]`, `"type":"run.cancelled"`,
			} {
				if strings.Contains(said, want) {
					got[w.hosts[i]+" "+want]++
				}
			}
		}
		want := map[string]int{
			`all.example "type":"run.completed"`: 1, `all.example "run":"01A"`: 1, `all.example "errorCode":"timeout"`: 1, `all.example "type":"run.waiting"`: 1,
			`all.example "waits":["ap1"]`: 1, `all.example "type":"run.cancelled"`: 1,
			`some.example "errorCode":"timeout"`: 1, `some.example "type":"run.waiting"`: 1, `some.example "waits":["ap1"]`: 1,
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || len(w.said) != 7 {
			t.Errorf("told %v in %d requests, want %v", got, len(w.said), want)
		}
	})
}

// What nobody takes is sent again, later and later, also after a restart, and is the same.
func TestItIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: func(n int, _ *http.Request) (int, error) {
			switch {
			case n < 3:
				return 0, errors.New("nobody is there")
			case n < 6:
				return 500, nil
			}
			return 200, nil
		}}
		st := memory.Open()
		d := open(st, w, hook("ops", "https://ops.example/"))
		stop := d.works(t)
		d.ends(t, done)
		synctest.Wait()
		stop()
		before := w.requests()
		d = open(st, w, hook("ops", "https://ops.example/"))
		stop = d.works(t)
		time.Sleep(12 * time.Hour)
		synctest.Wait()
		stop()
		if before != 1 || len(w.ids) != 6 {
			t.Fatalf("%d requests before the restart, %d in all: %s", before, len(w.ids), d.log)
		}
		for i := range w.ids {
			if w.ids[i] != w.ids[0] || w.said[i] != w.said[0] {
				t.Errorf("try %d is %s %s, and not %s %s", i, w.ids[i], w.said[i], w.ids[0], w.said[0])
			}
			if i > 0 && w.times[i].Sub(w.times[i-1]) < 2*time.Second {
				t.Errorf("try %d comes %s after the one before", i, w.times[i].Sub(w.times[i-1]))
			}
		}
	})
}

func TestItIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: always(302)} // whose Location is not followed
		d := open(memory.Open(), w, hook("ops", "https://ops.example/"))
		stop := d.works(t)
		d.ends(t, done)
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		n := w.requests()
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		stop()
		if w.requests() != n || n < 10 || n > 60 || !strings.Contains(d.log.String(), "has not taken it for a day") {
			t.Errorf("%d requests, then %d: %s", n, w.requests(), d.log)
		}
		for _, host := range w.hosts {
			if host != "ops.example" {
				t.Errorf("a request went to %s", host)
			}
		}
		if keys, _, err := d.store.Under("").PageKeys(t.Context(), "h/", "", 1); err != nil || len(keys) > 0 {
			t.Errorf("%q stays, %v", keys, err)
		}
	})
}

// A receiver that does not answer holds up itself alone, and its own rest.
func TestASlowReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		w.answer = func(_ int, r *http.Request) (int, error) {
			if r.URL.Host == "slow.example" {
				<-r.Context().Done()
				return 0, context.Cause(r.Context())
			}
			return 200, nil
		}
		d := open(memory.Open(), w, hook("slow", "https://slow.example/"), hook("quick", "https://quick.example/"))
		stop := d.works(t)
		for range 3 {
			d.ends(t, done)
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		quick := 0
		for _, host := range w.hosts {
			if host == "quick.example" {
				quick++
			}
		}
		stop()
		if quick != 3 {
			t.Errorf("the other one is told %d times", quick)
		}
	})
}

// What waits is bounded, and so is who is told of it: whoever owns the configuration.
func TestBoundsOfTheOutbox(t *testing.T) {
	d := open(memory.Open(), &wire{}, hook("ops", "https://ops.example/"))
	put := make(map[string][]byte)
	other := did("did:key:z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH")
	d.Draft(other, &done, put)
	if len(put) > 0 {
		t.Errorf("it is told of another's run: %v", put)
	}
	for i := range 2_501 { // whoever works for it
		rec := done
		rec.ID, rec.Agent, rec.Caller = fmt.Sprint("bob ", i), fmt.Sprint("of bob ", i%2), "bob"
		d.Draft(owner, &rec, put)
	}
	if len(put) != 2_500 || strings.Count(d.log.String(), "not told") != 1 {
		t.Errorf("of one agent %d wait: %s", len(put), d.log)
	}
	for i := range 7_501 {
		rec := done
		rec.ID, rec.Agent = fmt.Sprint(i), fmt.Sprint("agent ", i%10)
		d.Draft(owner, &rec, put)
	}
	if len(put) != 10_000 || strings.Count(d.log.String(), "not told") != 1 {
		t.Errorf("%d wait: %s", len(put), d.log)
	}
}

// What waits counts after a restart, too.
func TestBoundsAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(memory.Open(), &wire{answer: always(500)}, hook("ops", "https://ops.example/"))
		for i := range 10_000 {
			put := make(map[string][]byte)
			rec := done
			rec.ID, rec.Agent, rec.Updated = fmt.Sprint(i), fmt.Sprint("agent ", i%10), time.Now().Add(time.Hour).UnixMilli()
			d.Draft(owner, &rec, put)
			if _, err := d.store.Under("").Apply(t.Context(), nil, put, nil); err != nil || len(put) != 1 {
				t.Fatal(err, put)
			}
		}
		d = open(d.store, &wire{answer: always(500)}, hook("ops", "https://ops.example/"))
		stop := d.works(t)
		synctest.Wait()
		more := make(map[string][]byte)
		d.Draft(owner, &done, more)
		stop()
		if len(more) > 0 {
			t.Errorf("%d more wait", len(more))
		}
		// Those of one agent leave room for others'.
		d = open(memory.Open(), &wire{answer: always(500)}, hook("ops", "https://ops.example/"))
		for i := range 2_500 {
			put := make(map[string][]byte)
			rec := done
			rec.ID, rec.Updated = fmt.Sprint(i), time.Now().Add(time.Hour).UnixMilli()
			d.Draft(owner, &rec, put)
			if _, err := d.store.Under("").Apply(t.Context(), nil, put, nil); err != nil || len(put) != 1 {
				t.Fatal(err, put)
			}
		}
		d = open(d.store, &wire{answer: always(500)}, hook("ops", "https://ops.example/"))
		stop = d.works(t)
		synctest.Wait()
		other := done
		other.Agent = "carol"
		d.Draft(owner, &done, more)
		d.Draft(owner, &other, more)
		stop()
		if len(more) != 1 {
			t.Errorf("%d more wait, want carol's alone", len(more))
		}
	})
}

// An entry that goes takes with it what waits for it; a venue without a configuration takes
// nothing.
func TestAnEntryThatGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.Open()
		w := &wire{answer: always(500)}
		d := open(st, w, hook("ops", "https://ops.example/"), hook("opz", "https://opz.example/"))
		d.ends(t, done)
		waiting := func() (list []string) {
			keys, _, err := st.Under("").PageKeys(t.Context(), "h/out/", "", 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range keys {
				list = append(list, strings.Split(key, "/")[2])
			}
			return list
		}
		bare := webhooks.NewOutbox(webhooks.OutboxOptions{Store: st.Under(""), Now: time.Now, Transport: w, Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() { bare.Run(ctx) })
		synctest.Wait()
		cancel()
		work.Wait()
		if got := waiting(); fmt.Sprint(got) != "[ops opz]" {
			t.Errorf("a venue without a configuration leaves %v", got)
		}
		stop := d.works(t)
		synctest.Wait()
		d.Set(owner, []config.HookOut{hook("opz", "https://opz.example/")})
		synctest.Wait()
		stop()
		if got := waiting(); fmt.Sprint(got) != "[opz]" {
			t.Errorf("what waits is for %v", got)
		}
	})
}
