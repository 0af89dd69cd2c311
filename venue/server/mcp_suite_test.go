package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps"
	"usher/tools"
	"usher/venue"
	"usher/venue/face"
	"usher/venue/mcp"
)

// suite is the venue of the conformance suite on a port; its user is alice here.
func suite(t *testing.T, o *venue.Options) *mcpPort {
	t.Helper()
	v, opts, err := openSuite(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	p := &mcpPort{venue: v}
	if p.alice, err = v.User(t.Context(), suiteUser); err != nil {
		t.Fatal(err)
	}
	if p.face, err = mcp.New(&face.Door{Venue: v}, opts); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(p.face)
	p.url = srv.URL + mcp.Path
	t.Cleanup(func() {
		p.face.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		srv.Close()
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// person answers forms.
func person(content map[string]any, action string) *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: action, Content: content}, nil
	}}
}

// A handler asks its caller in both generations, and what it returns of pictures arrives as
// pictures.
func TestHandlersAskAndShow(t *testing.T) {
	p := suite(t, nil)
	mine := token(t, p.alice, "a")
	for _, version := range versions {
		cs := p.connect(t, mine, version, person(map[string]any{"name": "Alice"}, "accept"))
		if said, failed, _ := call(t, cs, "test_input_required_result_elicitation", `{}`); failed || said != "Hello, Alice!" {
			t.Errorf("%s: who was asked is told %q, failed %t", version, said, failed)
		}
		res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "test_image_content"})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Content) != 1 {
			t.Fatalf("%s: the picture is %d blocks", version, len(res.Content))
		}
		if image, ok := res.Content[0].(*sdk.ImageContent); !ok || image.MIMEType != "image/png" || len(image.Data) == 0 {
			t.Errorf("%s: the picture is %#v", version, res.Content[0])
		}
		silent := p.connect(t, mine, version, nil)
		if said, failed, _ := call(t, silent, "test_input_required_result_elicitation", `{}`); !failed || strings.Contains(said, "Hello") {
			t.Errorf("%s: a client that cannot be asked is told %q", version, said)
		}
	}
}

// An agent's call that needs the person is put to them, as whom the client calls.
func TestApprovalsAreForms(t *testing.T) {
	for _, version := range versions {
		for _, tt := range []struct {
			name    string
			confirm bool
			action  string
			gone    bool
			want    string
		}{
			{"allowed", true, "accept", true, "done"},
			{"refused", false, "accept", false, "done"},
			{"declined", false, "decline", false, "done"},
			{"left", false, "cancel", false, ""},
		} {
			t.Run(version+" "+tt.name, func(t *testing.T) {
				if version == versions[0] && tt.name == "left" {
					t.Log("the SDK's client sends what was left, and asks again")
					return
				}
				p := suite(t, nil)
				if _, err := p.alice.Invoke(t.Context(), "covia:write", json.RawMessage(`{"path":"w/files/a","value":1}`)); err != nil {
					t.Fatal(err)
				}
				cs := p.connect(t, token(t, p.alice, "a"), version, person(map[string]any{"confirm": tt.confirm}, tt.action))
				said, failed, _ := call(t, cs, "ask_clerk", `{"message":"delete w/files/a"}`)
				if tt.want != "" && (failed || said != tt.want) || tt.want == "" && (!failed || !strings.Contains(said, "waits for the approval of a person")) {
					t.Errorf("the answer is %q, failed %t", said, failed)
				}
				raw, err := p.alice.Invoke(t.Context(), "covia:read", json.RawMessage(`{"path":"w/files/a"}`))
				if err != nil {
					t.Fatal(err)
				}
				if gone := strings.Contains(string(raw), `"exists":false`); gone != tt.gone {
					t.Errorf("what is to be deleted is %s", raw)
				}
			})
		}
	}
}

