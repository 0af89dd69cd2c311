package rest_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"usher/caps"
	"usher/runtime"
	"usher/tools/tokens"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/face"
	"usher/venue/rest"
	"usher/venue/venuetest"
)

func TestMain(m *testing.M) {
	venuetest.CollectLess()
	goleak.VerifyTestMain(m)
}

var update = flag.Bool("update", false, "write the golden files anew")

// port is a venue on a port of its own.
type port struct {
	venue *venue.Venue
	alice *venue.User
	model *venuetest.Model
	url   string
}

func serve(t *testing.T, opts *venue.Options) *port {
	t.Helper()
	p := &port{model: new(venuetest.Model)}
	if opts == nil {
		opts = new(venue.Options)
	}
	opts.Models = map[string]runtime.Model{"default": p.model}
	var err error
	if p.venue, err = venue.Open(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	if p.alice, err = p.venue.User(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	f, err := rest.New(&face.Door{Venue: p.venue})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(f)
	p.url = srv.URL + rest.Prefix
	t.Cleanup(func() {
		srv.Client().CloseIdleConnections()
		srv.Close()
		if err := p.venue.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// token makes a token of the venue for a principal.
func token(t *testing.T, p *venue.Principal, name string) string {
	t.Helper()
	raw, err := p.Invoke(t.Context(), "token:create", tokens.New{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	var made tokens.CreateResult
	if err := json.Unmarshal(raw, &made); err != nil {
		t.Fatal(err)
	}
	return made.Secret
}

// call makes a request. head is pairs of names and values.
func (p *port) call(t *testing.T, token, method, path, body string, head ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(head); i += 2 {
		req.Header.Add(head[i], head[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	return resp.StatusCode, resp.Header, string(raw)
}

func create(t *testing.T, of *venue.Principal, spec string) {
	t.Helper()
	if _, err := of.Invoke(t.Context(), "agent:create", json.RawMessage(spec)); err != nil {
		t.Fatal(err)
	}
}

// Every route is called as nobody, as a stranger, as who is bounded, and as the owner.
// What each comes to stands in a table, and a call is denied where the Go API denies it.
func TestVerdicts(t *testing.T) {
	bounds := caps.Of(caps.MustCapability("w/open", "crud"), caps.MustCapability("g/", "agent/read"), caps.MustCapability("j/", "job/read"))
	p := serve(t, &venue.Options{Auth: config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(bounds)}}})
	closed := serve(t, nil)
	stranger, err := p.venue.User(t.Context(), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	bounded, err := p.venue.Anonymous(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	create(t, p.alice, `{"agentId":"bob","config":{"tools":["covia:*"],"caps":[]}}`)
	mine, other := token(t, p.alice, "a"), token(t, stranger, "b")
	var table strings.Builder
	inPath := regexp.MustCompile(`\{([A-Za-z]+)(\.\.\.)?\}`)
	samples := map[string]string{
		"agentId": "bob", "sourceId": "bob", "id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "handle": "nightly", "name": "laptop", "reference": "covia:read",
		"taskId": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "sessionId": "main", "cid": "bafyreih5ryzsq6kh5k5fc2qimk2k4v2wcoffi3sctcqd3kpd6ubmh3rrdu", "row": "1",
	}
	bodies := map[string]string{
		"POST /invoke": `{"operation":"covia:read","input":{"path":"w/secret"},"wait":true}`, "POST /decide": `{"operation":"covia:read","input":{"path":"w/secret"}}`,
		"POST /agents": `{"agentId":"new","config":{"caps":[]}}`, "PATCH /agents/{agentId}": `{"config":{"description":"x"}}`,
		"POST /agents/{sourceId}/fork": `{"agentId":"kid"}`, "POST /agents/{agentId}/chat": `{"message":"hi"}`, "POST /agents/{agentId}/request": `{"input":"hi"}`,
		"POST /agents/{agentId}/message": `{"message":"hi"}`, "PUT /secrets/{name}": `{"value":"x"}`, "POST /tokens": `{"name":"more"}`,
		"PUT /values": `{"value":1}`, "POST /schedules": `{"name":"nightly","operation":"covia:list","input":{},"cron":"0 3 * * *"}`,
		"POST /delegations": `{"audience":"` + stranger.DID().String() + `","attenuations":[{"with":"w/a","can":"crud/read"}],"exp":` + fmt.Sprint(time.Now().Add(time.Hour).Unix()) + `}`,
		"POST /jobs/{id}":   `{"message":"hi"}`, "POST /jobs/{id}/outcome": `{"outcome":"failed"}`, "POST /delegations/verify": `{"caller":"` + stranger.DID().String() + `","can":"crud/read","with":"w/a"}`,
		"POST /delegations/import": `{"tokens":["x"]}`, "POST /delegations/revoke": `{"cid":"x"}`,
	}
	for _, rt := range rest.Routes() {
		path := inPath.ReplaceAllStringFunc(rt.Path, func(s string) string { return samples[strings.Trim(s, "{}.")] })
		if rt.Path == "/values" {
			path += "?path=w/secret"
		}
		at := rt.Method + " " + rt.Path
		fmt.Fprintf(&table, "%-44s", at)
		for _, as := range []struct {
			name, token string
			port        *port
			who         *venue.Principal
		}{{"nobody", "", closed, nil}, {"bounded", "", p, bounded}, {"stranger", other, p, stranger}, {"owner", mine, p, p.alice}} {
			var denied bool
			if rt.Op != "" && as.who != nil {
				ruling, err := as.who.Decide(t.Context(), rt.Op, rest.InputOf(t, rt, path, bodies[at]))
				denied = err == nil && ruling.Denial() != nil
			}
			status, head, said := as.port.call(t, as.token, rt.Method, path, bodies[at])
			fmt.Fprintf(&table, " %s %d", as.name, status)
			var problem struct {
				Status                    int
				Type, Title, Detail, Code string
				Error                     string
			}
			if status >= 400 {
				if err := json.Unmarshal([]byte(said), &problem); err != nil || problem.Status != status || problem.Detail == "" || head.Get("Content-Type") != face.ProblemType {
					t.Errorf("%s as %s: %d %s is no problem", at, as.name, status, said)
				}
			}
			if status >= 500 {
				t.Errorf("%s as %s: %d %s", at, as.name, status, said)
			}
			if isDenied := problem.Error == "capability_denied"; rt.Op != "" && as.who != nil && isDenied != denied {
				t.Errorf("%s as %s: %d %s, and the Go API denies it: %t", at, as.name, status, said, denied)
			}
			if status == http.StatusUnauthorized && head.Get("WWW-Authenticate") != `Bearer realm="usher"` {
				t.Errorf("%s as %s is challenged by %q", at, as.name, head.Get("WWW-Authenticate"))
			}
		}
		table.WriteString("\n")
	}
	golden := filepath.Join("testdata", "verdicts.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), table.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInvoke(t *testing.T) {
	p := serve(t, nil)
	mine := token(t, p.alice, "a")
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"write", "PUT", "/values?path=w/a", `{"value":{"x":1}}`, 200, `{"written":true}`},
		{"now", "POST", "/invoke", `{"operation":"covia:read","input":{"path":"w/a"},"wait":true}`, 200, `{"status":"COMPLETE","output":{"exists":true,"value":{"x":1}}}`},
		{"now, by the query", "POST", "/invoke?wait=true", `{"operation":"v/ops/covia/read","input":{"path":"w/a"}}`, 200, `"value":{"x":1}`},
		{"waited for", "POST", "/invoke", `{"operation":"covia:read","input":{"path":"w/a"},"wait":30}`, 200, `"status":"COMPLETE"`},
		{"as a job", "POST", "/invoke", `{"operation":"covia:read","input":{"path":"w/a"}}`, 201, `"op":"v/ops/covia/read"`},
		{"a number in the query", "GET", "/agents?limit=1", "", 200, `{"agents":[]}`},
		{"no number", "GET", "/agents?limit=many", "", 400, `give a whole number`},
		{"an unknown field of the query", "GET", "/agents?limt=1", "", 400, `not known here`},
		{"a field twice", "GET", "/agents?limit=1&limit=2", "", 400, `give it once`},
		{"in the address and in the body", "PUT", "/values?path=w/a", `{"path":"w/b","value":1}`, 400, `stands in the address and in the body`},
		{"an unknown field of the body", "PUT", "/values?path=w/a", `{"value":1,"valu":2}`, 400, `"error":"invalid_input"`},
		{"no object", "POST", "/invoke", `[1]`, 400, `no JSON object`},
		{"no JSON", "POST", "/invoke", `{`, 400, `no JSON object`},
		{"an unknown field of a call", "POST", "/decide", `{"operation":"covia:list","agent":"bob"}`, 400, `unknown field \"agent\": known are input, operation, ucans, wait`},
		{"a misspelt field of a call", "POST", "/invoke", `{"operation":"covia:list","inputs":{}}`, 400, `unknown field \"inputs\": did you mean input?`},
		{"no operation", "POST", "/invoke", `{}`, 400, `operation is missing`},
		{"an input that is no object", "POST", "/invoke", `{"operation":"covia:read","input":[]}`, 400, `input is no JSON object`},
		{"an unknown operation", "POST", "/invoke", `{"operation":"covia:raed","wait":true}`, 404, `did you mean covia:read`},
		{"a wait too long", "POST", "/invoke", `{"operation":"covia:list","wait":121}`, 400, `up to 120`},
		{"a wait that is none", "POST", "/invoke", `{"operation":"covia:list","wait":"long"}`, 400, `up to 120`},
		{"a wait that is no number", "POST", "/invoke?wait=NaN", `{"operation":"covia:list"}`, 400, `up to 120`},
		{"denied in a job", "POST", "/invoke", `{"operation":"v/ops/covia/read","input":{"path":"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK/w/a"}}`, 201, `"denial":{"error":"capability_denied"`},
		{"no route", "GET", "/nothing", "", 404, `"retryable":false`},
		{"no such route", "GET", "/nothing", "", 404, `openapi.json lists what there is`},
		{"another method", "PUT", "/jobs", "", 405, `GET, HEAD`},
		{"another method for good", "PUT", "/jobs", "", 405, `"retryable":false`},
		{"no session", "GET", "/agents/nobody/sessions", "", 404, `"error":"not_found"`},
		{"a page that is none", "GET", "/agents/nobody/sessions?limit=0", "", 400, `limit is`},
		{"a row of the ledger that is none", "GET", "/ledger/x/proof", "", 400, `give a whole number`},
		{"a row of nobody's", "GET", "/ledger/1000000000/proof", "", 404, `of yours`},
		{"a row beyond all", "GET", "/ledger/9223372036854775807/proof", "", 404, `of yours`},
		{"a feed from nowhere", "GET", "/revocations?after=7", "", 400, `begin anew`},
		{"a message to nobody", "POST", "/jobs/x", `{"message":"hi"}`, 404, `"error":"not_found"`},
		{"no message", "POST", "/jobs/x", `{"text":"hi"}`, 400, `give {\"message\"`},
		{"an operation", "GET", "/operations/v/ops/covia/read", "", 200, `"name":"covia:read"`},
		{"an unknown job", "GET", "/jobs/x/sse", "", 404, `"error":"not_found"`},
		{"me", "GET", "/me", "", 200, `"caps":null`},
	} {
		status, _, said := p.call(t, mine, tt.method, tt.path, tt.body)
		if status != tt.status || !strings.Contains(said, tt.want) {
			t.Errorf("%s: %d %s, want %d with %s", tt.name, status, said, tt.status, tt.want)
		}
	}
	if status, _, said := p.call(t, mine, "POST", "/invoke", `{"operation":"covia:list","input":{"path":"`+strings.Repeat("a", 5<<20)+`"}}`); status != 413 {
		t.Errorf("a body of 5 MiB: %d %s, want 413", status, said)
	}
}

// Who may start a job need not be able to look at it: the answer says that it began, and a
// denial is one of what was asked for.
func TestAJobThatItsCallerMayNotLookAt(t *testing.T) {
	bounds := caps.Of(caps.MustCapability("w/", "crud"), caps.MustCapability("", "invoke"))
	p := serve(t, &venue.Options{Auth: config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(bounds)}}})
	for _, wait := range []string{"", `,"wait":30`} {
		status, h, said := p.call(t, "", "POST", "/invoke", `{"operation":"covia:write","input":{"path":"w/a","value":1}`+wait+`}`)
		if at := h.Get("Location"); status != 201 || !strings.Contains(said, `"status":"STARTED"`) || at == "" || !strings.Contains(said, at) {
			t.Errorf("it may (%s): %d %s at %s", wait, status, said, at)
		}
		status, _, said = p.call(t, "", "POST", "/invoke", `{"operation":"covia:write","input":{"path":"o/a","value":1}`+wait+`}`)
		if status != 403 || !strings.Contains(said, "v/ops/covia/write requires crud/write on o/a") {
			t.Errorf("it may not (%s): %d %s", wait, status, said)
		}
	}
}

// A bearer that proves nothing is refused, also where anonymous callers are let in.
func TestABadBearerIsNotAnonymous(t *testing.T) {
	p := serve(t, &venue.Options{Auth: config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(caps.Of(caps.MustCapability("w/", "crud")))}}})
	if status, _, said := p.call(t, "", "GET", "/me", ""); status != 200 {
		t.Errorf("nobody: %d %s", status, said)
	}
	for name, head := range map[string][]string{
		"a bad token": {"Authorization", "Bearer x.y.z"}, "no token": {"Authorization", "Bearer "}, "an empty header": {"Authorization", ""},
		"another scheme": {"Authorization", "Basic YTpi"}, "two": {"Authorization", "Bearer x", "Authorization", "Bearer y"},
	} {
		for _, path := range []string{"/me", "/status", "/openapi.json", "/docs"} {
			status, h, said := p.call(t, "", "GET", path, "", head...)
			if status != 401 || !strings.HasPrefix(h.Get("WWW-Authenticate"), "Bearer ") {
				t.Errorf("%s at %s: %d %.200s, challenged by %q", name, path, status, said, h.Get("WWW-Authenticate"))
			}
		}
	}
}

// A denial says by HTTP what it says to a model.
func TestADenialIsAProblem(t *testing.T) {
	p := serve(t, nil)
	stranger, err := p.venue.User(t.Context(), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	path := p.alice.DID().String() + "/w/secret"
	_, want := stranger.Invoke(t.Context(), "covia:read", map[string]string{"path": path})
	denial, ok := errors.AsType[*caps.Denial](want)
	if !ok {
		t.Fatal(want)
	}
	told, err := json.Marshal(denial)
	if err != nil {
		t.Fatal(err)
	}
	status, _, said := p.call(t, token(t, stranger, "b"), "GET", "/values?path="+path, "")
	var got, as map[string]any
	if err := errors.Join(json.Unmarshal([]byte(said), &got), json.Unmarshal(told, &as)); err != nil || status != 403 {
		t.Fatalf("%d %s, %v", status, said, err)
	}
	if got["title"] != "Capability denied" || got["detail"] != denial.Error() || got["status"] != 403.0 || got["type"] != "urn:usher:capability_denied" {
		t.Errorf("the problem is %s", said)
	}
	for name, value := range as {
		if diff := cmp.Diff(value, got[name]); diff != "" {
			t.Errorf("%s (-denial +problem): %s", name, diff)
		}
	}
}

// event is one server-sent event.
type event struct{ id, name, data string }

// follow reads the events of a job until the stream ends.
func (p *port) follow(t *testing.T, token, job, last string) (events []event, status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/jobs/"+job+"/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var e event
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			events, e = append(events, e), event{}
		}
	}
	return events, resp.StatusCode
}

// The events of a job can be followed from any of them on, and end.
func TestEvents(t *testing.T) {
	p := serve(t, nil)
	mine := token(t, p.alice, "a")
	create(t, p.alice, `{"agentId":"bob","config":{"tools":["covia:*"],"caps":[{"with":"w/","can":"crud"}]}}`)
	p.model.Ask("covia_write", `{"path":"w/a","value":1}`)
	status, head, said := p.call(t, mine, "POST", "/invoke", `{"operation":"agent:chat","input":{"agentId":"bob","message":"go"},"wait":60}`)
	if status != 200 {
		t.Fatalf("%d %s", status, said)
	}
	if !strings.HasPrefix(head.Get("Location"), rest.Prefix+"/jobs/") {
		t.Errorf("the job is at %q", head.Get("Location"))
	}
	_, _, list := p.call(t, mine, "GET", "/jobs", "")
	var jobs struct{ Jobs []struct{ ID, Kind string } }
	if err := json.Unmarshal([]byte(list), &jobs); err != nil {
		t.Fatal(err)
	}
	turn := ""
	for _, j := range jobs.Jobs {
		if j.Kind == "task" {
			turn = j.ID
		}
	}
	all, _ := p.follow(t, mine, turn, "")
	if n := len(all); n < 5 || all[0].id != "1" || !strings.Contains(all[0].data, `"type":"turn_started"`) || all[n-1] != (event{"end", "job-ended", `{"error":"","id":"` + turn + `","status":"COMPLETE"}`}) {
		t.Fatalf("the events are %q", all)
	}
	rest, _ := p.follow(t, mine, turn, "3")
	if diff := cmp.Diff(all[3:], rest, cmp.AllowUnexported(event{})); diff != "" {
		t.Errorf("after the third (-want +got):\n%s", diff)
	}
	if none, status := p.follow(t, mine, turn, "end"); status != http.StatusNoContent || len(none) > 0 {
		t.Errorf("after the end: %d, %q; want 204", status, none)
	}
	if _, status := p.follow(t, mine, turn, "x"); status != 400 {
		t.Errorf("after an id that is none: %d", status)
	}
	other, err := p.venue.User(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	if _, status := p.follow(t, token(t, other, "b"), turn, ""); status != 404 {
		t.Errorf("another follows: %d, want 404", status)
	}
}

// The document has each route, and each of its references leads somewhere.
func TestOpenAPI(t *testing.T) {
	p := serve(t, nil)
	status, _, said := p.call(t, "", "GET", "/openapi.json", "")
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Summary     string
			Responses   map[string]json.RawMessage
		}
		Components struct {
			Schemas, Responses map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(said), &doc); err != nil || status != 200 || doc.OpenAPI != "3.1.0" {
		t.Fatalf("%d %v", status, err)
	}
	ids := make(map[string]bool)
	for _, rt := range rest.Routes() {
		op := doc.Paths[rest.Prefix+strings.ReplaceAll(rt.Path, "...", "")][strings.ToLower(rt.Method)]
		if op.OperationID == "" || op.Summary == "" || len(op.Responses) < 2 || ids[op.OperationID] {
			t.Errorf("%s %s is %+v", rt.Method, rt.Path, op)
		}
		ids[op.OperationID] = true
	}
	for _, ref := range regexp.MustCompile(`"\$ref":"#/components/([a-z]+)/([A-Za-z]+)"`).FindAllStringSubmatch(said, -1) {
		if doc.Components.Schemas[ref[2]] == nil && doc.Components.Responses[ref[2]] == nil {
			t.Errorf("%s leads nowhere", ref[0])
		}
	}
}
