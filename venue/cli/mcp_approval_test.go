package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/venue/cli"
)

// A turn that a person allows something in the client of usher mcp serve goes on there.
func TestApprovalOverStandardStreams(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "usher.yaml")
	const config = "models: {default: {provider: offline}}\nagents: [{id: clerk, tools: [covia:write], caps: [{with: w/notes/, can: crud, ask: true}]}]\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	in, says := io.Pipe()
	hears, out := io.Pipe()
	said := new(bytes.Buffer)
	ended := make(chan int, 1)
	go func() {
		ended <- (&cli.Program{Stdin: in, Stdout: out, Stderr: said}).Run(t.Context(), []string{"mcp", "serve", "-c", file})
		_ = out.Close()
	}()
	asked := 0
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: hears, Writer: says}, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "ask_clerk", Arguments: map[string]any{"message": "write w/notes/a hello"}})
	if err != nil || res.IsError || asked != 1 {
		t.Errorf("the turn ends with %v, %v, after %d questions", res, err, asked)
	}
	found, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "covia_read", Arguments: map[string]any{"path": "w/notes/a"}})
	if err != nil || len(found.Content) == 0 || !strings.Contains(found.Content[0].(*mcp.TextContent).Text, "hello") {
		t.Errorf("what was allowed is not written: %v, %v", found, err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if status := <-ended; status != cli.ExitOK {
		t.Errorf("exit status %d: %s", status, said)
	}
}