// single makes one request of 2026-07-28.
func (p *mcpPort) single(t *testing.T, token, method, name, params string, head ...string) (int, string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}},` + params + `}}`
	status, _, said := p.send(t, "POST", body, append([]string{
		"Authorization", "Bearer " + token, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name,
	}, head...)...)
	return status, said
}

// between is what stands in a text between two others.
func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, from)
	found, _, whole := strings.Cut(rest, to)
	if !ok || !whole {
		t.Fatalf("there is no %s… in %s", from, text)
	}
	return found
}

// What a client is given to send back holds for its principal, for the same call, and as it
// is.
func TestStateIsBound(t *testing.T) {
	p := suite(t, nil)
	stranger, err := p.venue.User(t.Context(), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	const name = "test_input_required_result_tampered_state"
	mine, theirs := token(t, p.alice, "a"), token(t, stranger, "b")
	_, said := p.single(t, mine, "tools/call", name, `"name":"`+name+`","arguments":{}`)
	state := between(t, said, `"requestState":"`, `"`)
	answer := `,"inputResponses":{"confirm":{"action":"accept","content":{"ok":true}}},"requestState":"`
	for _, tt := range []struct{ name, token, params, want string }{
		{"another principal", theirs, `"name":"` + name + `","arguments":{}` + answer + state + `"`, "requestState is not"},
		{"another call", mine, `"name":"` + name + `","arguments":{"x":1}` + answer + state + `"`, "requestState is not"},
		{"changed", mine, `"name":"` + name + `","arguments":{}` + answer + "x" + state + `"`, "requestState is not"},
		{"as it is", mine, `"name":"` + name + `","arguments":{}` + answer + state + `"`, "state-ok"},
	} {
		if _, said := p.single(t, tt.token, "tools/call", name, tt.params); !strings.Contains(said, tt.want) {
			t.Errorf("%s: %s, want %q", tt.name, said, tt.want)
		}
	}
}

// A task is its principal's. To others it is as one that is none.
func TestTasksAreTheirOwners(t *testing.T) {
	p := suite(t, nil)
	stranger, err := p.venue.User(t.Context(), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := token(t, p.alice, "a"), token(t, stranger, "b")
	_, said := p.single(t, mine, "tools/call", "slow_compute", `"name":"slow_compute","arguments":{"seconds":60}`)
	id := between(t, said, `"taskId":"`, `"`)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		_, foreign := p.single(t, theirs, method, id, `"taskId":"`+id+`"`)
		none := strings.Repeat("0", len(id))
		_, missing := p.single(t, theirs, method, none, `"taskId":"`+none+`"`)
		if strings.ReplaceAll(foreign, id, none) != missing || !strings.Contains(foreign, `"code":-32602`) {
			t.Errorf("%s of another's task: %s, and of none: %s", method, foreign, missing)
		}
	}
	if _, said := p.single(t, mine, "tasks/cancel", id, `"taskId":"`+id+`"`); !strings.Contains(said, `"resultType":"complete"`) {
		t.Errorf("tasks/cancel = %s", said)
	}
	if _, said := p.single(t, mine, "tasks/get", id, `"taskId":"`+id+`"`); !strings.Contains(said, `"status":"cancelled"`) {
		t.Errorf("tasks/get = %s", said)
	}
}

// A call ends with the client that waits for it, in both generations. A job that it began
// goes on.
func TestCallersGoAway(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error)
	hang := tools.New("test:hang", "Wait for the end of the call.", func(struct{}) []caps.Request { return []caps.Request{caps.Need("test", "test")} },
		func(ctx context.Context, _ tools.Call, _ struct{}) (bool, error) {
			began <- struct{}{}
			<-ctx.Done()
			ended <- ctx.Err()
			return false, ctx.Err()
		})
	p := suite(t, &venue.Options{Tools: []*tools.Operation{hang}})
	mine := token(t, p.alice, "a")
	for _, version := range versions {
		cs := p.connect(t, mine, version, nil)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: "test_hang"})
			gone <- err
		}()
		<-began
		cancel()
		if err := <-ended; err == nil {
			t.Errorf("%s: the call goes on without its caller", version)
		}
		if err := <-gone; err == nil {
			t.Errorf("%s: the client has an answer", version)
		}
	}
	_, said := p.single(t, mine, "tools/call", "slow_compute", `"name":"slow_compute","arguments":{"seconds":0.01}`)
	id := between(t, said, `"taskId":"`, `"`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rec, err := p.alice.Await(ctx, id)
	if err != nil || rec.Status != "COMPLETE" {
		t.Errorf("the job is %s, %v", rec.Status, err)
	}
}

// Who listens hears that their lists have changed.
func TestListsChange(t *testing.T) {
	p := suite(t, nil)
	mine := token(t, p.alice, "a")
	for _, version := range versions {
		told := make(chan struct{}, 10)
		o := &sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { told <- struct{}{} }}
		cs := p.connect(t, mine, version, o)
		deadline := time.After(time.Minute)
		for heard := false; !heard; { // the stream opens when it opens
			if _, failed, _ := call(t, cs, "test_trigger_tool_change", `{}`); failed {
				t.Fatal("no agent is made")
			}
			select {
			case <-told:
				heard = true
			case <-time.After(100 * time.Millisecond):
			case <-deadline:
				t.Fatalf("%s: nothing is told of a list that has changed", version)
			}
		}
	}
}
