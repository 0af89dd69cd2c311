package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	protocol "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"usher/venue/a2a"
)

// bearer sends a token with each request.
// The client of a2a-go takes what is sent, over both bindings.
func TestAClientOfTheProtocol(t *testing.T) {
	url, heard := address(t)
	p := serve(t, fmt.Sprintf("a2a: {agents: [bob], private_pushes: [%q]}\n", strings.TrimPrefix(url, "http://")))
	web := &http.Client{Transport: bearer{p.token}}
	card, err := agentcard.NewResolver(web).Resolve(t.Context(), p.url+"/a2a/bob", agentcard.WithPath(a2a.CardPath))
	if err != nil {
		t.Fatal(err)
	}
	for _, binding := range []protocol.TransportProtocol{protocol.TransportProtocolJSONRPC, protocol.TransportProtocolHTTPJSON} {
		t.Run(string(binding), func(t *testing.T) {
			c, err := a2aclient.NewFromCard(t.Context(), card, a2aclient.WithJSONRPCTransport(web), a2aclient.WithRESTTransport(web),
				a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []protocol.TransportProtocol{binding}}))
			if err != nil {
				t.Fatal(err)
			}
			say := func() *protocol.SendMessageRequest {
				return &protocol.SendMessageRequest{Message: protocol.NewMessage(protocol.MessageRoleUser, protocol.NewTextPart("hi"))}
			}
			sent, err := c.SendMessage(t.Context(), say())
			if err != nil {
				t.Fatal(err)
			}
			task, is := sent.(*protocol.Task)
			if !is || task.Status.State != protocol.TaskStateCompleted || task.Artifacts[0].Parts[0].Text() != "hi" {
				t.Fatalf("sent: %+v", sent)
			}
			got, err := c.GetTask(t.Context(), &protocol.GetTaskRequest{ID: task.ID})
			if err != nil || got.ID != task.ID {
				t.Errorf("got %+v, %v", got, err)
			}
			list, err := c.ListTasks(t.Context(), &protocol.ListTasksRequest{})
			if err != nil || len(list.Tasks) == 0 {
				t.Errorf("listed %+v, %v", list, err)
			}
			if _, err := c.CancelTask(t.Context(), &protocol.CancelTaskRequest{ID: task.ID}); err == nil {
				t.Error("what has ended was canceled")
			}
			waits := &protocol.SendMessageRequest{Message: protocol.NewMessage(protocol.MessageRoleUser, protocol.NewTextPart("wait")), Config: &protocol.SendMessageConfig{ReturnImmediately: true}}
			if sent, err = c.SendMessage(t.Context(), waits); err != nil {
				t.Fatal(err)
			}
			id := sent.(*protocol.Task).ID
			for _, name := range []string{"one", "two"} {
				if made, err := c.CreateTaskPushConfig(t.Context(), &protocol.PushConfig{TaskID: id, ID: name, URL: url, Token: name}); err != nil || made.ID != name {
					t.Fatalf("made %+v, %v", made, err)
				}
			}
			if found, err := c.GetTaskPushConfig(t.Context(), &protocol.GetTaskPushConfigRequest{TaskID: id, ID: "one"}); err != nil || found.URL != url {
				t.Errorf("found %+v, %v", found, err)
			}
			if err := c.DeleteTaskPushConfig(t.Context(), &protocol.DeleteTaskPushConfigRequest{TaskID: id, ID: "one"}); err != nil {
				t.Error(err)
			}
			if all, err := c.ListTaskPushConfigs(t.Context(), &protocol.ListTaskPushConfigRequest{TaskID: id}); err != nil || len(all) != 1 || all[0].ID != "two" {
				t.Errorf("listed %+v, %v", all, err)
			}
			if _, err := c.CancelTask(t.Context(), &protocol.CancelTaskRequest{ID: id}); err != nil {
				t.Error(err)
			}
			n := next(t, heard)
			var pushed protocol.StreamResponse
			if err := json.Unmarshal([]byte(n.body), &pushed); err != nil || n.head.Get("A2A-Notification-Token") != "two" {
				t.Errorf("told %s by %v, %v", n.body, n.head, err)
			}
			if task, is := pushed.Event.(*protocol.Task); !is || task.ID != id || task.Status.State != protocol.TaskStateCanceled {
				t.Errorf("told %s", n.body)
			}
			var last protocol.Event
			for ev, err := range c.SendStreamingMessage(t.Context(), say()) {
				if err != nil {
					t.Fatal(err)
				}
				last = ev
			}
			if end, is := last.(*protocol.TaskStatusUpdateEvent); !is || end.Status.State != protocol.TaskStateCompleted {
				t.Errorf("the stream ends with %+v", last)
			}
		})
	}
}
