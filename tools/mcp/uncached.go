package mcp

import (
	"context"
	"strconv"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// pageKey is the key of a context that has the page of a listing which is asked for.
type pageKey struct{}

// bypassCache keeps the protocol's library from answering by what a server said before, and from
// holding it as long as the connection stands: of each resource that was read, and of each
// page under whatever name the server gives to it. A server says itself how long that would
// count, and whoever reads would fill the memory. What the library goes by in a call, the
// tools as they were listed last, it has.
func bypassCache(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		switch res := res.(type) {
		case *sdk.ReadResourceResult:
			res.TTLMs = 0
			if p, ok := req.GetParams().(*sdk.ReadResourceParams); ok {
				p.URI = "" // under which it is held, with nothing beside it
			}
		case *sdk.ListToolsResult:
			res.TTLMs = 0
			if p, ok := req.GetParams().(*sdk.ListToolsParams); ok {
				page, _ := ctx.Value(pageKey{}).(int)
				p.Cursor = strconv.Itoa(page)
			}
		}
		return res, err
	}
}
