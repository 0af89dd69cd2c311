package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	protocol "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"usher/caps"
	"usher/tools/fault"
	"usher/tools/tokens"
	"usher/venue"
	"usher/venue/a2a"
	"usher/venue/config"
	"usher/venue/venuetest"
)

// caller is the user of a second venue, who may reach servers on this machine, and knows the
// tokens by the secrets of their names.
func caller(t *testing.T, secrets map[string]string, servers ...string) *venue.User {
	t.Helper()
	list, _ := json.Marshal(servers)
	c, err := config.Parse("usher.yaml", []byte("user: carl\nstore: memory\nmodels: {default: {provider: offline}}\na2a: {private_servers: "+string(list)+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	carl, err := venuetest.Open(t, &venue.Options{Config: c}).User(t.Context(), "carl")
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range secrets {
		if err := carl.SetSecret(t.Context(), name, token); err != nil {
			t.Fatal(err)
		}
	}
	return carl
}

func host(url string) string { return strings.TrimPrefix(url, "http://") }

// do calls an operation, whose answer is decoded into out where that is given.
func do(t *testing.T, p *venue.Principal, op string, input map[string]any, out any) (raw string) {
	t.Helper()
	got, err := p.Invoke(t.Context(), op, input)
	if err == nil && out != nil {
		err = json.Unmarshal(got, out)
	}
	if err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	return string(got)
}

func TestAnAgentOfAnotherVenue(t *testing.T) {
	p := serve(t, "a2a: {agents: [bob]}\n")
	carl := caller(t, map[string]string{"ALICE": p.token}, host(p.url))
	at := func(more map[string]any) map[string]any {
		in := map[string]any{"agent": p.url + "/a2a/bob", "token": "secret:ALICE"}
		for k, v := range more {
			in[k] = v
		}
		return in
	}
	if raw := do(t, carl, "a2a:card", at(nil), nil); !strings.Contains(raw, `"pushNotifications":true`) || !strings.Contains(raw, "nobody's instructions") {
		t.Errorf("the card: %s", raw)
	}
	raw := do(t, carl, "a2a:send", at(map[string]any{"message": "hello"}), nil)
	if !strings.Contains(raw, "TASK_STATE_COMPLETED") || !strings.Contains(raw, `"text":"hello"`) || !strings.Contains(raw, "nobody's instructions") || strings.Contains(raw, p.token) {
		t.Errorf("sent: %s", raw)
	}
	var begun struct {
		Answer struct{ Task struct{ ID string } }
	}
	do(t, carl, "a2a:send", at(map[string]any{"message": "wait", "noWait": true}), &begun)
	id := map[string]any{"taskId": begun.Answer.Task.ID}
	if raw := do(t, carl, "a2a:get", at(id), nil); !strings.Contains(raw, "TASK_STATE_WORKING") {
		t.Errorf("got: %s", raw)
	}
	if raw := do(t, carl, "a2a:cancel", at(id), nil); !strings.Contains(raw, "TASK_STATE_CANCELED") {
		t.Errorf("canceled: %s", raw)
	}
	for name, tc := range map[string]struct {
		op   string
		in   map[string]any
		want fault.Code
	}{
		"no such task":     {"a2a:get", at(map[string]any{"taskId": "no"}), fault.NotFound},
		"without a token":  {"a2a:send", map[string]any{"agent": p.url + "/a2a/bob", "message": "x"}, fault.Refused},
		"a token itself":   {"a2a:send", map[string]any{"agent": p.url + "/a2a/bob", "message": "x", "token": p.token}, fault.InvalidInput},
		"no URL":           {"a2a:send", at(map[string]any{"agent": "bob", "message": "x"}), fault.InvalidInput},
		"a URL with more":  {"a2a:send", at(map[string]any{"agent": p.url + "/a2a/bob?x=1", "message": "x"}), fault.InvalidInput},
		"a way around":     {"a2a:send", at(map[string]any{"agent": p.url + "/a2a/x/../bob", "message": "x"}), fault.InvalidInput},
		"no agent there":   {"a2a:send", at(map[string]any{"agent": p.url + "/a2a/nobody", "message": "x"}), fault.NotFound},
		"a private server": {"a2a:send", at(map[string]any{"agent": "http://127.0.0.1:1/a2a", "message": "x"}), fault.Refused},
		"over TLS, too":    {"a2a:send", at(map[string]any{"agent": "https://127.0.0.1:1/a2a", "message": "x"}), fault.Refused},
	} {
		if _, err := carl.Invoke(t.Context(), tc.op, tc.in); fault.Of(err) != tc.want || strings.Contains(err.Error(), p.token) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

// Who may send to one agent sends to no other, by whatever way.
func TestAnAgentElsewhereIsAResource(t *testing.T) {
	p := serve(t, "a2a: {agents: [bob, carol]}\n")
	astray := http.NewServeMux()
	srv := httptest.NewServer(astray)
	defer srv.Close()
	astray.HandleFunc("/bob"+a2a.CardPath, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, p.url+"/a2a/bob")
	})
	astray.HandleFunc("/large"+a2a.CardPath, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) })
	astray.HandleFunc("/moved"+a2a.CardPath, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, p.url+"/a2a/bob"+a2a.CardPath, http.StatusFound)
	})
	carl := caller(t, map[string]string{"ALICE": p.token}, host(p.url), host(srv.URL))
	send := func(who *venue.Principal, agent string) error {
		_, err := who.Invoke(t.Context(), "a2a:send", map[string]any{"agent": agent, "token": "secret:ALICE", "message": "x"})
		return err
	}
	secret := caps.MustCapability("s/ALICE", "secret/decrypt")
	for name, tc := range map[string]struct {
		may   caps.Set
		agent string
		want  fault.Code
	}{
		"nothing":             {caps.Of(secret), p.url + "/a2a/bob", fault.Denied},
		"no secret":           {caps.Of(caps.MustCapability(p.url+"/a2a/bob", "a2a/send")), p.url + "/a2a/bob", fault.Denied},
		"another agent":       {caps.Of(secret, caps.MustCapability(p.url+"/a2a/carol", "a2a/send")), p.url + "/a2a/bob", fault.Denied},
		"to look alone":       {caps.Of(secret, caps.MustCapability(p.url+"/a2a/bob", "a2a/read")), p.url + "/a2a/bob", fault.Denied},
		"the agent":           {caps.Of(secret, caps.MustCapability(p.url+"/a2a/bob", "a2a/send")), p.url + "/a2a/bob", ""},
		"the server":          {caps.Of(secret, caps.MustCapability(p.url+"/", "a2a")), p.url + "/a2a/bob", ""},
		"a card that leads":   {caps.Of(secret, caps.MustCapability(srv.URL+"/bob", "a2a/send")), srv.URL + "/bob", fault.Denied},
		"where it leads, too": {caps.Of(secret, caps.MustCapability(srv.URL+"/bob", "a2a/send"), caps.MustCapability(p.url+"/a2a/bob", "a2a/send")), srv.URL + "/bob", ""},
		"a large card":        {caps.Of(caps.MustCapability(srv.URL+"/large", "a2a/send"), secret), srv.URL + "/large", fault.TooLarge},
		"a card that moved":   {caps.Of(caps.MustCapability(srv.URL+"/moved", "a2a/send"), secret), srv.URL + "/moved", fault.NotFound},
	} {
		if err := send(carl.Narrow(tc.may), tc.agent); err == nil && tc.want != "" || err != nil && fault.Of(err) != tc.want {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// A caller asks for a task, by what it wants to do, and is told no capability.
func TestCapabilitiesOfAnotherVenue(t *testing.T) {
	p := lends(t, "")
	carl := caller(t, map[string]string{"ALICE": p.tokenOf(t, p.alice, tokens.New{Name: "carl"})}, host(p.url))
	at := func(more map[string]any) map[string]any {
		more["agent"], more["token"] = p.url+"/a2a/documents", "secret:ALICE"
		return more
	}
	type made struct {
		Capabilities []struct {
			Name, Grant string
			Handles     []struct{ Handle, DisplayName string } `json:"resourceHandles"`
		}
	}
	var got, less made
	raw := do(t, carl, "a2a:request", at(map[string]any{"operations": []string{"retrieve"}, "statedPurpose": "x", "resourceQuery": map[string]any{"collection": "reports"}}), &got)
	if len(got.Capabilities) != 1 || got.Capabilities[0].Grant != "documents:read" || strings.Contains(raw, "cap_") || strings.Contains(raw, "rv_") || strings.Contains(raw, "token") {
		t.Fatalf("asked: %s", raw)
	}
	c := got.Capabilities[0]
	use := func(name, handle string) (string, error) {
		raw, err := carl.Invoke(t.Context(), "a2a:use", at(map[string]any{"skill": "retrieve_document", "capability": name, "arguments": map[string]any{"resourceHandle": handle}}))
		return string(raw), err
	}
	if raw, err := use(c.Name, c.Handles[0].Handle); err != nil || !strings.Contains(raw, "2025-Q") {
		t.Errorf("used: %s, %v", raw, err)
	}
	do(t, carl, "a2a:attenuate", at(map[string]any{"capability": c.Name, "constraints": map[string]any{"operations": []string{"retrieve"}, "resourceHandles": []string{c.Handles[0].Handle}}}), &less)
	if raw, err := use(less.Capabilities[0].Name, less.Capabilities[0].Handles[0].Handle); err != nil || !strings.Contains(raw, "2025-Q") {
		t.Errorf("used what is narrower: %s, %v", raw, err)
	}
	raw = do(t, carl, "a2a:send", at(map[string]any{"message": "hi", "capabilities": []string{c.Name}, "attenuations": map[string]any{c.Name: map[string]any{"operations": []string{"retrieve"}}}}), nil)
	if !strings.Contains(raw, "TASK_STATE_COMPLETED") || !strings.Contains(raw, "you were lent these") {
		t.Errorf("sent: %s", raw)
	}
	if _, err := carl.Invoke(t.Context(), "a2a:send", at(map[string]any{"message": "hi", "attenuations": map[string]any{c.Name: map[string]any{}}})); fault.Of(err) != fault.InvalidInput {
		t.Errorf("an attenuation of nothing: %v", err)
	}
	bounded := carl.Narrow(caps.Of(caps.MustCapability(p.url+"/", "a2a"), caps.MustCapability("s/", "secret/decrypt")))
	if _, err := bounded.Invoke(t.Context(), "a2a:use", map[string]any{"agent": p.url + "/a2a/own", "token": "secret:ALICE", "skill": "retrieve_document", "capability": c.Name, "arguments": map[string]any{"resourceHandle": c.Handles[0].Handle}}); fault.Of(err) != fault.NotFound {
		t.Errorf("at another agent: %v", err)
	}
	do(t, carl, "a2a:revoke", at(map[string]any{"capability": c.Name}), nil)
	if _, err := use(c.Name, c.Handles[0].Handle); fault.Of(err) != fault.NotFound {
		t.Errorf("used after its end: %v", err)
	}
	if _, err := use(less.Capabilities[0].Name, less.Capabilities[0].Handles[0].Handle); fault.Of(err) != fault.Refused {
		t.Errorf("what was made of it, used after its end: %v", err)
	}
	if _, err := carl.Invoke(t.Context(), "a2a:request", at(map[string]any{"operations": []string{"fly"}, "statedPurpose": "x"})); err != nil {
		t.Logf("what only the legacy grant allows: %v", err)
	}
}

// What an agent elsewhere lends takes no more room here than its ids do, and these are short.
func TestACapabilityOfALongID(t *testing.T) {
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	defer srv.Close()
	mux.HandleFunc(a2a.CardPath, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, srv.URL+"/rpc")
	})
	id, revocation := "cap", "rv"
	mux.HandleFunc("/rpc", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"capabilities":[{"id":%q,"revocationId":%q,"resourceHandles":[{"handle":"h"}]}]}}`, id, revocation)
	})
	carl := caller(t, nil, host(srv.URL))
	for name, tt := range map[string]struct {
		id, revocation string
		want           fault.Code
	}{
		"short":             {"cap", "rv", ""},
		"a long id":         {strings.Repeat("x", 257), "rv", fault.Output},
		"a long revocation": {"cap", strings.Repeat("x", 257), fault.Output},
	} {
		id, revocation = tt.id, tt.revocation
		if _, err := carl.Invoke(t.Context(), "a2a:request", map[string]any{"agent": srv.URL, "grants": []string{"g"}, "statedPurpose": "x"}); tt.want == "" && err != nil || tt.want != "" && fault.Of(err) != tt.want {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// One agent leaves room for what agents elsewhere lend its owner's others.
func TestCapabilitiesElsewhereAreShared(t *testing.T) {
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	defer srv.Close()
	mux.HandleFunc(a2a.CardPath, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, srv.URL+"/rpc")
	})
	const each = 16
	mux.HandleFunc("/rpc", func(w http.ResponseWriter, _ *http.Request) {
		list := strings.Repeat(`,{"id":"cap","revocationId":"rv","resourceHandles":[{"handle":"h"}]}`, each)[1:]
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"capabilities":[%s]}}`, list)
	})
	carl := caller(t, nil, host(srv.URL))
	asks := func(agent string) error {
		t.Helper()
		p, err := carl.As(t.Context(), agent)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Invoke(t.Context(), "a2a:request", map[string]any{"agent": srv.URL, "grants": []string{"g"}, "statedPurpose": "x"})
		return err
	}
	for _, id := range []string{"hog", "other"} {
		create(t, carl, fmt.Sprintf(`{"agentId":%q,"config":{"caps":[{"with":%q,"can":"a2a/request"}]}}`, id, srv.URL))
	}
	for n := range 256 / each {
		if err := asks("hog"); n < 64/each && err != nil || n >= 64/each && fault.Of(err) != fault.LimitReached {
			t.Errorf("it asks for the time %d: %v", n+1, err)
		}
	}
	if err := asks("other"); err != nil {
		t.Errorf("another agent: %v", err)
	}
}

