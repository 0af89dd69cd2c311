package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"usher/runtime"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/face"
	"usher/venue/hooks"
	"usher/venue/rest"
	"usher/venue/runs"
	"usher/venue/venuetest"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

const entries = `
models: {default: {provider: offline}}
agents:
  - {id: clerk, caps: [{with: w/, can: crud}], tools: [covia:write, covia:read]}
  - {id: loner, identity: own, caps: []}
webhooks:
  in:
    - {id: tickets, secret: 'secret:HOOK', agent: clerk, input: {queue: new}}
    - {id: bounded, secret: 'secret:HOOK', agent: clerk, caps: [{with: w/open, can: crud}]}
    - {id: intake, secret: 'secret:HOOK', op: covia:write, caps: [{with: w/tickets, can: crud/write}]}
    - {id: wrapped, secret: 'secret:HOOK', op: covia:write, input: {path: w/tickets/b, value: 1}, caps: [{with: w/tickets, can: crud/write}]}
    - {id: alone, secret: 'secret:HOOK', agent: loner}
    - {id: unset, secret: 'secret:OTHER', agent: clerk}
`

// hookPort is a venue with webhooks on a port.
type hookPort struct {
	venue *venue.Venue
	owner *venue.User
	model *venuetest.Model
	url   string
}

func serveHooks(t *testing.T, dir string) *hookPort {
	t.Helper()
	c, err := config.Parse("usher.yaml", []byte(entries))
	if err != nil {
		t.Fatal(err)
	}
	p := &hookPort{model: new(venuetest.Model)}
	if p.venue, err = venue.Open(t.Context(), &venue.Options{Dir: dir, Config: c, Models: map[string]runtime.Model{"default": p.model}}); err != nil {
		t.Fatal(err)
	}
	if p.owner, err = p.venue.User(t.Context(), "owner"); err != nil {
		t.Fatal(err)
	}
	if err := p.owner.SetSecret(t.Context(), "HOOK", secret); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	api, err := rest.New(&face.Door{Venue: p.venue})
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle(rest.Prefix+"/", api)
	mux.Handle(hooks.Path, hooks.New(p.venue, rest.Prefix+"/jobs/"))
	srv := httptest.NewServer(mux)
	p.url = srv.URL
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		srv.Close()
		if err := p.venue.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// request is a signed request to a webhook.
func (p *hookPort) request(t *testing.T, hook, id string, at time.Time, body string) *http.Request {
	t.Helper()
	w, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := w.Sign(id, at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/hooks/"+hook, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", fmt.Sprint(at.Unix()))
	r.Header.Set("webhook-signature", "v1,AAAA "+signed)
	return r
}

func send(t *testing.T, r *http.Request) (status int, run, said string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ Run string }
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err, string(raw))
	}
	return resp.StatusCode, out.Run, string(raw)
}

// ended is the record of a run that has ended.
func (p *hookPort) ended(t *testing.T, id string) runs.Record {
	t.Helper()
	for _, err := range p.owner.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
	}
	rec, err := p.owner.Run(t.Context(), id)
	if err != nil || !rec.Over() {
		t.Fatalf("run %s: %+v, %v", id, rec, err)
	}
	return rec
}

func TestWhatARequestStarts(t *testing.T) {
	p := serveHooks(t, "")
	for i, tt := range []struct{ hook, body, status, want string }{
		{"tickets", `{"n":1}`, runs.Complete, `{\"body\":{\"n\":1},\"queue\":\"new\",\"webhook\":\"tickets\"}`},
		{"tickets", `not JSON`, runs.Complete, `{\"body\":\"not JSON\",\"queue\":\"new\",\"webhook\":\"tickets\"}`},
		{"intake", `{"path":"w/tickets/a","value":1}`, runs.Complete, `"written":true`},
		{"intake", `{"path":"w/other","value":1}`, runs.Rejected, `requires crud/write on w/other`},
		{"wrapped", `{"path":"w/other"}`, runs.Failed, `body`},
	} {
		status, run, said := send(t, p.request(t, tt.hook, fmt.Sprint("msg_", i), time.Now(), tt.body))
		if status != 202 || run == "" {
			t.Fatalf("%s with %s: %d %s", tt.hook, tt.body, status, said)
		}
		if rec := p.ended(t, run); rec.Status != tt.status || !strings.Contains(string(rec.Output)+rec.Error, tt.want) {
			t.Errorf("%s with %s comes to %s %s %s, want %s with %s", tt.hook, tt.body, rec.Status, rec.Output, rec.Error, tt.status, tt.want)
		}
	}
}

