package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveFiles is an MCP server over standard input and output that reads files. How it
// describes that stands in the file that its argument names.
func serveFiles() {
	about, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "files-server:", err, os.Getenv("KEY"))
		os.Exit(1)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "files-server", Version: "1"}, nil)
	type file struct {
		Path string `json:"path"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "read_file", Description: string(about)}, func(_ context.Context, _ *mcp.CallToolRequest, in file) (*mcp.CallToolResult, any, error) {
		raw, err := os.ReadFile(in.Path)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(raw)}}}, nil, err
	})
	type none struct{}
	mcp.AddTool(s, &mcp.Tool{Name: "status"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: os.Getenv("KEY")}}}, nil, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// serveDocs is an MCP server over standard input and output that has resources and a prompt,
// and no tools.
func serveDocs() {
	s := mcp.NewServer(&mcp.Implementation{Name: "docs-server", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				return nil, errors.New("there is no such method")
			}
			return next(ctx, method, req)
		}
	})
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: "words of " + req.Params.URI}}}, nil
	}
	for _, uri := range []string{"docs://guide", "docs://a/b", "file:///etc/notes", "memo:insights"} {
		s.AddResource(&mcp.Resource{URI: uri, Name: uri}, read)
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "issue://{number}", Name: "issues"}, read)
	s.AddPrompt(&mcp.Prompt{Name: "summary"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}
