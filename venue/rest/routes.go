package rest

import "net/http"

// route is one thing that the face does.
type route struct {
	method, path string
	summary      string
	op           string   // the operation that it is; empty for one of its own
	query        []string // fields of the operation's input that come in the query; the path's are not listed, and the others are the body's
	status       int      // of success; 0 is 200
	own          func(f *Face, w http.ResponseWriter, r *http.Request) error
	in, out      string // JSON Schemas of one of its own; empty is nothing, or anything
	stream       bool   // it answers with server-sent events
}

const callSchema = `{"type":"object","required":["operation"],"properties":{
	"operation":{"type":"string","description":"what to call, for example covia:read"},
	"input":{"type":"object","description":"its input"},
	"ucans":{"type":"array","items":{"type":"string"},"description":"tokens that delegate something to you"},
	"wait":{"type":["boolean","number"],"description":"true: end with the call. Seconds: how long to wait for its end, up to 120. Left out: begin a job"}}}`

// routes are all that there are.
var routes = []route{
	{method: "POST", path: "/invoke", summary: "Run an operation, now or as a job.", own: (*Face).invoke, in: callSchema},
	{method: "POST", path: "/decide", summary: "Ask what a call would come to, without making it.", own: (*Face).decide, in: callSchema},
	{method: "GET", path: "/operations", summary: "List the operations that you could call.", own: (*Face).operations},
	{method: "GET", path: "/operations/{reference...}", summary: "Describe an operation.", own: (*Face).operation},
	{method: "GET", path: "/me", summary: "Say who you are here and what you may do.", own: (*Face).me},
	{method: "GET", path: "/status", summary: "Say which venue this is.", own: (*Face).status},

	{method: "GET", path: "/openapi.json", summary: "Describe all this, as OpenAPI 3.1.", own: (*Face).described},

	{method: "GET", path: "/jobs", op: "grid:jobList", query: []string{"limit", "cursor"}},
	{method: "GET", path: "/jobs/{id}", op: "grid:jobStatus"},
	{method: "GET", path: "/jobs/{id}/result", op: "grid:jobResult", query: []string{"timeout"}},
	{method: "GET", path: "/jobs/{id}/sse", summary: "Follow the events of a job, after that of Last-Event-ID.", own: (*Face).events, stream: true},
	{method: "PUT", path: "/jobs/{id}/cancel", op: "grid:jobCancel"},
	{method: "PUT", path: "/jobs/{id}/pause", op: "grid:jobPause"},
	{method: "PUT", path: "/jobs/{id}/resume", op: "grid:jobResume"},

	{method: "GET", path: "/agents", op: "agent:list", query: []string{"limit", "cursor", "includeTerminated"}},
	{method: "POST", path: "/agents", op: "agent:create", status: http.StatusCreated},
	{method: "GET", path: "/agents/{agentId}", op: "agent:info"},
	{method: "PATCH", path: "/agents/{agentId}", op: "agent:update"},
	{method: "DELETE", path: "/agents/{agentId}", op: "agent:delete", query: []string{"remove"}},
	{method: "POST", path: "/agents/{sourceId}/fork", op: "agent:fork", status: http.StatusCreated},
	{method: "POST", path: "/agents/{agentId}/chat", op: "agent:chat"},
	{method: "POST", path: "/agents/{agentId}/request", op: "agent:request"},
	{method: "POST", path: "/agents/{agentId}/message", op: "agent:message"},
	{method: "POST", path: "/agents/{agentId}/trigger", op: "agent:trigger"},
	{method: "POST", path: "/agents/{agentId}/suspend", op: "agent:suspend"},
	{method: "POST", path: "/agents/{agentId}/resume", op: "agent:resume"},

	{method: "GET", path: "/approvals", op: "approval:list", query: []string{"all", "limit", "cursor"}},
	{method: "GET", path: "/approvals/{id}", op: "approval:show"},
	{method: "POST", path: "/approvals/{id}/approve", op: "approval:approve"},
	{method: "POST", path: "/approvals/{id}/deny", op: "approval:deny"},

	{method: "GET", path: "/schedules", op: "scheduler:list", query: []string{"limit", "cursor"}},
	{method: "POST", path: "/schedules", op: "scheduler:schedule", status: http.StatusCreated},
	{method: "DELETE", path: "/schedules/{handle}", op: "scheduler:cancel"},
	{method: "POST", path: "/schedules/{handle}/trigger", op: "scheduler:trigger"},

	{method: "GET", path: "/secrets", op: "secret:list"},
	{method: "PUT", path: "/secrets/{name}", op: "secret:set"},
	{method: "DELETE", path: "/secrets/{name}", op: "secret:delete"},

	{method: "GET", path: "/tokens", op: "token:list"},
	{method: "POST", path: "/tokens", op: "token:create", status: http.StatusCreated},
	{method: "DELETE", path: "/tokens/{name}", op: "token:revoke"},

	{method: "GET", path: "/values", op: "covia:read", query: []string{"path", "maxSize"}},
	{method: "PUT", path: "/values", op: "covia:write", query: []string{"path"}},
	{method: "DELETE", path: "/values", op: "covia:delete", query: []string{"path"}},

	{method: "GET", path: "/delegations", op: "ucan:list"},
	{method: "POST", path: "/delegations", op: "ucan:issue", status: http.StatusCreated},
	{method: "POST", path: "/delegations/import", op: "ucan:import"},
	{method: "POST", path: "/delegations/revoke", op: "ucan:revoke"},
}

func (rt *route) serve(f *Face, w http.ResponseWriter, r *http.Request) error {
	if rt.own != nil {
		return rt.own(f, w, r)
	}
	return f.operate(rt, w, r)
}
