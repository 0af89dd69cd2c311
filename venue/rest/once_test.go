package rest_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/tokens"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/rest"
)

// A request that is sent again under its key is answered the same, and done once.
func TestIdempotencyKey(t *testing.T) {
	now := time.Now()
	var clock sync.Mutex
	p := serve(t, &venue.Options{
		Idle: true, Now: func() time.Time { clock.Lock(); defer clock.Unlock(); return now },
		Auth: config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(caps.Of(caps.MustCapability("w/", "crud")))}},
	})
	mine := token(t, p.alice, "a")
	const invoke = `{"operation":"covia:append","input":{"path":"w/list","value":%d},"wait":true}`
	send := func(token, key, method, path, body string) (int, string, string) {
		t.Helper()
		status, head, said := p.call(t, token, method, path, body, "Idempotency-Key", key)
		return status, head.Get("Idempotent-Replayed") + head.Get("Location"), said
	}
	length := func(want int) {
		t.Helper()
		_, _, said := p.call(t, mine, "GET", "/values?path=w/list", "")
		if n := strings.Count(said, "1"); n != want {
			t.Errorf("the list is %s, want %d values", said, want)
		}
	}
	first, head, said := send(mine, "k1", "POST", "/invoke", fmt.Sprintf(invoke, 1))
	if first != 200 || head != "" {
		t.Fatal(first, head, said)
	}
	if status, head, again := send(mine, "k1", "POST", "/invoke", fmt.Sprintf(invoke, 1)); status != first || again != said || head != "true" {
		t.Errorf("again: %d %s %s", status, head, again)
	}
	length(1)
	if status, _, said := send(mine, "k1", "POST", "/invoke", fmt.Sprintf(invoke, 2)); status != 422 || !strings.Contains(said, `"error":"key_reused"`) {
		t.Errorf("with another body: %d %s", status, said)
	}
	if status, _, said := send("", "k1", "POST", "/invoke", fmt.Sprintf(invoke, 1)); status != 200 || strings.Contains(said, "key_reused") {
		t.Errorf("as another: %d %s", status, said)
	}
	if status, head, again := send(token(t, p.alice, "other"), "k1", "POST", "/invoke", fmt.Sprintf(invoke, 1)); status != first || again != said || head != "true" {
		t.Errorf("by another token: %d %s %s", status, head, again)
	}
	length(1)
	send(mine, "k2", "POST", "/invoke", fmt.Sprintf(invoke, 1))
	length(2)

	// A job is the same job.
	const job = `{"operation":"covia:append","input":{"path":"w/list","value":1}}`
	status, at, said := send(mine, "k3", "POST", "/invoke", job)
	if status != 201 || at == "" {
		t.Fatal(status, at, said)
	}
	if status, head, again := send(mine, "k3", "POST", "/invoke", job); status != 201 || head != "true"+at || again != said {
		t.Errorf("a job again: %d %s %s, want %s", status, head, again, said)
	}

	// What was denied, or was wrong, did nothing, and is asked anew.
	const denied = `{"operation":"covia:read","input":{"path":"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK/w/a"},"wait":true}`
	for range 2 {
		if status, head, said := send(mine, "k4", "POST", "/invoke", denied); status != 403 || head != "" {
			t.Errorf("denied: %d %s %s", status, head, said)
		}
	}
	for name, key := range map[string]string{"empty": "", "long": strings.Repeat("a", 256), "with spaces": "a b", "not ASCII": "é"} {
		if status, _, said := send(mine, key, "POST", "/invoke", denied); status != 400 || !strings.Contains(said, "is no key") {
			t.Errorf("a key that is %s: %d %s", name, status, said)
		}
	}

	// A token is told once more to who made it, and nothing on disk tells it.
	_, _, made := send(mine, "k5", "POST", "/tokens", `{"name":"more"}`)
	if _, head, again := send(mine, "k5", "POST", "/tokens", `{"name":"more"}`); head != "true" || again != made {
		t.Errorf("a token again: %s", again)
	}

	// A token that ends sooner is told of none that ends later.
	_, _, raw := send(mine, "k6", "POST", "/tokens", `{"name":"short","for":"1h"}`)
	var short tokens.CreateResult
	if err := json.Unmarshal([]byte(raw), &short); err != nil {
		t.Fatal(raw, err)
	}
	if status, _, said := send(short.Secret, "k5", "POST", "/tokens", `{"name":"more"}`); status != 422 || !strings.Contains(said, `"error":"key_reused"`) {
		t.Errorf("by a token that ends sooner: %d %s", status, said)
	}
	send(short.Secret, "k7", "POST", "/invoke", fmt.Sprintf(invoke, 1))
	if status, head, said := send(mine, "k7", "POST", "/invoke", fmt.Sprintf(invoke, 1)); status != 200 || head != "true" {
		t.Errorf("by a token that ends later: %d %s %s", status, head, said)
	}

	// A day later the key is as good as new.
	clock.Lock()
	now = now.Add(24*time.Hour + time.Second)
	clock.Unlock()
	mine = token(t, p.alice, "later")
	if status, head, said := send(mine, "k1", "POST", "/invoke", fmt.Sprintf(invoke, 1)); status != 200 || head != "" {
		t.Errorf("a day later: %d %s %s", status, head, said)
	}
}