// Capabilities of an entry bound the agent that it asks.
func TestAnEntryBounds(t *testing.T) {
	p := serveHooks(t, "")
	for i, tt := range []struct{ hook, path, want string }{
		{"tickets", "w/closed/1", `"created":`}, {"bounded", "w/open/1", `"created":`}, {"bounded", "w/closed/1", "Capability denied"},
	} {
		p.model.Forget()
		p.model.Ask("covia_write", `{"path":"`+tt.path+`","value":1}`)
		_, run, said := send(t, p.request(t, tt.hook, fmt.Sprint("msg_", i), time.Now(), `{}`))
		if run == "" {
			t.Fatal(said)
		}
		p.ended(t, run)
		if got := p.model.Results(); len(got) != 1 || strings.Contains(got[0], "Capability denied") != (tt.want == "Capability denied") {
			t.Errorf("%s writes %s: %q, want %s", tt.hook, tt.path, got, tt.want)
		}
	}
}

// Whoever cannot sign hears one thing, whatever is wrong.
func TestWhoCannotSign(t *testing.T) {
	p := serveHooks(t, "")
	var heard string
	for name, tt := range map[string]struct {
		hook   string
		at     time.Time
		change func(*http.Request)
	}{
		"another webhook's name": {"nothing", time.Now(), nil},
		"no secret":              {"unset", time.Now(), nil},
		"old":                    {"tickets", time.Now().Add(-6 * time.Minute), nil},
		"of the future":          {"tickets", time.Now().Add(6 * time.Minute), nil},
		"another body":           {"tickets", time.Now(), func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("[]")); r.ContentLength = 2 }},
		"another id":             {"tickets", time.Now(), func(r *http.Request) { r.Header.Set("webhook-id", "msg_2") }},
		"another time":           {"tickets", time.Now(), func(r *http.Request) { r.Header.Set("webhook-timestamp", fmt.Sprint(time.Now().Unix()-1)) }},
		"no time":                {"tickets", time.Now(), func(r *http.Request) { r.Header.Del("webhook-timestamp") }},
		"no signature":           {"tickets", time.Now(), func(r *http.Request) { r.Header.Del("webhook-signature") }},
		"no id":                  {"tickets", time.Now(), func(r *http.Request) { r.Header.Del("webhook-id") }},
		"another signature":      {"tickets", time.Now(), func(r *http.Request) { r.Header.Set("webhook-signature", "v1,AAAA v2,BBBB") }},
	} {
		r := p.request(t, tt.hook, "msg_1", tt.at, `{}`)
		if tt.change != nil {
			tt.change(r)
		}
		status, _, said := send(t, r)
		if heard == "" {
			heard = said
		}
		if status != 401 || said != heard {
			t.Errorf("%s: %d %s, want what others hear: %s", name, status, said, heard)
		}
	}
	if list, _, err := p.owner.Runs(t.Context(), "", 1); err != nil || len(list) > 0 {
		t.Errorf("%v runs were started: %v", list, err)
	}
}

func TestOtherRefusals(t *testing.T) {
	p := serveHooks(t, "")
	if status, _, said := send(t, p.request(t, "intake", "msg_1", time.Now(), `[1]`)); status != 400 || !strings.Contains(said, "no JSON object") {
		t.Errorf("a list for an operation: %d %s", status, said)
	}
	if status, _, said := send(t, p.request(t, "intake", "msg_1", time.Now(), strings.Repeat(" ", 1<<20+1))); status != 413 {
		t.Errorf("a large body: %d %s", status, said)
	}
	if status, _, said := send(t, p.request(t, "tickets", strings.Repeat("x", 257), time.Now(), `{}`)); status != 401 {
		t.Errorf("a long id: %d %s", status, said)
	}
	r := p.request(t, "tickets", "msg_1", time.Now(), "")
	r.Method = http.MethodGet
	if status, _, said := send(t, r); status != 405 {
		t.Errorf("GET: %d %s", status, said)
	}
}

