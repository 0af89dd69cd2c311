package agui_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"usher/runtime"
	"usher/venue/agui"
)

// asksCarol has bob ask carol, who may do less for him than she may.
func asksCarol(t *testing.T, p *port) {
	t.Helper()
	p.create(t, "carol", `{"tools":["covia:*"],"caps":[{"with":"w/notes/a","can":"crud/read"},{"with":"w/refunds/a","can":"crud"},{"with":"w/audits","can":"crud"}]}`)
	p.model.answer(called("Let me ask.", "c1", "agent_request", `{"agentId":"carol","input":"do it"}`)...)
}

// carolsCaps is what carol may do for bob.
const carolsCaps = "map[cog13:map[caps:[map[can:crud/read with:w/notes/a] map[ask:true can:crud with:w/refunds/a]]]]"

// Who comes back to a run hears of the agents that work for it already.
func TestWhoComesBackHearsOfSubagents(t *testing.T) {
	p := serve(t)
	asksCarol(t, p)
	p.model.answer(runtime.Chunk{Text: "I think "}, runtime.Chunk{Text: "wait"})
	ran := make(chan error, 1)
	go func() {
		_, _, _, err := p.send(t.Context(), http.MethodPost, "/bob", strings.Replace(says("th1", "go"), "{", `{"forwardedProps":{"detached":true},`, 1))
		ran <- err
	}()
	<-p.model.waits
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/bob/connect", strings.NewReader(resumes("th1")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text strings.Builder
	for in := bufio.NewScanner(resp.Body); in.Scan(); {
		text.WriteString(in.Text() + "\n")
		if !strings.Contains(in.Text(), "SUBAGENT_STARTED") {
			continue
		}
		list, _, err := p.alice.Runs(t.Context(), "", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			if r.Parent == "" {
				err = p.alice.Stop(t.Context(), r.ID)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ran; err != nil {
		t.Error(err)
	}
	list, err := agui.Streamed(text.String())
	if err == nil {
		err = agui.Verify(list)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, &text)
	}
	if began := only(list, "SUBAGENT_STARTED"); len(began) != 1 || began[0].Text("name") != "carol" || fmt.Sprint(began[0]["metadata"]) != carolsCaps {
		t.Errorf("it begins %v", began)
	}
}

// A run that is resumed tells of the agent that goes on for it.
func TestAResumedRunTellsOfSubagents(t *testing.T) {
	p := serve(t)
	asksCarol(t, p)
	p.model.answer(called("", "d1", "covia_write", `{"path":"w/refunds/a","value":1}`)...)
	p.model.answer(said("Done.")...)
	p.model.answer(said("She did it.")...)
	id := interruptOf(t, p.run(t, "/bob", says("th1", "go"))).Text("id")
	list := p.run(t, "/bob", resumes("th1", map[string]any{"interruptId": id, "status": "resolved", "payload": map[string]any{"approved": true}}))
	began := only(list, "SUBAGENT_STARTED")
	if len(began) != 1 || began[0].Text("name") != "carol" || fmt.Sprint(began[0]["metadata"]) != carolsCaps {
		t.Errorf("it begins %v of %v", began, kinds(list))
	}
	if got := spoken(list); len(got) != 2 || got[0] != "Done." || got[1] != "She did it." {
		t.Errorf("it says %q", got)
	}
	if end := list[len(list)-1]; !strings.Contains(fmt.Sprint(end["usage"]), "inputTokens:22") {
		t.Errorf("it ends with %v", end)
	}
}

// What a thread tells of a run that it does not tell whole has the ids that it had when it was
// told, and so has what comes of it.
func TestWhatIsToldOfALongRunHasItsIDs(t *testing.T) {
	p := serve(t)
	long := strings.Repeat("x", 440<<10)
	for i := range 12 {
		p.model.answer(called("I write.", fmt.Sprintf("c%d", i), "covia_write", `{"path":"w/notes/a","value":"`+long+`"}`)...)
	}
	p.model.answer(called("I ask.", "last", "covia_write", `{"path":"w/refunds/a","value":1}`)...)
	first := p.run(t, "/bob", says("th1", "do it"))
	told := make(map[string]bool)
	for _, ev := range only(first, "TEXT_MESSAGE_START") {
		told[ev.Text("messageId")] = true
	}
	again := p.run(t, "/bob/connect", resumes("th1"))
	messages, _ := only(again, "MESSAGES_SNAPSHOT")[0]["messages"].([]any)
	known, last := 0, ""
	for _, m := range messages {
		if m := agui.Event(m.(map[string]any)); m.Text("role") == "assistant" {
			known++
			if last = m.Text("id"); !told[last] {
				t.Errorf("a message of the snapshot has the id %q, which none had", last)
			}
		}
	}
	if known == 0 || known >= len(told) || !strings.HasSuffix(last, "-m13") {
		t.Fatalf("the snapshot has %d of %d messages, the last %s", known, len(told), last)
	}
	p.model.answer(said("So be it.")...)
	id := interruptOf(t, again).Text("id")
	rest := p.run(t, "/bob", resumes("th1", map[string]any{"interruptId": id, "status": "resolved", "payload": map[string]any{"approved": true}}))
	if got := only(rest, "TEXT_MESSAGE_START"); len(got) != 1 || !strings.HasSuffix(got[0].Text("messageId"), "-m14") {
		t.Errorf("what comes of it is %v", got)
	}
}
