package mcp

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/tools"
	"usher/tools/fault"
)

// desk answers messages, by whatever way they come.
type desk struct {
	info      *sdk.Implementation
	logger    *slog.Logger
	seals     seals
	prompts   []Prompt
	resources []Resource
	work      map[string]Work
	only      string // below which operations are offered; empty is all
	listeners listeners
}

func newDesk(name string, o *Options) (*desk, error) {
	sealing, err := newSeals()
	if err != nil {
		return nil, err
	}
	d := &desk{
		info: &sdk.Implementation{Name: name, Title: name, Version: "1"}, logger: slog.New(slog.DiscardHandler),
		seals: sealing, work: maps.Clone(long), resources: []Resource{values},
	}
	if o == nil {
		o = new(Options)
	}
	if o.Logger != nil {
		d.logger = o.Logger
	}
	maps.Copy(d.work, o.Work)
	d.only = o.Below
	d.prompts, d.resources = o.Prompts, append(d.resources, o.Resources...)
	for i := range d.resources {
		if err := d.resources[i].compile(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// callerServer is the SDK's server of one caller: what it has, its sessions and their
// subscriptions, is shared with nobody.
type callerServer struct {
	*sdk.Server

	mu      sync.Mutex
	watched map[string]bool // addresses of resources
}

// watch notes a resource that the caller wants to hear of.
func (s *callerServer) watch(uri string, on bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !on {
		delete(s.watched, uri)
		return nil
	}
	if len(s.watched) >= maxWatched {
		return fault.New(fault.LimitReached, "too many resources are subscribed to: unsubscribe from some")
	}
	s.watched[uri] = true
	return nil
}

// maxWatched is how many resources a caller hears of in a session.
const maxWatched = 64

// server is that of the caller who makes a request.
func (d *desk) server(r *http.Request) *sdk.Server {
	c, ok := r.Context().Value(callerKey{}).(*caller)
	if !ok {
		return nil
	}
	if c.server == nil {
		c.server = d.newServer(nil)
		if c.modern && r.Header.Get("Mcp-Method") == "tools/call" {
			d.declareMirror(c, r.Header.Get("Mcp-Name"))
		}
	}
	return c.server.Server
}

// newServer returns a server whose messages come from over, or where that is nil, from whom
// the request of each names.
func (d *desk) newServer(over *caller) *callerServer {
	s := &callerServer{watched: make(map[string]bool)}
	capabilities := &sdk.ServerCapabilities{
		Tools: &sdk.ToolCapabilities{ListChanged: true}, Prompts: &sdk.PromptCapabilities{ListChanged: true},
		Resources: &sdk.ResourceCapabilities{Subscribe: true}, Completions: &sdk.CompletionCapabilities{},
		Logging: &sdk.LoggingCapabilities{}, //nolint:staticcheck // versions before 2026-07-28 have nothing else
	}
	capabilities.AddExtension(tasksExtension, nil)
	s.Server = sdk.NewServer(d.info, &sdk.ServerOptions{
		Capabilities: capabilities,
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = private },
		SubscribeHandler: func(ctx context.Context, req *sdk.SubscribeRequest) error {
			if err := s.watch(req.Params.URI, true); err != nil {
				return failure(err)
			}
			return nil
		},
		UnsubscribeHandler: func(_ context.Context, req *sdk.UnsubscribeRequest) error { return s.watch(req.Params.URI, false) },
		CompletionHandler: func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return nil, failure(errFault) // see answer
		},
	})
	if err := addTasks(s.Server); err != nil { // the methods are none of the SDK's
		d.logger.Error("tasks of MCP are not served", "error", err)
	}
	s.AddReceivingMiddleware(d.receive(over, s))
	return s
}

// private keeps what one caller may see out of caches that others share.
const private = "private"

// receive answers messages. What the SDK is left to answer is the protocol's own.
func (d *desk) receive(over *caller, s *callerServer) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
			defer d.recoverPanic(ctx, method, &res, &err)
			known := over
			if over == nil {
				if known = callerOf(req); known == nil {
					return nil, failure(errNobody)
				}
			}
			c := *known // that sends this message
			c.server, c.modern = s, isModern(req)
			c.session, _ = req.GetSession().(*sdk.ServerSession)
			if r, ok := req.(interface {
				ClientCapabilities() *sdk.ClientCapabilities
			}); ok {
				c.client = r.ClientCapabilities()
			}
			if over != nil {
				c.request = ctx
			}
			return d.answer(ctx, &c, method, req, next)
		}
	}
}

