package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps"
	"usher/tools/fault"
)

// curious is a server whose tool asks a person.
func curious() *sdk.Server {
	s := sdk.NewServer(impl(), nil)
	s.AddTool(&sdk.Tool{Name: "ask", InputSchema: anyObject}, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		said, answered := req.Params.InputResponses["q"]
		if !answered {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": &sdk.ElicitParams{Message: "How many?", RequestedSchema: json.RawMessage(
				`{"type":"object","properties":{"n":{"type":"integer"},"colour":{"type":"string","default":"red"}},"required":["n"]}`)}}}, nil
		}
		raw, err := json.Marshal(said)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(raw)}}}, err
	})
	return s
}

// asks calls the tool, and returns the question and what becomes of the call.
func (l *lair) asks() (q question, came <-chan string) {
	l.Helper()
	out := make(chan string, 1)
	go func() {
		text, err := l.may(nil, "mcp/s/ask", `{}`)
		if err != nil {
			text = err.Error()
		}
		out <- text
	}()
	for range 1000 {
		var list Questions
		if err := json.Unmarshal([]byte(l.call("mcp:questions", `{}`)), &list); err != nil {
			l.Fatal(err)
		}
		if len(list.Questions) > 0 {
			return list.Questions[0], out
		}
		select {
		case text := <-out:
			l.Fatalf("the call asked nothing: %s", text)
		case <-time.After(10 * time.Millisecond):
		}
	}
	l.Fatal("nothing was asked")
	return q, out
}

func TestQuestions(t *testing.T) {
	l := newLair(t, Options{transport: inMemory(curious)})
	l.set(Server{ID: "s", Command: []string{"x"}, Elicitation: AskPerson})
	answer := func(q question, rest string) string { return `{"server":"s","id":"` + q.ID + `",` + rest + `}` }

	q, came := l.asks()
	if q.Message != "How many?" || !strings.Contains(q.From, "its words") {
		t.Errorf("asked %+v", q)
	}
	looks := caps.Of(caps.MustCapability("mcp", "mcp/read"))
	if seen, err := l.may(&looks, "mcp:questions", `{}`); err != nil || !strings.Contains(seen, q.ID) || strings.Contains(seen, "How many?") || strings.Contains(seen, "colour") {
		t.Errorf("an agent sees %s, %v, want that something is asked, and not what", seen, err)
	}
	none := caps.Of(caps.MustCapability("mcp/s", "mcp/answer"))
	if _, err := l.may(&none, "mcp:answer", answer(q, `"action":"accept","content":{"n":1}`)); fault.Of(err) != fault.Refused {
		t.Errorf("an agent answers: %v", err)
	}
	for name, c := range map[string]struct {
		input string
		code  fault.Code
	}{
		"another action":   {answer(q, `"action":"yes"`), fault.InvalidInput},
		"what fits not":    {answer(q, `"action":"accept","content":{"n":"many"}`), fault.InvalidInput},
		"what is missing":  {answer(q, `"action":"accept"`), fault.InvalidInput},
		"a no with more":   {answer(q, `"action":"decline","content":{"n":1}`), fault.InvalidInput},
		"another question": {answer(question{ID: "x"}, `"action":"accept","content":{"n":1}`), fault.NotFound},
	} {
		t.Run(name, func(t *testing.T) { l.fails("mcp:answer", c.input, c.code) })
	}
	l.call("mcp:answer", answer(q, `"action":"accept","content":{"n":3}`))
	if text := <-came; !strings.Contains(text, `\"n\":3`) || !strings.Contains(text, `\"colour\":\"red\"`) {
		t.Errorf("the call returns %s, want the answer and the default", text)
	}
	l.fails("mcp:answer", answer(q, `"action":"accept","content":{"n":3}`), fault.NotFound)

	q, came = l.asks()
	l.call("mcp:answer", answer(q, `"action":"decline"`))
	if text := <-came; !strings.Contains(text, `decline`) {
		t.Errorf("the call returns %s, want that it was declined", text)
	}
}

func TestQuestionsAreRefused(t *testing.T) {
	l := newLair(t, Options{transport: inMemory(curious)})
	l.set(Server{ID: "s", Command: []string{"x"}})
	if out, err := l.may(nil, "mcp/s/ask", `{}`); err == nil {
		t.Errorf("asked nobody, and got %s", out)
	}
	if out := l.call("mcp:questions", `{}`); out != `{"questions":[]}` {
		t.Errorf("asked: %s", out)
	}
}

// A question that nobody answers ends with its call.
func TestQuestionsEnd(t *testing.T) {
	l := newLair(t, Options{transport: inMemory(curious), CallTime: 100 * time.Millisecond})
	l.set(Server{ID: "s", Command: []string{"x"}, Elicitation: AskPerson})
	_, came := l.asks()
	<-came
	for range 500 {
		if out := l.call("mcp:questions", `{}`); out == `{"questions":[]}` {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the question waits for ever")
}

// A question sends nobody to an address that a browser would hand to another program, nor to one
// in this machine.
func TestAQuestionSendsPeopleToTheWebAlone(t *testing.T) {
	for at, shown := range map[string]bool{
		"https://example.org/confirm": true, "calculator://localhost/run": false, "javascript:alert(1)": false, "http://example.org/": false, "http://127.0.0.1:8080/delete": false, "file:///etc/passwd": false,
	} {
		l := newLair(t, Options{transport: inMemory(func() *sdk.Server {
			s := sdk.NewServer(impl(), nil)
			s.AddTool(&sdk.Tool{Name: "ask", InputSchema: anyObject}, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				if _, answered := req.Params.InputResponses["q"]; !answered {
					return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": &sdk.ElicitParams{Mode: "url", Message: "Go there.", URL: at, ElicitationID: "1"}}}, nil
				}
				return &sdk.CallToolResult{}, nil
			})
			return s
		}), CallTime: 5 * time.Second})
		l.set(Server{ID: "s", Command: []string{"x"}, Elicitation: AskPerson})
		came := make(chan error, 1)
		go func() {
			_, err := l.may(nil, "mcp/s/ask", `{}`)
			came <- err
		}()
		asked := false
		for !asked {
			var list Questions
			if err := json.Unmarshal([]byte(l.call("mcp:questions", `{}`)), &list); err != nil {
				t.Fatal(err)
			}
			if asked = len(list.Questions) > 0; asked {
				l.call("mcp:answer", `{"server":"s","id":"`+list.Questions[0].ID+`","action":"decline"}`)
				<-came
				break
			}
			if len(came) > 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if asked != shown {
			t.Errorf("%s is shown to a person: %v, want %v", at, asked, shown)
		}
	}
}
