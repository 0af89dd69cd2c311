package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"usher/caps"
	"usher/tools/fault"
	"usher/tools/tokens"
	"usher/venue/webhooks"
)

// a2aPush is what an address was told.
type a2aPush struct {
	head http.Header
	body string
}

// address is a server that is told of tasks.
func address(t *testing.T) (url string, got chan a2aPush) {
	t.Helper()
	got = make(chan a2aPush, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		got <- a2aPush{r.Header, string(raw)}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, got
}

func next(t *testing.T, got chan a2aPush) a2aPush {
	t.Helper()
	select {
	case n := <-got:
		return n
	case <-time.After(time.Minute):
		t.Fatal("nothing is told")
		return a2aPush{}
	}
}

// pushes is a port whose callers may have addresses on this machine told.
func pushes(t *testing.T) (p *port, url string, got chan a2aPush) {
	t.Helper()
	url, got = address(t)
	return serve(t, fmt.Sprintf("a2a: {private_pushes: [%q]}\n", strings.TrimPrefix(url, "http://"))), url + "/hook", got
}

// An address that came with the message is told of a task that waits, and then how it ended.
func TestAnAddressIsTold(t *testing.T) {
	for _, form := range []string{"1.0 by JSON-RPC", "1.0 by HTTP", "0.3"} {
		t.Run(form, func(t *testing.T) {
			p, url, got := pushes(t)
			p.model.Ask("covia_write", `{"path":"w/refunds/1","value":5}`)
			config := fmt.Sprintf(`{"returnImmediately":true,"taskPushNotificationConfig":{"url":%q,"token":"tok","authentication":{"scheme":"Bearer","credentials":"cred"}}}`, url)
			body := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"refund"}]},"configuration":` + config + `}`
			want := []string{`"statusUpdate":{`, `"task":{`}
			state := func(s string) string { return "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(s, "-", "_")) }
			switch form {
			case "0.3":
				config = fmt.Sprintf(`{"blocking":false,"pushNotificationConfig":{"url":%q,"token":"tok","authentication":{"schemes":["Bearer"],"credentials":"cred"}}}`, url)
				p.rpc(t, a2aAsk{version: "0.3"}, "/bob", "message/send", `{"message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":"refund"}]},"configuration":`+config+`}`)
				want, state = []string{`"kind":"task"`, `"kind":"task"`}, func(s string) string { return s }
			case "1.0 by HTTP":
				read(t, p.request(t, a2aAsk{}, "POST", "/a2a/bob/message:send", body))
			default:
				p.rpc(t, a2aAsk{}, "/bob", "SendMessage", body)
			}
			for i, s := range []string{"auth-required", "completed"} {
				n := next(t, got)
				if n.head.Get("X-A2A-Notification-Token") != "tok" || n.head.Get("Authorization") != "Bearer cred" || !strings.HasPrefix(n.head.Get("Content-Type"), "application/") {
					t.Errorf("the headers are %v", n.head)
				}
				if !strings.Contains(n.body, want[i]) || !strings.Contains(n.body, `"state":"`+state(s)+`"`) || strings.Contains(n.body, "digest") {
					t.Errorf("told %s, want %s in the state %s", n.body, want[i], s)
				}
				if s == "completed" && !strings.Contains(n.body, `"artifacts"`) {
					t.Errorf("the end has no answer: %s", n.body)
				}
				if i == 0 {
					var asked struct{ Requests []struct{ ID, Digest string } }
					raw, err := p.alice.Invoke(t.Context(), "approval:list", struct{}{})
					if err == nil {
						err = json.Unmarshal(raw, &asked)
					}
					if err == nil {
						_, err = p.alice.Invoke(t.Context(), "approval:approve", map[string]string{"id": asked.Requests[0].ID, "digest": asked.Requests[0].Digest})
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

func TestEachMethodOfPushes(t *testing.T) {
	p, url, got := pushes(t)
	id, _ := p.begun(t, "wait")
	in := fmt.Sprintf(`{"taskId":%q,"id":"one","url":%q,"token":"tok","authentication":{"scheme":"Bearer","credentials":"cred"}}`, id, url)
	at := "/tasks/" + id + "/pushNotificationConfigs"
	hidden := func(want string) func(*testing.T, *reply, bool) {
		return func(t *testing.T, r *reply, _ bool) {
			if r.code != 0 || !strings.Contains(r.raw, want) || strings.Contains(r.raw, "cred\"") || strings.Contains(r.raw, `"tok"`) {
				t.Errorf("%s has not %s, or more than that", r.raw, want)
			}
		}
	}
	p.both(t, a2aAsk{}, "/bob", "CreateTaskPushNotificationConfig", in, "POST", at, in, succeeds("token", "tok"))
	p.both(t, a2aAsk{}, "/bob", "GetTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"one"}`, "GET", at+"/one", "", hidden(`"id":"one"`))
	p.both(t, a2aAsk{}, "/bob", "ListTaskPushNotificationConfigs", `{"taskId":"`+id+`"}`, "GET", at, "", hidden(`{"configs":[{`))
	p.both(t, a2aAsk{}, "/bob", "GetTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"two"}`, "GET", at+"/two", "", fails(-32602, 400, "INVALID_PARAMS"))
	p.both(t, a2aAsk{}, "", "GetTaskPushNotificationConfig", `{"taskId":"no","id":"one"}`, "GET", "/tasks/no/pushNotificationConfigs/one", "", fails(-32001, 404, "TASK_NOT_FOUND"))
	for _, bad := range []string{"http://127.0.0.1:1/", "https://127.0.0.1/", "https://10.1.2.3/", "https://[::1]/", "ftp://x/", "https://u:p@example.com/", "nothing", "https://localhost/", "https://169.254.169.254/latest"} {
		in := fmt.Sprintf(`{"taskId":%q,"url":%q}`, id, bad)
		p.both(t, a2aAsk{}, "/bob", "CreateTaskPushNotificationConfig", in, "POST", at, in, fails(-32602, 400, "INVALID_PARAMS"))
	}
	for _, bad := range []string{`"id":"a/b"`, `"token":"a\r\nX: y"`, `"authentication":{"scheme":"Bearer x","credentials":"y"}`, `"authentication":{"scheme":"Bearer","credentials":"\n"}`} {
		if r := p.rpc(t, a2aAsk{}, "/bob", "CreateTaskPushNotificationConfig", fmt.Sprintf(`{"taskId":%q,"url":%q,%s}`, id, url, bad)); r.code != -32602 {
			t.Errorf("%s: %s", bad, r.raw)
		}
	}
	theirs := p.other(t)
	if r := p.rpc(t, a2aAsk{}, "", "CreateTaskPushNotificationConfig", fmt.Sprintf(`{"taskId":%q,"url":%q}`, theirs, url)); r.code != -32001 {
		t.Errorf("of another's task: %s", r.raw)
	}

	old := a2aAsk{version: "0.3"}
	set := p.rpc(t, old, "/bob", "tasks/pushNotificationConfig/set", fmt.Sprintf(`{"taskId":%q,"pushNotificationConfig":{"url":%q}}`, id, url))
	if set.at("pushNotificationConfig.id") != id {
		t.Errorf("set in 0.3: %s", set.raw)
	}
	if r := p.rpc(t, old, "/bob", "tasks/pushNotificationConfig/get", `{"id":"`+id+`"}`); r.at("pushNotificationConfig.url") != url {
		t.Errorf("got in 0.3: %s", r.raw)
	}
	if resp := p.request(t, old, "POST", "/a2a/bob", `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/list","params":{"id":"`+id+`"}}`); resp != nil {
		if raw, _ := io.ReadAll(resp.Body); strings.Count(string(raw), `"taskId"`) != 2 {
			t.Errorf("listed in 0.3: %s", raw)
		}
	}
	if resp := p.request(t, old, "POST", "/a2a/bob", `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/delete","params":{"id":"`+id+`","pushNotificationConfigId":"`+id+`"}}`); resp != nil {
		if raw, _ := io.ReadAll(resp.Body); !strings.Contains(string(raw), `"result":null`) {
			t.Errorf("deleted in 0.3: %s", raw)
		}
	}
	for i := range 8 {
		r := p.rpc(t, a2aAsk{}, "/bob", "CreateTaskPushNotificationConfig", fmt.Sprintf(`{"taskId":%q,"url":%q,"id":"more%d"}`, id, url, i))
		if (r.reason == "LIMIT_REACHED") != (i == 7) {
			t.Errorf("number %d: %s", i+2, r.raw)
		}
	}
	if r := p.rpc(t, a2aAsk{}, "/bob", "DeleteTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"one"}`); r.code != 0 {
		t.Error(r.raw)
	}
	if r := read(t, p.request(t, a2aAsk{}, "DELETE", "/a2a/bob"+at+"/more0", "")); r.code != 0 {
		t.Error(r.raw)
	}
	p.both(t, a2aAsk{}, "/bob", "DeleteTaskPushNotificationConfig", `{"taskId":"`+id+`","id":"one"}`, "DELETE", at+"/one", "", fails(-32602, 400, "INVALID_PARAMS"))
	p.rpc(t, a2aAsk{}, "/bob", "CancelTask", `{"id":"`+id+`"}`)
	for range 6 { // the others are told
		if n := next(t, got); !strings.Contains(n.body, "TASK_STATE_CANCELED") {
			t.Errorf("told %s", n.body)
		}
	}
}

