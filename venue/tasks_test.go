package venue_test

import (
	"encoding/json"
	"strings"
	"testing"

	"usher/runtime"
	"usher/tools/fault"
	"usher/venue/runs"
)

// context is what an agent's model would be told.
func (w *works) context(t *testing.T, agent string) string {
	t.Helper()
	return invoke(t, w.User, "agent:context", `{"agentId":"`+agent+`"}`)
}

// A task is ended by a call, whatever the agent may do, and by nothing outside of it.
func TestATaskIsEndedByACall(t *testing.T) {
	const form = `,"responseSchema":{"type":"object","required":["n"]}`
	tests := map[string]struct {
		asks   [][2]string // calls of the model, one answer each
		more   string      // of the request
		output string
		fails  string
		told   string // to the model
	}{
		"by an object":       {asks: [][2]string{{"agent_completeTask", `{"result":{"n":1}}`}}, output: `{"n":1}`},
		"by a text":          {asks: [][2]string{{"agent_completeTask", `{"result":"well"}`}}, output: `"well"`},
		"by a text answer":   {output: `"work"`},
		"failed":             {asks: [][2]string{{"agent_failTask", `{"reason":"no paper"}`}}, fails: "agent kid: it failed the task: no paper"},
		"fits the schema":    {asks: [][2]string{{"agent_completeTask", `{"result":{"n":2}}`}}, more: form, output: `{"n":2}`},
		"does not fit first": {asks: [][2]string{{"agent_completeTask", `{"result":{"m":2}}`}, {"agent_completeTask", `{"result":{"n":3}}`}}, more: form, output: `{"n":3}`, told: "does not fit the schema of the answer"},
		"without a result":   {asks: [][2]string{{"agent_completeTask", `{}`}, {"agent_completeTask", `{"result":null}`}}, output: `null`, told: "result"},
		"without a reason":   {asks: [][2]string{{"agent_failTask", `{"reason":" "}`}, {"agent_failTask", `{"reason":"x"}`}}, fails: "it failed the task: x", told: "reason is missing"},
		"of another":         {asks: [][2]string{{"agent_completeTask", `{"result":1,"taskId":"x"}`}, {"agent_completeTask", `{"result":2}`}}, output: `2`, told: "taskId"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := openWorks(t)
			kid := spec("kid", "", `[]`)
			kid.Tools = []string{"agent:*"} // which does not offer them elsewhere
			create(t, w.User, kid)
			for _, ask := range tt.asks {
				w.boss.Ask(ask[0], ask[1])
			}
			out, err := w.Invoke(t.Context(), "agent:request", json.RawMessage(`{"agentId":"kid","input":"work"`+tt.more+`}`))
			var answer struct {
				Status string
				Output json.RawMessage
			}
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || fault.Of(err) != fault.TaskFailed {
					t.Errorf("%s, %v, want %q", out, err, tt.fails)
				}
			} else if err != nil || json.Unmarshal(out, &answer) != nil || string(answer.Output) != tt.output || answer.Status != runs.Complete {
				t.Errorf("%s, %v, want the output %s", out, err, tt.output)
			}
			if heard := strings.Join(w.boss.Results(), "\n"); tt.told != "" && !strings.Contains(heard, tt.told) {
				t.Errorf("the model heard %s, want %q", heard, tt.told)
			}
		})
	}
}

// What a turn asks for beside the end of its task is done before it.
func TestATaskEndsAfterItsOtherCalls(t *testing.T) {
	w := openWorks(t)
	kid := spec("kid", "twice", `[{"with":"w/","can":"crud"}]`)
	opts := w.options()
	opts.Models["twice"] = outside{t.TempDir()}.model("kid", ask("agent_completeTask", `{"result":1}`, "covia_write", `{"path":"w/n","value":7}`, "agent_failTask", `{"reason":"no"}`))
	w.Venue = open(t, opts)
	w.User = user(t, w.Venue, "alice")
	create(t, w.User, kid)
	out := invoke(t, w.User, "agent:request", `{"agentId":"kid","input":"work"}`)
	if !strings.Contains(out, `"output":1`) || read(t, w.User, "w/n") != `{"exists":true,"value":7}` {
		t.Errorf("it answers %s, and wrote %s", out, read(t, w.User, "w/n"))
	}
}