// A webhook-id starts one run, also after a restart and for requests at once; of another
// webhook it is another.
func TestOnce(t *testing.T) {
	dir := t.TempDir()
	p := serveHooks(t, dir)
	ids := make(chan string, 8)
	for range cap(ids) {
		go func() {
			r := p.request(t, "tickets", "msg_1", time.Now(), `{}`)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				ids <- err.Error()
				return
			}
			defer resp.Body.Close()
			var out struct{ Run string }
			_ = json.NewDecoder(resp.Body).Decode(&out)
			ids <- out.Run
		}()
	}
	first := <-ids
	for range cap(ids) - 1 {
		if id := <-ids; id != first || id == "" {
			t.Errorf("one webhook-id started %q and %q", first, id)
		}
	}
	p.ended(t, first)
	if _, other, _ := send(t, p.request(t, "bounded", "msg_1", time.Now(), `{}`)); other == first {
		t.Error("another webhook takes it for the same request")
	} else {
		p.ended(t, other)
	}
	if err := p.venue.Close(); err != nil {
		t.Fatal(err)
	}
	p = serveHooks(t, dir)
	if status, again, said := send(t, p.request(t, "tickets", "msg_1", time.Now().Add(time.Minute), `{}`)); status != 202 || again != first {
		t.Errorf("after a restart it starts %s, and not %s: %s", again, first, said)
	}
}

// What the configuration says counts from the next request on.
func TestAnEntryThatGoes(t *testing.T) {
	p := serveHooks(t, "")
	c, err := config.Parse("usher.yaml", []byte(strings.Replace(entries, "id: tickets", "id: others", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.venue.Configure(context.WithoutCancel(t.Context()), c); err != nil {
		t.Fatal(err)
	}
	for hook, want := range map[string]int{"tickets": 401, "others": 202} {
		if status, run, said := send(t, p.request(t, hook, "msg_1", time.Now(), `{}`)); status != want {
			t.Errorf("%s: %d %s, want %d", hook, status, said, want)
		} else if run != "" {
			p.ended(t, run)
		}
	}
}

// Who may look at what was started finds it where the answer says, with the run of the task.
func TestWhereItIsShown(t *testing.T) {
	p := serveHooks(t, "")
	token, err := p.venue.Session(t.Context(), p.owner, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	_, run, said := send(t, p.request(t, "tickets", "msg_1", time.Now(), `{"n":1}`))
	p.ended(t, run)
	var at struct{ Location string }
	if err := json.Unmarshal([]byte(said), &at); err != nil || at.Location == "" {
		t.Fatal(said, err)
	}
	for name, bearer := range map[string]string{"the owner": token, "nobody": ""} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+at.Location, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if bearer != "" {
			r.Header.Set("Authorization", "Bearer "+bearer)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		var job struct {
			ID     string
			Output struct{ ID string }
		}
		if err == nil {
			err = json.Unmarshal(raw, &job)
		}
		if ok := job.ID == run && job.Output.ID != ""; err != nil || ok != (bearer != "") {
			t.Fatalf("as %s: %d %s, %v", name, resp.StatusCode, raw, err)
		}
		if bearer != "" {
			p.ended(t, job.Output.ID)
		}
	}
}

// The answer names the run of an agent's task, also to who sends the request again, and
// where the agent acts as itself.
func TestTheTaskIsNamed(t *testing.T) {
	dir := t.TempDir()
	p := serveHooks(t, dir)
	task := func(hook string) (job, task string) {
		t.Helper()
		status, job, said := send(t, p.request(t, hook, "msg_1", time.Now(), `{"path":"w/tickets/a","value":1}`))
		var out struct{ Task string }
		if err := json.Unmarshal([]byte(said), &out); err != nil || status != 202 {
			t.Fatalf("%s: %d %s, %v", hook, status, said, err)
		}
		return job, out.Task
	}
	named := make(map[string]string)
	for _, hook := range []string{"tickets", "alone"} {
		job, id := task(hook)
		if _, again := task(hook); again != id {
			t.Errorf("%s: sent again it names %q, and not %q", hook, again, id)
		}
		var out struct{ ID string }
		rec := p.ended(t, job)
		if err := json.Unmarshal(rec.Output, &out); err != nil || id == "" || out.ID != id {
			t.Fatalf("%s names %q, and comes to %s %s %s, %v", hook, id, rec.Status, rec.Output, rec.Error, err)
		}
		if rec := p.ended(t, id); rec.Kind != runs.Task || rec.Parent != job {
			t.Errorf("%s: %+v is no task of %s", hook, rec, job)
		}
		named[hook] = id
	}
	if _, id := task("intake"); id != "" {
		t.Errorf("an operation has the task %s", id)
	}
	if err := p.venue.Close(); err != nil {
		t.Fatal(err)
	}
	p = serveHooks(t, dir)
	for hook, id := range named {
		if _, again := task(hook); again != id {
			t.Errorf("%s: after a restart it names %q, and not %q", hook, again, id)
		}
	}
}