// Of several that are sent at once one is answered, and the others wait or are told the same.
func TestIdempotencyKeyAtOnce(t *testing.T) {
	p := serve(t, nil)
	mine := token(t, p.alice, "a")
	create(t, p.alice, `{"agentId":"bob","config":{"caps":[]}}`)
	asked, goOn := make(chan struct{}), make(chan struct{})
	p.model.Ask("covia_read", `{"path":"w/a"}`)
	p.model.Between(func() { close(asked); <-goOn })
	chat := func() (int, string) {
		status, _, said := p.call(t, mine, "POST", "/agents/bob/chat", `{"message":"hi"}`, "Idempotency-Key", "k")
		return status, said
	}
	var first sync.WaitGroup
	var status int
	var said string
	first.Go(func() { status, said = chat() })
	<-asked
	if status, said := chat(); status != 409 || !strings.Contains(said, "under way") || !strings.Contains(said, `"retryable":true`) {
		t.Errorf("meanwhile: %d %s", status, said)
	}
	close(goOn)
	first.Wait()
	if again, same := chat(); status != 200 || again != 200 || same != said {
		t.Errorf("%d %s, and again %d %s", status, said, again, same)
	}
}

// A venue that stops between an effect and its answer finds the job of the key again, and
// says of what cannot be made again that nobody knows.
func TestIdempotencyKeyAfterAStop(t *testing.T) {
	began := make(chan struct{})
	var times atomic.Int32
	pay := tools.New("bank:pay", "Pay.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("bank/pay")} },
		func(ctx context.Context, _ tools.Call, _ struct{}) (string, error) {
			if times.Add(1) == 1 {
				close(began)
			}
			<-ctx.Done()
			return "", context.Cause(ctx)
		})
	opts := func(dir string) *venue.Options {
		return &venue.Options{Dir: dir, Idle: true, Tools: []*tools.Operation{pay}}
	}
	dir := t.TempDir()
	p := serve(t, opts(dir))
	mine := token(t, p.alice, "a")
	const now, job = `{"operation":"bank:pay","wait":true}`, `{"operation":"json:merge","input":{"values":[{}]}}`
	var asks sync.WaitGroup
	asks.Go(func() {
		if status, _, said := p.call(t, mine, "POST", "/invoke", now, "Idempotency-Key", "k1"); status < 400 {
			t.Errorf("what was cut is answered %d %s", status, said)
		}
	})
	<-began
	// A job is begun, and the venue stops before it has answered.
	as, err := p.venue.Authenticate(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	ticket, _, err := as.Once(t.Context(), "k2", sha256.Sum256([]byte("POST "+rest.Prefix+"/invoke\n"+job)))
	if err != nil {
		t.Fatal(err)
	}
	id, err := as.WithName(ticket.Name()).Start(t.Context(), "json:merge", json.RawMessage(`{"values":[{}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.venue.Close(); err != nil {
		t.Fatal(err)
	}
	asks.Wait()

	p = serve(t, opts(dir))
	if status, _, said := p.call(t, mine, "POST", "/invoke", now, "Idempotency-Key", "k1"); status != 422 || !strings.Contains(said, `"error":"unknown"`) || times.Load() != 1 {
		t.Errorf("what nobody knows: %d %s, done %d times", status, said, times.Load())
	}
	for range 2 {
		if status, _, said := p.call(t, mine, "POST", "/invoke", job, "Idempotency-Key", "k2"); status != 201 || !strings.Contains(said, `"id":"`+id+`"`) {
			t.Errorf("the job again: %d %s, want %s", status, said, id)
		}
	}
}
