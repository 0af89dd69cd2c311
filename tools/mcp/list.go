package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps/value"
)

// Bounds of what a server says of itself.
const (
	maxTools        = 2000
	maxPages        = 200
	maxTool         = 256 << 10 // bytes of one tool's description and schemas
	maxListing      = 16 << 20  // bytes of all
	maxInstructions = 16 << 10
	maxError        = 4 << 10
)

// list asks the server for its tools, and tells what it says.
func (l *link) list(ctx context.Context, live *session) error {
	out := new(listing)
	if about := live.InitializeResult(); about != nil {
		out.instructions = value.Cut(live.hide(about.Instructions), maxInstructions)
		if about.ServerInfo != nil {
			out.name, out.version = value.Cut(live.hide(about.ServerInfo.Name), 200), value.Cut(live.hide(about.ServerInfo.Version), 200)
		}
	}
	params, size := new(sdk.ListToolsParams), 0
	for page := 0; ; page++ {
		if page == maxPages {
			return fmt.Errorf("it lists its tools on more than %d pages", maxPages)
		}
		res, err := live.ListTools(context.WithValue(ctx, pageKey{}, page), params)
		if signIn, ok := errors.AsType[*signInError](err); ok {
			return signIn
		}
		if about := live.InitializeResult(); err != nil && about != nil && about.Capabilities != nil && about.Capabilities.Tools == nil {
			break // it has other things than tools, and says so
		}
		if err != nil {
			return fmt.Errorf("list its tools: %w", l.safeError(live.hide, err))
		}
		for _, t := range res.Tools {
			if t == nil {
				continue
			}
			tool, err := describe(t, live.hide)
			if err != nil {
				return fmt.Errorf("list its tools: %w", err)
			}
			size += len(tool.Description) + len(tool.Input) + len(tool.Output)
			if out.tools = append(out.tools, tool); len(out.tools) > maxTools || size > maxListing {
				return fmt.Errorf("it lists too much: at most %d tools of %d MiB together", maxTools, maxListing>>20)
			}
		}
		if res.NextCursor == "" {
			break
		}
		params.Cursor = res.NextCursor
	}
	if err := l.told(ctx, out); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	live.listed = l.opts.Now()
	return nil
}

var errHiding = errors.New("a schema of its tools is none without the secrets that it was given")

// describe returns a tool as it is kept: without the secrets that the server was given.
func describe(t *sdk.Tool, hide func(string) string) (out Tool, err error) {
	out = Tool{Name: value.Cut(t.Name, 200), Title: value.Cut(hide(t.Title), 1000), Description: hide(t.Description)}
	encode := func(v any) json.RawMessage {
		raw, failed := value.Encode(v)
		text := hide(string(raw))
		if failed == nil && !json.Valid([]byte(text)) {
			failed = errHiding
		}
		err = errors.Join(err, failed)
		return json.RawMessage(text)
	}
	if t.InputSchema != nil {
		out.Input = encode(t.InputSchema)
	}
	if t.OutputSchema != nil {
		out.Output = encode(t.OutputSchema)
	}
	if t.Annotations != nil {
		out.Hints = encode(t.Annotations)
	}
	if size := len(out.Description) + len(out.Input) + len(out.Output) + len(out.Hints); size > maxTool {
		return out, fmt.Errorf("tool %s is described by %d bytes, at most %d", value.Quote(out.Name), size, maxTool)
	}
	return out, err
}
