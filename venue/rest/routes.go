package rest

import (
	"net/http"

	"usher/venue"
	"usher/venue/face"
)

// route is one thing that the face does.
type route struct {
	method, path string
	summary      string
	op           string   // the operation that it is; empty for one of its own
	query        []string // fields of the operation's input that come in the query; the path's are not listed, and the others are the body's
	status       int      // of success; 0 is 200
	own          func(f *Face, p *venue.Principal, w http.ResponseWriter, r *http.Request) error
	open         bool   // anybody may see it: p of own is nil
	in, out      string // JSON Schemas of one of its own; empty is nothing, or anything
	media        string // what it answers with; empty is application/json
	also         []also // answers beside that of status
}

// also is another answer of a route than the usual one.
type also struct {
	status int
	what   string
	schema string // empty has no body
}

const (
	callFields = `"operation":{"type":"string","description":"what to call, for example covia:read"},
	"input":{"type":["object","null"],"description":"its input"},
	"ucans":{"type":["array","null"],"items":{"type":"string"},"description":"tokens that delegate something to you"}`
	decideSchema = `{"type":"object","required":["operation"],"additionalProperties":false,"properties":{` + callFields + `}}`
	callSchema   = `{"type":"object","required":["operation"],"additionalProperties":false,"properties":{` + callFields + `,
	"wait":{"type":["boolean","number","null"],"minimum":0,"maximum":120,"description":"true: end with the call. Seconds: how long to wait for its end, up to 120. Left out: begin a job"}}}`
	doneSchema = `{"type":"object","required":["status"],"properties":{"status":{"type":"string"},"output":true,"id":{"type":"string"},"op":{"type":"string"},
	"created":{"type":"integer"},"updated":{"type":"integer"},"error":{"type":"string"},"errorCode":{"type":"string"},"steps":true}}`
	begunSchema = `{"type":"object","required":["id","status","created","updated","location"],"properties":{"id":{"type":"string"},"op":{"type":"string"},
	"status":{"type":"string"},"created":{"type":"integer"},"updated":{"type":"integer"},"output":true,"error":{"type":"string"},"errorCode":{"type":"string"},"steps":true,
	"location":{"type":"string","description":"where the job is looked at"},
	"denial":{"type":"object","description":"of a job that is REJECTED: what was denied, and what it would have needed"}}}`
	rulingSchema = `{"type":"object","required":["decision","operation"],"properties":{"decision":{"enum":["allow","ask","deny"]},"operation":{"type":"string"},
	"requirements":{"type":"array","items":{"type":"object","required":["ability","resource"]}},"message":{"type":"string"},"denial":{"type":"object"}}}`
	operationSchema  = `{"type":"object","required":["operation","name","description","needs"],"properties":{"operation":{"type":"string"},"name":{"type":"string"},"description":{"type":"string"},"needs":{"type":"array"}}}`
	operationsSchema = `{"type":"object","required":["operations"],"properties":{"operations":{"type":"array","items":` + operationSchema + `}}}`
	meSchema         = `{"type":"object","required":["did","venue","caps"],"properties":{"did":{"type":"string"},"venue":{"type":"string"},"caps":{"type":["array","null"],"items":{"type":"object","required":["with","can"]},"description":"what you may do in your own namespace; null is everything"}}}`
	statusSchema     = `{"type":"object","required":["status","name","did"],"properties":{"status":{"type":"string"},"name":{"type":"string"},"did":{"type":"string"}}}`
	messageSchema    = `{"type":"object","required":["message"],"additionalProperties":false,"properties":{"message":{"description":"what to say"}}}`
	toldSchema       = `{"type":"object"}`
	pageSchema       = `{"type":"object","properties":{"limit":{"type":"integer","minimum":1,"maximum":1000},"cursor":{"type":"string"}}}`
	sessionsSchema   = `{"type":"object","required":["sessions"],"properties":{"sessions":{"type":"array","items":{"type":"object","required":["sessionId","began","last","turns"]}},"cursor":{"type":"string"}}}`
	entriesSchema    = `{"type":"object","required":["entries"],"properties":{"entries":{"type":"array","items":{"type":"object","required":["seq","time","type"]}},"cursor":{"type":"string"}}}`
)

