package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"usher/runtime"
	"usher/venue/auth"
)

// both runs a test over each binding: by a method of JSON-RPC, or a verb and path of
// HTTP+JSON with the same parameters in their places.
func (p *port) both(t *testing.T, a a2aAsk, agent, method, params, verb, path, body string, check func(t *testing.T, r *reply, rest bool)) {
	t.Helper()
	t.Run(method+" by JSON-RPC", func(t *testing.T) { check(t, p.rpc(t, a, agent, method, params), false) })
	t.Run(method+" by HTTP", func(t *testing.T) {
		check(t, read(t, p.request(t, a, verb, "/a2a"+agent+path, body)), true)
	})
}

func succeeds(path string, want any) func(t *testing.T, r *reply, rest bool) {
	return func(t *testing.T, r *reply, rest bool) {
		t.Helper()
		if r.code != 0 || r.status != http.StatusOK || r.at(path) != want {
			t.Errorf("%d %s: %s = %v, want %v", r.status, r.raw, path, r.at(path), want)
		}
		if r.head.Get("A2A-Version") != "1.0" {
			t.Errorf("the version is not echoed: %v", r.head)
		}
		if kind := r.head.Get("Content-Type"); rest && kind != "application/a2a+json" {
			t.Errorf("the answer is of type %q", kind)
		}
	}
}

func fails(code, status int, reason string) func(t *testing.T, r *reply, rest bool) {
	return func(t *testing.T, r *reply, rest bool) {
		t.Helper()
		want := code
		if rest {
			want = status
			if r.status != status {
				t.Errorf("the status is %d, want %d", r.status, status)
			}
		}
		if r.code != want || r.reason != reason {
			t.Errorf("%s is %d %s, want %d %s", r.raw, r.code, r.reason, want, reason)
		}
	}
}