// echo is an agent of a2a-go's server.
type echo struct{}

func (echo) Execute(_ context.Context, in *a2asrv.ExecutorContext) iter.Seq2[protocol.Event, error] {
	return func(yield func(protocol.Event, error) bool) {
		if !yield(protocol.NewSubmittedTask(in, in.Message), nil) {
			return
		}
		if !yield(protocol.NewArtifactEvent(in, protocol.NewTextPart("echo "+in.Message.Parts[0].Text())), nil) {
			return
		}
		yield(protocol.NewStatusUpdateEvent(in, protocol.TaskStateCompleted, nil), nil)
	}
}

func (echo) Cancel(_ context.Context, in *a2asrv.ExecutorContext) iter.Seq2[protocol.Event, error] {
	return func(yield func(protocol.Event, error) bool) {
		yield(protocol.NewStatusUpdateEvent(in, protocol.TaskStateCanceled, nil), nil)
	}
}

func TestAnAgentOfAnotherKind(t *testing.T) {
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	defer srv.Close()
	card := &protocol.AgentCard{Name: "echo", SupportedInterfaces: []*protocol.AgentInterface{protocol.NewAgentInterface(srv.URL+"/rpc", protocol.TransportProtocolJSONRPC)}}
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(echo{})))
	mux.Handle(a2a.CardPath, a2asrv.NewStaticAgentCardHandler(card))
	carl := caller(t, nil, host(srv.URL))
	if raw := do(t, carl, "a2a:card", map[string]any{"agent": srv.URL}, nil); !strings.Contains(raw, `"name":"echo"`) {
		t.Errorf("the card: %s", raw)
	}
	var sent struct {
		Answer struct{ Task struct{ ID string } }
	}
	raw := do(t, carl, "a2a:send", map[string]any{"agent": srv.URL, "message": "hi"}, &sent)
	if !strings.Contains(raw, "echo hi") || !strings.Contains(raw, "TASK_STATE_COMPLETED") {
		t.Errorf("sent: %s", raw)
	}
	if raw := do(t, carl, "a2a:get", map[string]any{"agent": srv.URL, "taskId": sent.Answer.Task.ID}, nil); !strings.Contains(raw, "echo hi") {
		t.Errorf("got: %s", raw)
	}
}