// routes are all that there are.
var routes = []route{
	{method: "POST", path: "/invoke", summary: "Run an operation, now or as a job.", query: []string{"wait"}, own: (*Face).invoke, in: callSchema, out: doneSchema, also: []also{{http.StatusCreated, "The job that goes on, or was denied.", begunSchema}}},
	{method: "POST", path: "/decide", summary: "Ask what a call would come to, without making it.", own: (*Face).decide, in: decideSchema, out: rulingSchema},
	{method: "GET", path: "/operations", summary: "List the operations that you could call.", own: (*Face).operations, out: operationsSchema},
	{method: "GET", path: "/operations/{reference...}", summary: "Describe an operation.", own: (*Face).operation, out: operationSchema},
	{method: "GET", path: "/me", summary: "Say who you are here and what you may do.", own: (*Face).me, out: meSchema},
	{method: "GET", path: "/status", summary: "Say which venue this is.", open: true, own: (*Face).status, out: statusSchema},

	{method: "GET", path: "/openapi.json", summary: "Describe all this, as OpenAPI 3.1.", open: true, own: (*Face).sendDocument, out: toldSchema},
	{method: "GET", path: "/docs", summary: "Show all this to people, as one page.", open: true, own: (*Face).sendPage, media: "text/html"},

	{method: "GET", path: "/jobs", op: "grid:jobList", query: []string{"limit", "cursor"}},
	{method: "GET", path: "/jobs/{id}", op: "grid:jobStatus"},
	{method: "GET", path: "/jobs/{id}/result", op: "grid:jobResult", query: []string{"timeout"}},
	{method: "GET", path: "/jobs/{id}/sse", summary: "Follow the events of a job, after that of Last-Event-ID.", own: (*Face).events, media: "text/event-stream", also: []also{{http.StatusNoContent, "Nothing follows Last-Event-ID.", ""}}},
	{method: "POST", path: "/jobs/{id}", summary: "Leave a message for the agent whose turn or task a job is, in the session of that.", status: http.StatusAccepted, own: (*Face).tell, in: messageSchema, out: toldSchema},
	{method: "PUT", path: "/jobs/{id}/cancel", op: "grid:jobCancel"},
	{method: "PUT", path: "/jobs/{id}/pause", op: "grid:jobPause"},
	{method: "PUT", path: "/jobs/{id}/resume", op: "grid:jobResume"},
	{method: "POST", path: "/jobs/{id}/outcome", op: "grid:jobOutcome"},

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
	{method: "POST", path: "/agents/{agentId}/adopt", op: "agent:adopt"},
	{method: "GET", path: "/agents/{agentId}/context", op: "agent:context"},
	{method: "DELETE", path: "/agents/{agentId}/tasks/{taskId}", op: "agent:cancelTask"},
	{method: "GET", path: "/agents/{agentId}/sessions", summary: "List the sessions of an agent of yours, a page at a time, the last by their ids first.", query: []string{"limit", "cursor"}, own: (*Face).sessions, in: pageSchema, out: sessionsSchema},
	{method: "GET", path: "/agents/{agentId}/sessions/{sessionId}", summary: "List what happened in a session of an agent of yours, a page at a time, the oldest first.", query: []string{"limit", "cursor"}, own: (*Face).session, in: pageSchema, out: entriesSchema},

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
	{method: "GET", path: "/delegations/{cid}", op: "ucan:export"},
	{method: "POST", path: "/delegations/verify", op: "ucan:verify"},
	{method: "POST", path: "/delegations/import", op: "ucan:import"},
	{method: "POST", path: "/delegations/revoke", op: "ucan:revoke"},
	{method: "GET", path: "/revocations", op: "ucan:revocations", query: []string{"after", "limit"}},

	{method: "GET", path: "/ledger", op: "audit:list", query: []string{"agent", "denied", "limit", "cursor"}},
	{method: "GET", path: "/ledger/checkpoint", op: "audit:checkpoint"},
	{method: "GET", path: "/ledger/{row}/proof", op: "audit:prove"},
}

func (rt *route) serve(f *Face, w http.ResponseWriter, r *http.Request) error {
	if rt.open && !face.HasBearer(r) {
		return rt.own(f, nil, w, r)
	}
	p, err := f.door.Person(r)
	switch {
	case err != nil:
		return err
	case face.IsKeyed(r):
		return f.once(rt, p, w, r)
	}
	return rt.answer(f, p, w, r)
}

// answer answers a request of a principal.
func (rt *route) answer(f *Face, p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	if rt.own != nil {
		return rt.own(f, p, w, r)
	}
	return f.operate(rt, p, w, r)
}