// Who comes without a token is nobody to tell later.
func TestStrangersAreNotTold(t *testing.T) {
	p := strangers(t, "[{with: g/, can: agent}, {with: j/, can: '*'}]")
	no := a2aAsk{token: "-"}
	in := strings.TrimSuffix(message("hi", ""), "}") + `,"configuration":{"taskPushNotificationConfig":{"url":"https://example.com/"}}}`
	p.both(t, no, "/bob", "SendMessage", in, "POST", "/message:send", in, fails(-32003, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"))
}

// Who may not look at tasks is told of none, and hears so before one begins.
func TestWhoMayNotLookIsNotTold(t *testing.T) {
	p, _, _ := pushes(t)
	token, err := p.venue.Session(t.Context(), p.alice, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	alice, err := p.venue.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	in := webhooks.Push{Address: webhooks.Address{URL: "https://8.8.8.8/"}}
	for name, tt := range map[string]struct {
		may  caps.Set
		want fault.Code
	}{
		"asks alone":      {caps.Of(caps.MustCapability("g/", "agent")), fault.Denied},
		"one task":        {caps.Of(caps.MustCapability("j/1", "crud/read")), fault.Denied},
		"looks at any":    {caps.Of(caps.MustCapability("j/", "crud/read")), ""},
		"whom none bound": {caps.Unrestricted(), ""},
	} {
		if err := alice.Narrow(tt.may).CheckPush(t.Context(), in); tt.want == "" && err != nil || tt.want != "" && fault.Of(err) != tt.want {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// A token that is revoked has nothing told any more of what it followed.
func TestAnAddressIsToldNoLonger(t *testing.T) {
	p, url, got := pushes(t)
	theirs := a2aAsk{token: p.tokenOf(t, p.alice, tokens.New{Name: "theirs"})}
	id, _ := p.begun(t, "wait")
	for name, a := range map[string]a2aAsk{"theirs": theirs, "mine": {}} {
		if r := p.rpc(t, a, "/bob", "CreateTaskPushNotificationConfig", fmt.Sprintf(`{"taskId":%q,"url":%q,"id":%q}`, id, url+"/"+name, name)); r.code != 0 {
			t.Fatal(r.raw)
		}
	}
	if _, err := p.alice.Invoke(t.Context(), "token:revoke", tokens.Ref{Name: "theirs"}); err != nil {
		t.Fatal(err)
	}
	p.rpc(t, a2aAsk{}, "/bob", "CancelTask", `{"id":"`+id+`"}`)
	next(t, got)
	deadline := time.Now().Add(time.Minute)
	for {
		r := p.rpc(t, a2aAsk{}, "/bob", "ListTaskPushNotificationConfigs", `{"taskId":"`+id+`"}`)
		if n := strings.Count(r.raw, `"taskId"`); n == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the push of a token that is revoked stays: %s", r.raw)
		}
	}
	if len(got) != 0 {
		t.Errorf("told %s", (<-got).body)
	}
}

// A message whose address could not be told begins no task.
func TestAMessageWithoutRoomForItsAddress(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(srv.Close)
	p := serve(t, fmt.Sprintf("a2a: {private_pushes: [%q]}\n", strings.TrimPrefix(srv.URL, "http://")))
	fill := func(id string, most int) {
		for i := range most {
			if err := p.alice.SetPush(t.Context(), webhooks.Push{ID: fmt.Sprint(i), Run: id, Form: "1.0", Address: webhooks.Address{URL: srv.URL}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := range 32 {
		id := p.rpc(t, a2aAsk{}, "/carol", "SendMessage", message("hi", "")).at("task.id").(string)
		fill(id, min(8, 255-8*n))
	}
	count := func() int { return int(p.rpc(t, a2aAsk{}, "/carol", "ListTasks", `{}`).at("totalSize").(float64)) }
	const atOnce = 8
	before, in := count(), strings.TrimSuffix(message("hi", ""), "}")+fmt.Sprintf(`,"configuration":{"taskPushNotificationConfig":{"url":%q}}}`, srv.URL)
	var begun atomic.Int64
	var all sync.WaitGroup
	for range atOnce { // one of them has room
		all.Go(func() {
			if r := p.rpc(t, a2aAsk{}, "/carol", "SendMessage", in); r.code == 0 || strings.Contains(r.text, "has the message") {
				begun.Add(1)
			}
		})
	}
	all.Wait()
	if after := count(); after != before+int(begun.Load()) || begun.Load() == 0 {
		t.Errorf("%d tasks came, and of %d the callers know", after-before, begun.Load())
	}
	before = count()
	if r := p.rpc(t, a2aAsk{}, "/carol", "SendMessage", in); r.reason != "LIMIT_REACHED" {
		t.Errorf("one push too many: %s", r.raw)
	}
	if after := count(); after != before {
		t.Errorf("there are %d tasks, want %d", after, before)
	}
}
