package cli_test

import (
	"context"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveFiles is an MCP server over standard input and output that reads files. How it
// describes that stands in the file that its argument names.
func serveFiles() {
	about, err := os.ReadFile(os.Args[1])
	if err != nil {
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
