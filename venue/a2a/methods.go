package a2a

import (
	"net/http"
	"strings"

	"usher/tools/lending"
)

// method is what can be asked, by every name that it has.
type method struct {
	name string // of JSON-RPC, in 1.0
	old  string // in 0.3; empty for none
	verb string
	path string // of HTTP+JSON, below the tenant

	answer func(*call) (any, error)   // nil for a stream
	stream func(*call) (*feed, error) // nil for one answer
	ours   bool                       // it is of the extension, and of every version
}

var methods = []method{
	{name: "SendMessage", old: "message/send", verb: "POST", path: "message:send", answer: (*call).send},
	{name: "SendStreamingMessage", old: "message/stream", verb: "POST", path: "message:stream", stream: (*call).sendStream},
	{name: "GetTask", old: "tasks/get", verb: "GET", path: "tasks/{id}", answer: (*call).get},
	{name: "ListTasks", verb: "GET", path: "tasks", answer: (*call).list},
	{name: "CancelTask", old: "tasks/cancel", verb: "POST", path: "tasks/{id}:cancel", answer: (*call).cancel},
	{name: "SubscribeToTask", old: "tasks/resubscribe", verb: "POST", path: "tasks/{id}:subscribe", stream: (*call).subscribe},
	{name: "SubscribeToTask", verb: "GET", path: "tasks/{id}:subscribe", stream: (*call).subscribe},
	{name: "CreateTaskPushNotificationConfig", old: "tasks/pushNotificationConfig/set", verb: "POST", path: "tasks/{taskId}/pushNotificationConfigs", answer: (*call).createPush},
	{name: "GetTaskPushNotificationConfig", old: "tasks/pushNotificationConfig/get", verb: "GET", path: "tasks/{taskId}/pushNotificationConfigs/{id}", answer: (*call).getPush},
	{name: "ListTaskPushNotificationConfigs", old: "tasks/pushNotificationConfig/list", verb: "GET", path: "tasks/{taskId}/pushNotificationConfigs", answer: (*call).listPushes},
	{name: "DeleteTaskPushNotificationConfig", old: "tasks/pushNotificationConfig/delete", verb: "DELETE", path: "tasks/{taskId}/pushNotificationConfigs/{id}", answer: (*call).deletePush},
	{name: "GetExtendedAgentCard", old: "agent/getAuthenticatedExtendedCard", verb: "GET", path: "extendedAgentCard", answer: (*call).fullCard},

	{name: "a2a/capabilities/request", verb: "POST", path: "capabilities:request", answer: (*call).requestCapabilities, ours: true},
	{name: "a2a/capabilities/attenuate", verb: "POST", path: "capabilities:attenuate", answer: (*call).attenuate, ours: true},
	{name: "a2a/capabilities/revoke", verb: "POST", path: "capabilities:revoke", answer: lends[lending.Revoke]("capability:revoke"), ours: true},
	{name: "a2a/capabilities/list", verb: "GET", path: "capabilities", answer: lends[lending.List]("capability:list"), ours: true},
	{name: "a2a/skill/invoke", verb: "POST", path: "skills/{skill}:invoke", answer: (*call).skill, ours: true},
	{name: "a2a/task/send", verb: "POST", path: "tasks:send", answer: (*call).sendLiteral, ours: true},
}

// heads are the first segments of paths.
var heads = func() map[string]bool {
	m := map[string]bool{".well-known": true}
	for i := range methods {
		first, _, _ := strings.Cut(methods[i].path, "/")
		m[first] = true
	}
	return m
}()

// methodOf is the method of a name, in a version.
func methodOf(name, version string) *method {
	for i := range methods {
		m := &methods[i]
		if version == modern && m.name == name || version == legacy && m.old == name && name != "" || m.ours && m.name == name {
			return m
		}
	}
	return nil
}

// route returns the method of a path, with what the path names. wrong says that it is there for
// other verbs.
func route(verb, path string) (found *method, vars map[string]string, wrong bool) {
	for i := range methods {
		m := &methods[i]
		vars, ok := match(m.path, path)
		switch {
		case !ok:
		case m.verb == verb || verb == http.MethodHead && m.verb == http.MethodGet:
			return m, vars, false
		default:
			wrong = true
		}
	}
	return nil, nil, wrong
}

// match holds a path against a pattern whose segments are texts, {name}, or {name}:verb.
func match(pattern, path string) (vars map[string]string, ok bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	for i, w := range want {
		name, isVar := strings.CutPrefix(w, "{")
		if !isVar {
			if w != got[i] {
				return nil, false
			}
			continue
		}
		name, verb, _ := strings.Cut(name, "}")
		value, ok := strings.CutSuffix(got[i], verb)
		if !ok || value == "" || strings.Contains(value, ":") {
			return nil, false
		}
		if vars == nil {
			vars = make(map[string]string)
		}
		vars[name] = value
	}
	return vars, true
}