// Outside of a task nothing ends one.
func TestNoTaskToEnd(t *testing.T) {
	w := openWorks(t)
	boss := agentOf(t, w.User, "boss")
	create(t, w.User, spec("able", "", `[{"with":"","can":"invoke"}]`))
	for _, tool := range []string{"agent_completeTask", "agent_failTask"} {
		done := attempt(t, boss, w.boss, tool, `{"result":1}`)
		if done.Outcome != runtime.ToolFailed || !strings.Contains(done.Result, "this turn is no task") {
			t.Errorf("%s in a conversation: %s %s", tool, done.Outcome, done.Result)
		}
		done = attempt(t, boss, w.boss, "grid_run", `{"operation":"agent:completeTask","input":{"result":1}}`)
		if done.Outcome != runtime.ToolFailed || !strings.Contains(done.Result, "no task to end here") {
			t.Errorf("by grid:run: %s %s", done.Outcome, done.Result)
		}
	}
	if done := attempt(t, agentOf(t, w.User, "able"), w.boss, "grid_run", `{"operation":"agent:completeTask","input":{"result":1}}`); done.Outcome != runtime.ToolDenied {
		t.Errorf("by one that may not: %s %s", done.Outcome, done.Result)
	}
	if _, err := w.Invoke(t.Context(), "agent:failTask", map[string]string{"reason": "x"}); err == nil || !strings.Contains(err.Error(), "no task to end here") {
		t.Errorf("by the owner: %v", err)
	}
	if told := w.context(t, "boss"); strings.Contains(told, "completeTask") {
		t.Errorf("it is offered: %s", told)
	}
}