// isModern reports whether a message says itself all that a session would have said
// before.
func isModern(req sdk.Request) bool {
	r, ok := req.(interface{ ProtocolVersion() string })
	return ok && r.ProtocolVersion() >= modern
}

// recoverPanic makes an error of a panic, which would end the process: the SDK runs handlers
// in goroutines of its own.
func (d *desk) recoverPanic(ctx context.Context, method string, res *sdk.Result, err *error) {
	if v := recover(); v != nil {
		d.logger.ErrorContext(ctx, "a message failed inside", "method", method, "panic", v, "stack", string(debug.Stack()))
		*res, *err = nil, failure(errFault)
	}
}

var errFault = fault.New(fault.Panic, "the venue failed inside: this is a fault of the venue, not of the request")

// answer answers a message. An error of the venue's is one of the protocol then.
func (d *desk) answer(ctx context.Context, c *caller, method string, req sdk.Request, next sdk.MethodHandler) (sdk.Result, error) {
	res, err := d.own(ctx, c, method, req)
	switch {
	case err != nil:
		return nil, failure(err)
	case res != nil:
		return res, nil
	}
	if _, subscribes := req.GetParams().(*sdk.SubscribeParams); subscribes {
		defer d.listeners.wake(c.DID())
	}
	return next(ctx, method, req)
}

// own answers a message that is not left to the SDK; of one that is there is no result.
func (d *desk) own(ctx context.Context, c *caller, method string, req sdk.Request) (sdk.Result, error) {
	switch params := req.GetParams().(type) {
	case *sdk.InitializeParams:
		if c.slot == nil {
			break // over pipes there is one session
		}
		return nil, c.slot.take(c.session, c.server)
	case *sdk.ListToolsParams:
		return d.listTools(ctx, c, params)
	case *sdk.CallToolParamsRaw:
		defer d.listeners.wake(c.DID())
		return d.callTool(ctx, c, params)
	case *sdk.ListPromptsParams:
		return d.listPrompts(ctx, c, params)
	case *sdk.GetPromptParams:
		return d.getPrompt(ctx, c, params)
	case *sdk.ListResourcesParams:
		return d.listResources(ctx, c, params)
	case *sdk.ListResourceTemplatesParams:
		return d.listTemplates(params)
	case *sdk.ReadResourceParams:
		return d.readResource(ctx, c, params)
	case *sdk.CompleteParams:
		return d.complete(ctx, c, params)
	case *sdk.SubscriptionsListenParams:
		return nil, d.hear(ctx, c, params)
	case *sdk.SubscribeParams:
		return nil, d.mayRead(ctx, c, params.URI)
	case *taskParams:
		var named []string
		if extra := req.GetExtra(); extra != nil {
			named = extra.Header.Values("Mcp-Name")
		}
		return d.task(ctx, c, method, params, named)
	}
	return nil, nil
}

var errNobody = fault.New(fault.Unauthenticated, "nobody knows who sends this message")

// codeRefused is that of errors that the protocol has no code for: one of those that it
// leaves to servers.
const codeRefused = -32001

// failure is an error as a message of the protocol: its data is what a program is told of
// it.
func failure(err error) error {
	if protocol(err) {
		return err
	}
	code := int64(codeRefused)
	switch fault.Of(err) {
	case fault.InvalidInput, fault.NotFound:
		code = jsonrpc.CodeInvalidParams
	case fault.Panic, fault.Failed:
		code = jsonrpc.CodeInternalError
	}
	return &jsonrpc.Error{Code: code, Message: err.Error(), Data: tools.Explain(err)}
}
