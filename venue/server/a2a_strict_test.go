package server_test

import (
	"fmt"
	"strings"
	"testing"

	"usher/venue/a2a"
)

// A bound under a name that means nothing would bound nothing: it is refused, and so is what
// says a thing twice, or by null. Nothing begins.
func TestWhatMeansNothingIsRefused(t *testing.T) {
	p := lends(t, "")
	c := p.borrow(t, q1)
	h := c.ResourceHandles[0].Handle
	message := func(metadata, params string) string {
		return fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}],"metadata":{%s}}%s}`, metadata, params)
	}
	lends := fmt.Sprintf(`"%s/capabilities":[%q]`, a2a.URI, c.ID)
	narrows := fmt.Sprintf(`"%s/attenuations":{%q:{"operations":["retrieve"]}}`, a2a.URI, c.ID)
	ambient := fmt.Sprintf(`"%s/ambient":true`, a2a.URI)
	for name, tt := range map[string]struct{ method, params, want string }{
		"constraints of no name":         {"a2a/capabilities/attenuate", fmt.Sprintf(`{"capabilityId":%q,"constraints":{"handles":[%q]}}`, c.ID, h), `unknown field "handles"`},
		"constraints beside":             {"a2a/capabilities/attenuate", fmt.Sprintf(`{"capabilityId":%q,"operations":["retrieve"]}`, c.ID), `unknown field "operations"`},
		"a query of no name":             {"a2a/capabilities/request", `{"grants":["documents:read"],"purpose":"p","resourceQuery":{"filters":{"quarter":"2025-Q1"}}}`, `unknown field "filters"`},
		"no purpose":                     {"a2a/capabilities/request", `{"grants":["documents:read"]}`, "purpose is missing"},
		"a skill's capability misspelt":  {"a2a/skill/invoke", fmt.Sprintf(`{"skill":"retrieve_document","capability":%q,"arguments":{"resourceHandle":%q}}`, c.ID, h), `unknown field "capability"`},
		"a task's capability misspelt":   {"SendMessage", message(fmt.Sprintf(`"%s/capability":[%q]`, a2a.URI, c.ID), ""), "means nothing"},
		"one in the proposal's words":    {"a2a/task/send", message("", fmt.Sprintf(`,"capabilityId":%q`, c.ID)), `unknown field "capabilityId"`},
		"null capabilities":              {"SendMessage", message(fmt.Sprintf(`"%s/capabilities":null`, a2a.URI), ""), "not null"},
		"limits of nothing":              {"SendMessage", message(narrows, ""), "give " + a2a.URI + "/capabilities"},
		"said twice":                     {"SendMessage", message(lends, ",\"metadata\":{"+lends+"}"), "once"},
		"a capability, and none":         {"SendMessage", message(lends+","+ambient, ""), "give " + a2a.URI + "/capabilities"},
		"ambient with limits":            {"SendMessage", message(ambient+","+narrows, ""), "and alone"},
		"attenuations of no name":        {"SendMessage", message(lends+fmt.Sprintf(`,"%s/attenuations":{%q:{"operation":["retrieve"]}}`, a2a.URI, c.ID), ""), `unknown field \"operation\"`},
		"attenuations of something else": {"SendMessage", message(lends+fmt.Sprintf(`,"%s/attenuations":{"cap_x":{}}`, a2a.URI), ""), "not handed on"},
	} {
		t.Run(name, func(t *testing.T) {
			agent := ""
			if tt.method == "SendMessage" || tt.method == "a2a/task/send" {
				agent = "/documents"
			}
			r := p.rpc(t, aware, agent, tt.method, tt.params)
			if r.code != -32602 || !strings.Contains(strings.ReplaceAll(r.raw, `\"`, `"`), strings.ReplaceAll(tt.want, `\"`, `"`)) {
				t.Errorf("%d: %s", r.code, r.raw)
			}
		})
	}
	runs, _, err := p.alice.Runs(t.Context(), "", 10)
	if err != nil || len(runs) != 0 {
		t.Errorf("%d runs have begun, %v", len(runs), err)
	}
	split := fmt.Sprintf(`,"metadata":{%s}`, narrows)
	if r := p.rpc(t, aware, "/documents", "SendMessage", message(lends, split)); r.code != 0 {
		t.Errorf("limits in the metadata of the request: %s", r.raw)
	}
}

// What goes with a message to a task that goes on bounds nothing: who narrows it is told so.
func TestATaskIsNotNarrowedLater(t *testing.T) {
	p := lends(t, "")
	c := p.borrow(t, q1)
	lends := fmt.Sprintf(`"%s/capabilities":[%q]`, a2a.URI, c.ID)
	answers := map[string]int{
		lends: -32602, lends + fmt.Sprintf(`,"%s/attenuations":{%q:{"operations":["retrieve"]}}`, a2a.URI, c.ID): -32602,
		fmt.Sprintf(`"%s/capability":[%q]`, a2a.URI, c.ID): -32602, fmt.Sprintf(`"%s/ambient":true`, a2a.URI): 0, "": 0,
	}
	asked := 0
	p.model.Ask("capability_use", use("retrieve_document", "", c.ResourceHandles[0].Handle, ""))
	p.model.Between(func() {
		runs, _, err := p.alice.Runs(t.Context(), "", 1)
		if err != nil || len(runs) != 1 {
			t.Errorf("%d runs, %v", len(runs), err)
			return
		}
		for metadata, want := range answers {
			asked++
			r := p.rpc(t, aware, "/documents", "SendMessage", fmt.Sprintf(
				`{"message":{"messageId":"n","taskId":%q,"role":"ROLE_USER","parts":[{"text":"more"}]},"configuration":{"returnImmediately":true},"metadata":{%s}}`, runs[0].ID, metadata))
			if r.code != want {
				t.Errorf("{%s}: %s", metadata, r.raw)
			}
		}
	})
	if r := p.rpc(t, aware, "/documents", "SendMessage", fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]},"metadata":{%s}}`, lends)); r.code != 0 || asked != len(answers) {
		t.Errorf("%d of %d messages were sent: %s", asked, len(answers), r.raw)
	}
}

// Numbers of a message reach the agent as they came, however large, and come back so.
func TestNumbersStayAsTheyCame(t *testing.T) {
	p := serve(t, "")
	const data = `{"amount":9007199254740993,"rate":0.10000000000000000001}`
	for name, tt := range map[string]struct {
		a              a2aAsk
		method, params string
	}{
		"1.0":           {a2aAsk{}, "SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":` + data + `}]}}`},
		"0.3":           {a2aAsk{version: "0.3"}, "message/send", `{"message":{"messageId":"m","role":"user","parts":[{"kind":"data","data":` + data + `}]}}`},
		"beside a text": {a2aAsk{}, "SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"pay"},{"data":` + data + `}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.rpc(t, tt.a, "/carol", tt.method, tt.params)
			id, _ := r.at("task.id").(string)
			if id == "" {
				id, _ = r.at("id").(string)
			}
			rec, err := p.alice.Run(t.Context(), id)
			if err != nil {
				t.Fatalf("%v: %s", err, r.raw)
			}
			for _, told := range []string{string(rec.Input), r.raw} {
				if told = strings.ReplaceAll(told, `\`, ""); !strings.Contains(told, "9007199254740993") || !strings.Contains(told, "0.10000000000000000001") {
					t.Errorf("told %s", told)
				}
			}
		})
	}
}
