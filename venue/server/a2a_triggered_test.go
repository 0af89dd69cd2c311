package server_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"usher/runtime"
	"usher/venue/config"
)

// long is a model whose answer is longer than a task keeps.
type long struct{}

func (long) Generate(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		yield(runtime.Chunk{Text: strings.Repeat("<", 200<<10)}, nil) // six bytes each, as JSON
	}
}

// An answer that was not kept whole is none, and its task is told all the same.
func TestAnAnswerThatIsNotKept(t *testing.T) {
	c, err := config.Parse("usher.yaml", []byte(agentsYAML))
	if err != nil {
		t.Fatal(err)
	}
	p := serveModels(t, c, map[string]runtime.Model{"default": long{}})
	body := message("hi", "")
	p.both(t, a2aAsk{}, "/bob", "SendMessage", body, "POST", "/message:send", body, fails(-32006, 500, "INVALID_AGENT_RESPONSE"))
	list := p.rpc(t, a2aAsk{}, "/bob", "ListTasks", `{}`)
	if list.at("tasks.status.state") != "TASK_STATE_COMPLETED" {
		t.Errorf("listed: %s", list.raw)
	}
	id := list.at("tasks.id").(string)
	p.both(t, a2aAsk{}, "/bob", "GetTask", `{"id":"`+id+`"}`, "GET", "/tasks/"+id, "", fails(-32006, 500, "INVALID_AGENT_RESPONSE"))
}

// What a person has to allow first is not done, and says so.
func TestASkillThatAPersonHasToAllow(t *testing.T) {
	yaml := strings.Replace(lendingYAML, `caps: [{with: w/docs, can: crud}, {with: handles/`, `caps: [{with: w/docs, can: crud/read}, {with: w/docs, can: crud/delete, ask: true}, {with: handles/`, 1)
	c, err := config.Parse("usher.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	p := serveConfig(t, c)
	list := capabilities(t, p.ext(t, "a2a/capabilities/request", `{"grants":["documents:read","documents:write"],"purpose":"x","resourceQuery":{"collection":"reports"}}`))
	params := use("delete_document", list[1].ID, list[1].handle("Q2"), "")
	p.both(t, aware, "", "a2a/skill/invoke", params, "POST", "/skills/delete_document:invoke", params, fails(-32059, 403, "APPROVAL_REQUIRED"))
	if raw, err := p.alice.Invoke(t.Context(), "covia:read", map[string]string{"path": "w/docs/reports/q2"}); err != nil || !strings.Contains(string(raw), "Q2") {
		t.Errorf("%s, %v", raw, err)
	}
}
