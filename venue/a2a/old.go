package a2a

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// inVersion is a result as the version of the request has it.
func (c *call) inVersion(result any) any {
	if c.version == modern {
		return result
	}
	switch r := result.(type) {
	case a2a.StreamResponse:
		return oldEvent(r.Event)
	case *a2a.Task:
		return oldTask(r)
	}
	return result
}

type object = map[string]any

// oldEvent is an event of 0.3, where kind says which it is.
func oldEvent(ev a2a.Event) any {
	switch ev := ev.(type) {
	case *a2a.Task:
		return oldTask(ev)
	case *a2a.TaskStatusUpdateEvent:
		state := ev.Status.State
		final := state.Terminal() || state == a2a.TaskStateAuthRequired || state == a2a.TaskStateInputRequired
		return object{"kind": "status-update", "taskId": ev.TaskID, "contextId": ev.ContextID, "status": oldStatus(ev.Status), "final": final}
	case *a2a.TaskArtifactUpdateEvent:
		return object{
			"kind": "artifact-update", "taskId": ev.TaskID, "contextId": ev.ContextID, "append": ev.Append, "lastChunk": ev.LastChunk, "artifact": oldArtifact(ev.Artifact),
		}
	}
	return ev
}

func oldTask(t *a2a.Task) object {
	out := object{"kind": "task", "id": t.ID, "contextId": t.ContextID, "status": oldStatus(t.Status)}
	if len(t.Artifacts) > 0 {
		list := make([]object, len(t.Artifacts))
		for i, a := range t.Artifacts {
			list[i] = oldArtifact(a)
		}
		out["artifacts"] = list
	}
	if len(t.History) > 0 {
		list := make([]object, len(t.History))
		for i, m := range t.History {
			list[i] = oldMessage(m)
		}
		out["history"] = list
	}
	return out
}

// oldState is a state in the words of 0.3: input-required.
func oldState(s a2a.TaskState) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(string(s), "TASK_STATE_"), "_", "-"))
}

func oldStatus(s a2a.TaskStatus) object {
	out := object{"state": oldState(s.State), "timestamp": s.Timestamp}
	if s.Message != nil {
		out["message"] = oldMessage(s.Message)
	}
	return out
}

func oldMessage(m *a2a.Message) object {
	return object{
		"kind": "message", "messageId": m.ID, "taskId": m.TaskID, "contextId": m.ContextID, "role": strings.ToLower(strings.TrimPrefix(string(m.Role), "ROLE_")), "parts": oldParts(m.Parts),
	}
}

func oldArtifact(a *a2a.Artifact) object {
	return object{"artifactId": a.ID, "name": a.Name, "parts": oldParts(a.Parts)}
}

// oldParts are parts of 0.3, whose data are objects.
func oldParts(parts a2a.ContentParts) []object {
	list := make([]object, len(parts))
	for i, p := range parts {
		switch content := p.Content.(type) {
		case a2a.Text:
			list[i] = object{"kind": "text", "text": string(content)}
		case a2a.Data:
			data := content.Value
			if raw, is := data.(json.RawMessage); is && !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
				data = object{"value": raw}
			}
			list[i] = object{"kind": "data", "data": data}
		}
	}
	return list
}