func TestRequestThatWaitsOrNot(t *testing.T) {
	for wait, want := range map[string]string{`"wait":false`: runs.Started, `"wait":1`: runs.Started, `"timeout":1`: runs.Started} {
		w := openWorks(t)
		out := invoke(t, w.User, "agent:request", `{"agentId":"slow","input":"work",`+wait+`}`)
		var snapshot struct{ ID, Status, AgentID, SessionID string }
		if err := json.Unmarshal([]byte(out), &snapshot); err != nil || snapshot.Status != want || snapshot.ID == "" || snapshot.AgentID != "slow" || snapshot.SessionID == "" {
			t.Errorf("%s: %s, %v", wait, out, err)
		}
		w.valve.opens <- struct{}{}
		if got := invoke(t, w.User, "grid:jobResult", `{"id":"`+snapshot.ID+`"}`); got != `"done"` {
			t.Errorf("%s: its result is %s", wait, got)
		}
	}
	w := openWorks(t)
	if out := invoke(t, w.User, "agent:request", `{"agentId":"quick","input":"work","wait":true}`); !strings.Contains(out, `"output":"done"`) {
		t.Errorf("wait true: %s", out)
	}
	for input, want := range map[string]string{
		`"wait":true,"timeout":1`: "give one of them", `"wait":"yes"`: "give true, false, or milliseconds", `"wait":-1`: "wait is -1", `"wait":99999999999`: "wait is 99999999999",
		`"timeout":0`: "timeout is 0", `"timeout":9223372036854775807`: "up to 86400000",
	} {
		if _, err := w.Invoke(t.Context(), "agent:request", json.RawMessage(`{"agentId":"quick","input":"x",`+input+`}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", input, err, want)
		}
	}
}

// A session takes one chat at a time.
func TestChatByAnOperation(t *testing.T) {
	w := openWorks(t)
	var said struct{ SessionID, Response string }
	if err := json.Unmarshal([]byte(invoke(t, w.User, "agent:chat", `{"agentId":"quick","message":"hello"}`)), &said); err != nil || said.Response != "done" || said.SessionID == "" {
		t.Errorf("%+v, %v", said, err)
	}
	job, err := w.Start(t.Context(), "agent:chat", map[string]string{"agentId": "slow", "message": "first"})
	if err != nil {
		t.Fatal(err)
	}
	<-w.valve.came
	rec, err := w.Run(t.Context(), w.child(t, job))
	if err != nil {
		t.Fatal(err)
	}
	second := map[string]string{"agentId": "slow", "message": "second", "sessionId": rec.Session}
	if _, err := w.Invoke(t.Context(), "agent:chat", second); err == nil || !strings.Contains(err.Error(), "has a chat that is not answered yet") {
		t.Errorf("a second one at once: %v", err)
	}
	w.valve.opens <- struct{}{}
	w.ended(t, job)
	w.valve.opens <- struct{}{}
	if _, err := w.Invoke(t.Context(), "agent:chat", second); err != nil {
		t.Errorf("after the first: %v", err)
	}
	for input, want := range map[string]string{
		`{"agentId":"quick","message":""}`: "message is empty", `{"agentId":"quick","message":"x","sessionId":"none"}`: "there is no such session", `{"agentId":"nobody","message":"x"}`: "there is no agent",
	} {
		if _, err := w.Invoke(t.Context(), "agent:chat", json.RawMessage(input)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", input, err, want)
		}
	}
}

func TestTrigger(t *testing.T) {
	w := openWorks(t)
	trigger := func(more string) (out struct{ SessionID, ID, Status string }) {
		t.Helper()
		if err := json.Unmarshal([]byte(invoke(t, w.User, "agent:trigger", `{"agentId":"boss"`+more+`}`)), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := trigger(`,"force":false`); out.ID != "" {
		t.Errorf("with nothing to hear it ran: %+v", out)
	}
	if out := trigger(""); out.Status != runs.Complete || out.SessionID != "main" {
		t.Errorf("forced: %+v", out)
	}
	invoke(t, w.User, "agent:message", `{"agentId":"boss","message":"paint the fence"}`)
	w.boss.Gossip = true
	out := trigger(`,"force":false`)
	if rec, err := w.Run(t.Context(), out.ID); err != nil || rec.Status != runs.Complete || !strings.Contains(string(rec.Output), "paint the fence") {
		t.Errorf("it heard %s, %v", rec.Output, err)
	}
	if out := trigger(`,"wait":false`); out.Status != runs.Started && out.Status != runs.Complete {
		t.Errorf("without waiting: %+v", out)
	}
	var failed struct{ Status string }
	if err := json.Unmarshal([]byte(invoke(t, w.User, "agent:trigger", `{"agentId":"broken"}`)), &failed); err != nil || failed.Status != runs.Failed {
		t.Errorf("one that fails: %+v, %v", failed, err)
	}
}

// Looking at what another is told gets nobody what they may not read.
func TestContextIsWithinWhatTheCallerMayRead(t *testing.T) {
	w := openWorks(t)
	invoke(t, w.User, "covia:write", `{"path":"w/vault/code","value":"4711"}`)
	for _, own := range []string{"", "own"} {
		s := spec("keeper"+own, "", `[{"with":"w/","can":"crud/read"}]`)
		invoke(t, w.User, "agent:create", `{"agentId":"`+s.ID+`","config":{"authority":"`+map[string]string{"": "caller", "own": "own"}[own]+`","tools":["covia:read"],"context":[{"path":"w/vault/code"}],"caps":[{"with":"w/","can":"crud/read"}]}}`)
		if told := w.context(t, s.ID); !strings.Contains(told, "4711") || !strings.Contains(told, "covia_read") {
			t.Errorf("its owner is shown %s", told)
		}
		create(t, w.User, spec("spy"+own, "", `[{"with":"g/","can":"agent/read"}]`))
		done := attempt(t, agentOf(t, w.User, "spy"+own), w.boss, "agent_context", `{"agentId":"`+s.ID+`"}`)
		if done.Outcome != runtime.ToolOK || strings.Contains(done.Result, "4711") {
			t.Errorf("an agent that may not read it is shown %s %s", done.Outcome, done.Result)
		}
	}
}

func TestCancelTask(t *testing.T) {
	w := openWorks(t)
	var task struct{ ID string }
	if err := json.Unmarshal([]byte(invoke(t, w.User, "agent:request", `{"agentId":"slow","input":"work","wait":false}`)), &task); err != nil {
		t.Fatal(err)
	}
	turn := w.bring(t, runs.Started)
	for id, agent := range map[string]string{task.ID: "quick", turn: "slow", "nobody": "slow"} {
		if _, err := w.Invoke(t.Context(), "agent:cancelTask", map[string]string{"agentId": agent, "taskId": id}); err == nil || !strings.Contains(err.Error(), "has no task") {
			t.Errorf("%s as a task of %s: %v", id, agent, err)
		}
	}
	for range 2 { // twice is once
		if out := invoke(t, w.User, "agent:cancelTask", `{"agentId":"slow","taskId":"`+task.ID+`"}`); !strings.Contains(out, runs.Cancelled) || w.status(t, task.ID) != runs.Cancelled {
			t.Errorf("%s, and it is %s", out, w.status(t, task.ID))
		}
	}
}
