package mcp

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/tools"
	"usher/tools/fault"
)

// desk answers messages, by whatever way they come.
type desk struct {
	info   *sdk.Implementation
	logger *slog.Logger
}

func newDesk(name string, o *Options) (*desk, error) {
	d := &desk{info: &sdk.Implementation{Name: name, Title: name, Version: "1"}, logger: slog.New(slog.DiscardHandler)}
	if o != nil && o.Logger != nil {
		d.logger = o.Logger
	}
	return d, nil
}

// server is one for a single caller: what an SDK's server has, its sessions and their
// subscriptions, is shared with nobody.
func (d *desk) server(r *http.Request) *sdk.Server {
	c, ok := r.Context().Value(callerKey{}).(*caller)
	if !ok {
		return nil
	}
	if c.server == nil {
		c.server = d.newServer(nil)
		if c.modern && r.Header.Get("Mcp-Method") == "tools/call" {
			d.declareMirrored(c, r.Header.Get("Mcp-Name"))
		}
	}
	return c.server
}

// newServer returns a server whose messages come from over, or where that is nil, from whom
// the request of each names.
func (d *desk) newServer(over *caller) *sdk.Server {
	s := sdk.NewServer(d.info, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = private },
	})
	s.AddReceivingMiddleware(d.receive(over))
	return s
}

// private keeps what one caller may see out of caches that others share.
const private = "private"

// receive answers messages. What the SDK is left to answer is the protocol's own.
func (d *desk) receive(over *caller) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
			defer d.recovered(ctx, method, &res, &err)
			known := over
			if over == nil {
				if known = callerOf(req); known == nil {
					return nil, failure(errNobody)
				}
			}
			c := *known // that sends this message
			c.session, _ = req.GetSession().(*sdk.ServerSession)
			if over != nil {
				c.request, c.modern = ctx, isModern(req)
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

// recovered makes an error of a panic, which would end the process: the SDK runs handlers
// in goroutines of its own.
func (d *desk) recovered(ctx context.Context, method string, res *sdk.Result, err *error) {
	if v := recover(); v != nil {
		d.logger.ErrorContext(ctx, "a message failed inside", "method", method, "panic", v, "stack", string(debug.Stack()))
		*res, *err = nil, failure(errFault)
	}
}

var errFault = fault.New(fault.Panic, "the venue failed inside: this is a fault of the venue, not of the request")

func (d *desk) answer(ctx context.Context, c *caller, method string, req sdk.Request, next sdk.MethodHandler) (sdk.Result, error) {
	switch params := req.GetParams().(type) {
	case *sdk.InitializeParams:
		if c.slot == nil {
			break // over pipes there is one session
		}
		if err := c.slot.take(c.session); err != nil {
			return nil, failure(err)
		}
	case *sdk.ListToolsParams:
		return d.listTools(ctx, c, params)
	case *sdk.CallToolParamsRaw:
		return d.callTool(ctx, c, params)
	}
	return next(ctx, method, req)
}

var errNobody = fault.New(fault.Unauthenticated, "nobody knows who sends this message")

// codeRefused is that of errors that the protocol has no code for: one of those that it
// leaves to servers.
const codeRefused = -32001

// failure is an error as a message of the protocol: its data is what a program is told of
// it.
func failure(err error) error {
	code := int64(codeRefused)
	switch fault.Of(err) {
	case fault.InvalidInput, fault.NotFound:
		code = jsonrpc.CodeInvalidParams
	case fault.Panic, fault.Failed:
		code = jsonrpc.CodeInternalError
	}
	return &jsonrpc.Error{Code: code, Message: err.Error(), Data: tools.Explain(err)}
}