// What goes wrong elsewhere is told so that whoever reads it knows what to do.
func TestErrorsElsewhere(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/guarded" + a2a.CardPath:
			w.WriteHeader(http.StatusUnauthorized)
		case "/silent" + a2a.CardPath:
			panic(http.ErrAbortHandler)
		}
	}))
	defer srv.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	at := host(srv.URL)
	carl := caller(t, map[string]string{"T": "secret"}, at, host(gone.URL))
	for name, tc := range map[string]struct {
		agent, token string
		code         fault.Code
		text         string
	}{
		"without a token":  {srv.URL + "/guarded", "", fault.Refused, srv.URL + "/guarded asks for a bearer token: name the secret that has one, as token: secret:NAME"},
		"by a wrong token": {srv.URL + "/guarded", "secret:T", fault.Refused, srv.URL + "/guarded asks for a bearer token: the one that you gave is none there, or has ended"},
		"no card":          {srv.URL + "/none", "", fault.NotFound, srv.URL + "/none has no agent card (it answers 200)"},
		"no answer":        {srv.URL + "/silent", "", fault.Unavailable, at + " does not answer: EOF"},
		"nobody there":     {gone.URL + "/bob", "", fault.Unavailable, host(gone.URL) + " is not reached"},
	} {
		in := map[string]any{"agent": tc.agent, "message": "x"}
		if tc.token != "" {
			in["token"] = tc.token
		}
		if _, err := carl.Invoke(t.Context(), "a2a:send", in); fault.Of(err) != tc.code || !strings.HasSuffix(err.Error(), tc.text) {
			t.Errorf("%s: %v (%s), want %s (%s)", name, err, fault.Of(err), tc.text, tc.code)
		}
	}
}