func TestEachMethodSucceeds(t *testing.T) {
	p := serve(t, "")
	p.both(t, a2aAsk{}, "/bob", "SendMessage", message("hi", ""), "POST", "/message:send", message("hi", ""), succeeds("task.artifacts.parts.text", "hi"))
	p.both(t, a2aAsk{}, "", "SendMessage", `{"tenant":"bob",`+message("hi", "")[1:], "POST", "/message:send", `{"tenant":"bob",`+message("hi", "")[1:], succeeds("task.status.state", "TASK_STATE_COMPLETED"))
	p.both(t, a2aAsk{}, "/bob", "SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"n":1}},{"raw":"eA==","mediaType":"text/plain"}]}}`, "POST", "/message:send",
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"n":1}},{"raw":"eA==","mediaType":"text/plain"}]}}`, succeeds("task.artifacts.parts.text", "{\"n\":1}\n\nx"))

	done := p.rpc(t, a2aAsk{}, "/bob", "SendMessage", message("hi", ""))
	id, session := done.at("task.id").(string), done.at("task.contextId").(string)
	p.both(t, a2aAsk{}, "/bob", "SendMessage", message("more", `,"contextId":"`+session+`"`), "POST", "/message:send", message("more", `,"contextId":"`+session+`"`), succeeds("task.contextId", session))
	p.both(t, a2aAsk{}, "/bob", "GetTask", `{"id":"`+id+`","historyLength":1}`, "GET", "/tasks/"+id+"?historyLength=1", "", succeeds("history.parts.text", "hi"))
	p.both(t, a2aAsk{}, "/bob", "GetTask", `{"id":"`+id+`"}`, "GET", "/tasks/"+id, "", succeeds("history.messageId", "m"))
	p.both(t, a2aAsk{}, "/bob", "GetTask", `{"id":"`+id+`","historyLength":0}`, "GET", "/tasks/"+id+"?historyLength=0", "", succeeds("history", nil))
	p.both(t, a2aAsk{}, "/bob", "ListTasks", `{"contextId":"`+session+`","pageSize":2}`, "GET", "/tasks?pageSize=2&contextId="+session, "", func(t *testing.T, r *reply, rest bool) {
		succeeds("pageSize", 2.0)(t, r, rest)
		if n := len(r.at("tasks").([]any)); n != 2 || r.at("tasks.artifacts") != nil || r.at("nextPageToken") == "" || r.at("totalSize") != 3.0 {
			t.Errorf("%s has %d tasks", r.raw, n)
		}
	})
	p.both(t, a2aAsk{}, "/carol", "ListTasks", `{}`, "GET", "/tasks", "", func(t *testing.T, r *reply, _ bool) {
		if !strings.Contains(r.raw, `"tasks":[]`) || !strings.Contains(r.raw, `"totalSize":0`) {
			t.Errorf("%s", r.raw)
		}
	})
	p.both(t, a2aAsk{}, "", "GetExtendedAgentCard", `{}`, "GET", "/extendedAgentCard", "", succeeds("skills.id", "bob"))
	for _, rest := range []bool{false, true} {
		id, _ := p.begun(t, "wait")
		if rest {
			succeeds("status.state", "TASK_STATE_CANCELED")(t, read(t, p.request(t, a2aAsk{}, "POST", "/a2a/bob/tasks/"+id+":cancel", "")), rest)
			continue
		}
		succeeds("status.state", "TASK_STATE_CANCELED")(t, p.rpc(t, a2aAsk{}, "/bob", "CancelTask", `{"id":"`+id+`"}`), rest)
	}
}

func TestEachStream(t *testing.T) {
	p := serve(t, "")
	body := message("hi", "")
	for name, resp := range map[string]*http.Response{
		"JSON-RPC": p.request(t, a2aAsk{}, "POST", "/a2a/bob", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":`+body+`}`),
		"HTTP":     p.request(t, a2aAsk{}, "POST", "/a2a/bob/message:stream", body),
	} {
		list := events(t, resp)
		if len(list) < 2 {
			t.Fatalf("%s: %d events", name, len(list))
		}
		if list[0].at("task.id") == nil {
			t.Errorf("%s: the first is %s", name, list[0].raw)
		}
		said := ""
		for _, ev := range list {
			if part, is := ev.at("artifactUpdate.artifact.parts.text").(string); is {
				if ev.at("artifactUpdate.append") == nil {
					said = ""
				}
				said += part
			}
		}
		if last := list[len(list)-1]; said != "hi" || last.at("statusUpdate.status.state") != "TASK_STATE_COMPLETED" {
			t.Errorf("%s: said %q, and the last is %s", name, said, last.raw)
		}
	}
	for _, rest := range []bool{false, true} {
		id, _ := p.begun(t, "wait")
		resp := p.request(t, a2aAsk{}, "GET", "/a2a/bob/tasks/"+id+":subscribe", "")
		if !rest {
			resp = p.request(t, a2aAsk{}, "POST", "/a2a/bob", `{"jsonrpc":"2.0","id":"x","method":"SubscribeToTask","params":{"id":"`+id+`"}}`)
		}
		p.rpc(t, a2aAsk{}, "/bob", "CancelTask", `{"id":"`+id+`"}`)
		list := events(t, resp)
		if len(list) == 0 || list[0].at("task.id") != id || list[len(list)-1].at("statusUpdate.status.state") != "TASK_STATE_CANCELED" {
			t.Errorf("followed %v", list)
		}
	}
}

