package server_test

import (
	"fmt"
	"strings"
	"testing"

	"usher/venue/a2a"
)

// A part that is null is an error in the words of the protocol, wherever a message goes.
func TestAPartIsNull(t *testing.T) {
	p := serve(t, "")
	id, _ := p.begun(t, "wait")
	for name, more := range map[string]string{"a new task": "", "a task that is there": `,"taskId":"` + id + `"`} {
		r := p.rpc(t, a2aAsk{}, "/bob", "SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[null]`+more+`}}`)
		if r.code != -32602 {
			t.Errorf("%s: %s", name, r.raw)
		}
	}
	p.rpc(t, a2aAsk{}, "/bob", "CancelTask", `{"id":"`+id+`"}`)
}

// To look at what a task waits for takes calls, each with its row in the ledger: a list of
// tasks makes none of them.
func TestAListLooksAtNoApprovals(t *testing.T) {
	p := serve(t, "")
	for range 2 {
		p.model.Ask("covia_write", `{"path":"w/refunds/1","value":5}`)
		if r := p.rpc(t, a2aAsk{}, "/bob", "SendMessage", message("refund", "")); r.at("task.status.state") != "TASK_STATE_AUTH_REQUIRED" {
			t.Fatal(r.raw)
		}
	}
	rows := func() int {
		raw, err := p.alice.Invoke(t.Context(), "audit:list", map[string]any{"limit": 100})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(raw), "approval/list") + strings.Count(string(raw), "grid/jobStatus")
	}
	before := rows()
	r := p.rpc(t, a2aAsk{}, "/bob", "ListTasks", `{}`)
	if list, _ := r.at("tasks").([]any); len(list) != 2 || strings.Count(r.raw, "TASK_STATE_AUTH_REQUIRED") != 2 {
		t.Errorf("listed: %s", r.raw)
	}
	if more := rows() - before; more != 0 {
		t.Errorf("a list of two tasks makes %d calls beside its own", more)
	}
}

// However large tasks are, a page of them is not, and all are listed.
func TestAPageOfLargeTasks(t *testing.T) {
	p := serve(t, "")
	const tasks, most = 20, 8 << 20
	large := strings.Repeat("x", 450<<10)
	for range tasks {
		if r := p.rpc(t, a2aAsk{}, "/carol", "SendMessage", message(large, "")); r.code != 0 {
			t.Fatal(r.text)
		}
	}
	seen, token := map[any]bool{}, ""
	for {
		r := p.rpc(t, a2aAsk{}, "/carol", "ListTasks", fmt.Sprintf(`{"pageSize":100,"includeArtifacts":true,"pageToken":%q}`, token))
		if len(r.raw) > most {
			t.Fatalf("a page has %d bytes, want %d at most", len(r.raw), most)
		}
		for _, task := range r.result["tasks"].([]any) {
			seen[task.(map[string]any)["id"]] = true
		}
		if token, _ = r.at("nextPageToken").(string); token == "" {
			break
		}
	}
	if len(seen) != tasks {
		t.Errorf("the pages have %d tasks, want %d", len(seen), tasks)
	}
}

// A head that names an extension very often names it once.
func TestAnExtensionThatIsNamedOften(t *testing.T) {
	p := lends(t, "")
	head := map[string]string{"A2A-Extensions": strings.Repeat(a2a.URI+",urn:x,", 200)}
	resp := p.request(t, a2aAsk{head: head}, "GET", "/a2a/bob/tasks", "")
	defer resp.Body.Close()
	if got := resp.Header.Get("A2A-Extensions"); got != a2a.URI {
		t.Errorf("the answer names %q", got)
	}
}
