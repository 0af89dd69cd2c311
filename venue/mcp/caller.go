package mcp

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/venue"
)

// caller is who makes one request, or sends one message: a program that speaks for person.
type caller struct {
	*venue.Principal
	person  *venue.Principal // whose word a form is that comes back
	request context.Context  // ends when the client has gone
	modern  bool             // the request stands alone
	slot    *slot            // that a session takes which the request begins; nil for others
	server  *callerServer
	session *sdk.ServerSession // of the message
	client  *sdk.ClientCapabilities
}

type callerKey struct{}

// callerField is where the SDK carries a caller from the request of HTTP to the message.
const callerField = "caller"

// tokenInfo hands the caller of a request on, whom the door has let in.
func tokenInfo(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	c, ok := ctx.Value(callerKey{}).(*caller)
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: c.DID().String(), Extra: map[string]any{callerField: c}}, nil
}

// callerOf is who sends a message: who made the request that it came in.
func callerOf(req sdk.Request) *caller {
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	c, _ := extra.TokenInfo.Extra[callerField].(*caller)
	return c
}

// present returns a context that ends, too, when the client has gone. What it began and
// does not wait for goes on.
func (c *caller) present(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.request, cancel)
	return ctx, func() { stop(); cancel() }
}