func TestEachError(t *testing.T) {
	p := serve(t, "")
	done := p.rpc(t, a2aAsk{}, "/bob", "SendMessage", message("hi", "")).at("task.id").(string)
	theirs := p.other(t)
	more := message("more", `,"taskId":"`+done+`"`)
	long := strings.Replace(message("x", ""), `"m"`, `"`+strings.Repeat("m", 257)+`"`, 1)
	for _, tc := range []struct {
		name, agent, method, params, verb, path, body string
		a                                             a2aAsk
		want                                          func(t *testing.T, r *reply, rest bool)
	}{
		{"no such task", "/bob", "GetTask", `{"id":"no"}`, "GET", "/tasks/no", "", a2aAsk{}, fails(-32001, 404, "TASK_NOT_FOUND")},
		{"another principal's task", "", "GetTask", `{"id":"` + theirs + `"}`, "GET", "/tasks/" + theirs, "", a2aAsk{}, fails(-32001, 404, "TASK_NOT_FOUND")},
		{"another principal's task, to cancel", "", "CancelTask", `{"id":"` + theirs + `"}`, "POST", "/tasks/" + theirs + ":cancel", "{}", a2aAsk{}, fails(-32001, 404, "TASK_NOT_FOUND")},
		{"another principal's task, to follow", "", "SubscribeToTask", `{"id":"` + theirs + `"}`, "POST", "/tasks/" + theirs + ":subscribe", "", a2aAsk{}, fails(-32001, 404, "TASK_NOT_FOUND")},
		{"another agent's task", "/carol", "GetTask", `{"id":"` + done + `"}`, "GET", "/tasks/" + done, "", a2aAsk{}, fails(-32001, 404, "TASK_NOT_FOUND")},
		{"to cancel what has ended", "/bob", "CancelTask", `{"id":"` + done + `"}`, "POST", "/tasks/" + done + ":cancel", "", a2aAsk{}, fails(-32002, 400, "TASK_NOT_CANCELABLE")},
		{"to tell what has ended", "/bob", "SendMessage", more, "POST", "/message:send", more, a2aAsk{}, fails(-32004, 400, "UNSUPPORTED_OPERATION")},
		{"to follow what has ended", "/bob", "SubscribeToTask", `{"id":"` + done + `"}`, "GET", "/tasks/" + done + ":subscribe", "", a2aAsk{}, fails(-32004, 400, "UNSUPPORTED_OPERATION")},
		{"a link", "/bob", "SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"url":"http://x"}]}}`, "POST", "/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"url":"http://x"}]}}`, a2aAsk{}, fails(-32005, 400, "CONTENT_TYPE_NOT_SUPPORTED")},
		{"a body of another type", "/bob", "GetTask", `{}`, "POST", "/message:send", `{}`, a2aAsk{kind: "text/plain"}, fails(-32005, 400, "CONTENT_TYPE_NOT_SUPPORTED")},
		{"a version of the future", "/bob", "GetTask", `{"id":"x"}`, "GET", "/tasks/x", "", a2aAsk{version: "2.0"}, fails(-32009, 400, "VERSION_NOT_SUPPORTED")},
		{"no method", "/bob", "DoIt", `{}`, "GET", "/nothing", "", a2aAsk{}, fails(-32601, 404, "METHOD_NOT_FOUND")},
		{"no message", "/bob", "SendMessage", `{}`, "POST", "/message:send", `{}`, a2aAsk{}, fails(-32602, 400, "INVALID_PARAMS")},
		{"what an agent says", "/bob", "SendMessage", strings.Replace(message("x", ""), "ROLE_USER", "ROLE_AGENT", 1), "POST", "/message:send", strings.Replace(message("x", ""), "ROLE_USER", "ROLE_AGENT", 1), a2aAsk{}, fails(-32602, 400, "INVALID_PARAMS")},
		{"no such agent", "/nobody", "SendMessage", message("x", ""), "POST", "/message:send", message("x", ""), a2aAsk{}, fails(-32602, 404, "AGENT_NOT_FOUND")},
		{"the card of no agent", "/nobody", "GetExtendedAgentCard", `{}`, "GET", "/.well-known/agent-card.json", "", a2aAsk{}, fails(-32602, 404, "AGENT_NOT_FOUND")},
		{"too long an id of a message", "/bob", "SendMessage", long, "POST", "/message:send", long, a2aAsk{}, fails(-32602, 400, "INVALID_PARAMS")},
		{"another agent than that of the address", "/bob", "SendMessage", `{"tenant":"carol",` + message("x", "")[1:], "POST", "/message:send", `{"tenant":"carol",` + message("x", "")[1:], a2aAsk{}, fails(-32602, 400, "INVALID_PARAMS")},
		{"no agent where there are several", "", "SendMessage", message("x", ""), "POST", "/message:send", message("x", ""), a2aAsk{}, fails(-32602, 400, "INVALID_PARAMS")},
		{"a context of nobody's", "/bob", "SendMessage", message("x", `,"contextId":"no"`), "POST", "/message:send", message("x", `,"contextId":"no"`), a2aAsk{}, fails(-32602, 400, "INVALID_PARAMS")},
		{"too large a page", "/bob", "ListTasks", `{"pageSize":101}`, "GET", "/tasks?pageSize=101", "", a2aAsk{}, fails(-32602, 400, "INVALID_PARAMS")},
		{"a page of nothing", "/bob", "ListTasks", `{"pageToken":"x"}`, "GET", "/tasks?pageToken=x", "", a2aAsk{}, fails(-32602, 400, "INVALID_PARAMS")},
		{"a state of nothing", "/bob", "ListTasks", `{"status":"x"}`, "GET", "/tasks?status=x", "", a2aAsk{}, fails(-32602, 400, "INVALID_PARAMS")},
		{"less than no history", "/bob", "GetTask", `{"id":"` + done + `","historyLength":-1}`, "GET", "/tasks/" + done + "?historyLength=-1", "", a2aAsk{}, fails(-32602, 400, "INVALID_PARAMS")},
		{"a token of nobody's", "/bob", "GetTask", `{"id":"` + done + `"}`, "GET", "/tasks/" + done, "", a2aAsk{token: "x"}, fails(-32048, 401, "UNAUTHENTICATED")},
		{"no token", "/bob", "GetTask", `{"id":"` + done + `"}`, "GET", "/tasks/" + done, "", a2aAsk{token: "-"}, fails(-32048, 401, "UNAUTHENTICATED")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p.both(t, tc.a, tc.agent, tc.method, tc.params, tc.verb, tc.path, tc.body, tc.want)
		})
	}
	for body, want := range map[string]int{
		`{`: -32700, `[]`: -32600, `{"jsonrpc":"2.0","id":{},"method":"GetTask"}`: -32600, `{"id":1,"method":"GetTask"}`: -32600, `{"jsonrpc":"2.0","id":1}`: -32600,
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}`: -32602,
	} {
		if r := read(t, p.request(t, a2aAsk{}, "POST", "/a2a/bob", body)); r.code != want {
			t.Errorf("%s is answered by %s, want %d", body, r.raw, want)
		}
	}
	if r := read(t, p.request(t, a2aAsk{}, "POST", "/a2a/bob/message:send", "{")); r.code != 400 || r.reason != "PARSE_ERROR" {
		t.Errorf("a body that is no JSON: %s", r.raw)
	}
	if r := read(t, p.request(t, a2aAsk{}, "PUT", "/a2a/bob/message:send", "{}")); r.status != http.StatusMethodNotAllowed {
		t.Errorf("a wrong verb: %d", r.status)
	}
}

// other makes a user mallory with an agent, and returns a task of it.
func (p *port) other(t *testing.T) string {
	t.Helper()
	mallory, err := p.venue.User(t.Context(), "mallory")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mallory.Invoke(t.Context(), "agent:create", json.RawMessage(`{"agentId":"bob","config":{"caps":[]}}`)); err != nil {
		t.Fatal(err)
	}
	raw, err := mallory.Invoke(t.Context(), "agent:request", json.RawMessage(`{"agentId":"bob","input":"wait","wait":false}`))
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ ID string }
	if err := json.Unmarshal(raw, &made); err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// strangers is a port where who comes without a token may do what caps say, with the agents
// bob and carol of their own.
func strangers(t *testing.T, caps string) *port {
	t.Helper()
	p := serve(t, "auth: {anonymous: {caps: "+caps+"}}\n")
	them, err := p.venue.User(t.Context(), auth.AnonymousUser)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"bob", "carol"} {
		if _, err := them.Invoke(t.Context(), "agent:create", json.RawMessage(`{"agentId":"`+id+`","config":{"tools":["covia:*"],"caps":[{"with":"w/refunds","can":"crud","ask":true}]}}`)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// Who follows as many streams as they may begins no task by one more.
func TestAStreamTooManyBeginsNothing(t *testing.T) {
	p := serve(t, "")
	p.door.Streams.Most = 1
	id, _ := p.begun(t, "wait")
	p.request(t, a2aAsk{}, "GET", "/a2a/bob/tasks/"+id+":subscribe", "")
	p.both(t, a2aAsk{}, "/bob", "SendStreamingMessage", message("hi", ""), "POST", "/message:stream", message("hi", ""), fails(-32000, 429, "TOO_MANY_RUNS"))
	if r := p.rpc(t, a2aAsk{}, "/bob", "ListTasks", `{}`); r.at("totalSize") != 1.0 {
		t.Errorf("it has begun: %s", r.raw)
	}
}

// A denial is told as at every door, and what it says is the gate's own.
func TestADenialIsTheGatesOwn(t *testing.T) {
	p := strangers(t, "[{with: g/carol, can: agent/request}]")
	no := a2aAsk{token: "-"}
	p.both(t, no, "/bob", "SendMessage", message("x", ""), "POST", "/message:send", message("x", ""), fails(-32049, 403, "CAPABILITY_DENIED"))
	r := p.rpc(t, no, "/bob", "SendMessage", message("x", ""))
	if want := "Capability denied: v/ops/agent/request requires agent/request on g/bob. Your capabilities are: agent/request on g/carol."; !strings.HasPrefix(r.text, want) {
		t.Errorf("%q, want %q", r.text, want)
	}
	if !strings.Contains(r.raw, `"error":"capability_denied"`) || !strings.Contains(r.raw, `"resource":"g/bob"`) {
		t.Errorf("%s has no denial", r.raw)
	}
	if r := p.rpc(t, no, "/carol", "SendMessage", message("x", "")); r.at("task.status.state") != "TASK_STATE_WORKING" || r.at("task.artifacts") != nil {
		t.Errorf("who may ask and not look is told %s", r.raw)
	}
}

// Who came in with bounds answers for no person, also where the capabilities would let them.
func TestNobodyButAPersonAnswers(t *testing.T) {
	p := strangers(t, "[{with: g/, can: agent}, {with: j/, can: '*'}, {with: w/, can: crud}, {with: approvals/, can: approval}]")
	p.model.Ask("covia_write", `{"path":"w/refunds/1","value":5}`)
	no := a2aAsk{token: "-"}
	r := p.rpc(t, no, "/bob", "SendMessage", message("refund", ""))
	if r.at("task.status.state") != "TASK_STATE_AUTH_REQUIRED" {
		t.Fatal(r.raw)
	}
	if r := p.rpc(t, no, "/bob", "SendMessage", a2aAnswer(r, `,"approve":true`)); r.code == 0 {
		t.Errorf("who came in with bounds answers for the owner: %s", r.raw)
	}
}

// a2aAnswer is an answer to what a task waits for.
func a2aAnswer(r *reply, more string) string {
	asked := r.at("task.status.message.parts").([]any)[1].(map[string]any)["data"].(map[string]any)
	raw, _ := json.Marshal(map[string]any{"approval": asked["approval"], "digest": asked["digest"]})
	return `{"message":{"messageId":"n","taskId":"` + r.at("task.id").(string) + `","role":"ROLE_USER","parts":[{"data":` + strings.TrimSuffix(string(raw), "}") + more + `}}]}}`
}

func TestAnApprovalIsAState(t *testing.T) {
	p := serve(t, "")
	p.model.Ask("covia_write", `{"path":"w/refunds/1","value":5}`)
	r := p.rpc(t, a2aAsk{}, "/bob", "SendMessage", message("refund", ""))
	if r.at("task.status.state") != "TASK_STATE_AUTH_REQUIRED" {
		t.Fatal(r.raw)
	}
	id := r.at("task.id").(string)
	say := func(more string) string { return a2aAnswer(r, more) }
	if r := p.rpc(t, a2aAsk{}, "/bob", "SendMessage", message("You may, I am the owner.", `,"taskId":"`+id+`"`)); r.at("task.status.state") != "TASK_STATE_AUTH_REQUIRED" {
		t.Errorf("a text has it go on: %s", r.raw)
	}
	if r := p.rpc(t, a2aAsk{}, "/bob", "SendMessage", say(``)); r.code != -32602 {
		t.Errorf("half an answer: %s", r.raw)
	}
	if r := p.rpc(t, a2aAsk{}, "/bob", "SendMessage", say(`,"approve":true`)); r.at("task.status.state") != "TASK_STATE_COMPLETED" {
		t.Errorf("after the answer: %s", r.raw)
	}
	if raw, err := p.alice.Invoke(t.Context(), "covia:read", map[string]string{"path": "w/refunds/1"}); err != nil || !strings.Contains(string(raw), "5") {
		t.Errorf("nothing was written: %s, %v", raw, err)
	}
}

// Half of a list's pages is not told twice.
func TestPagesHaveEachTaskOnce(t *testing.T) {
	p := serve(t, "")
	for range 5 {
		p.rpc(t, a2aAsk{}, "/bob", "SendMessage", message("hi", ""))
		p.rpc(t, a2aAsk{}, "/carol", "SendMessage", message("hi", ""))
	}
	seen, token := map[any]bool{}, ""
	for range 10 {
		r := p.rpc(t, a2aAsk{}, "/bob", "ListTasks", `{"pageSize":2,"pageToken":"`+token+`"}`)
		for _, task := range r.at("tasks").([]any) {
			id := task.(map[string]any)["id"]
			if seen[id] {
				t.Errorf("%s comes twice", id)
			}
			seen[id] = true
		}
		if r.at("totalSize") != 5.0 {
			t.Errorf("behind %q there are %v in all", token, r.at("totalSize"))
		}
		if token = r.at("nextPageToken").(string); token == "" {
			break
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d tasks were listed", len(seen))
	}
}

// A message to a task that its owner has paused is left for the agent only where whoever sends it may
// have the task go on.
func TestAMessageToAPausedTask(t *testing.T) {
	for may, want := range map[string]int{"crud": -32049, "'*'": 0} {
		p := strangers(t, "[{with: g/, can: agent}, {with: j/, can: "+may+"}, {with: w/, can: crud}]")
		them, err := p.venue.User(t.Context(), auth.AnonymousUser)
		if err != nil {
			t.Fatal(err)
		}
		p.model.Ask("covia_write", `{"path":"w/refunds/1","value":5}`)
		no := a2aAsk{token: "-"}
		r := p.rpc(t, no, "/bob", "SendMessage", message("refund", ""))
		id, _ := r.at("task.id").(string)
		if _, err := them.Invoke(t.Context(), "grid:jobPause", map[string]string{"id": id}); err != nil {
			t.Fatalf("%v: %s", err, r.raw)
		}
		said := p.rpc(t, no, "/bob", "SendMessage", strings.Replace(message("and hurry", `,"taskId":"`+id+`"`), `{"message"`, `{"configuration":{"returnImmediately":true},"message"`, 1))
		if said.code != want {
			t.Errorf("%s: %s", may, said.raw)
		}
		bob, err := them.Agent(t.Context(), "bob")
		if err != nil {
			t.Fatal(err)
		}
		left := false
		for e, err := range bob.History(t.Context(), r.at("task.contextId").(string)) {
			if err != nil {
				t.Fatal(err)
			}
			_, is := e.Event.(runtime.InboxMessage)
			left = left || is
		}
		if left != (want == 0) {
			t.Errorf("%s: the message is left: %v", may, left)
		}
	}
}
