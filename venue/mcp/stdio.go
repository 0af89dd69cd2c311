package mcp

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/venue"
)

// Stdio serves one client, who is p, by lines of in and out, until in ends or ctx does.
func Stdio(ctx context.Context, p *venue.Principal, name string, in io.ReadCloser, out io.WriteCloser, o *Options) error {
	d, err := newDesk(name, o)
	if err != nil {
		return err
	}
	err = d.newServer(&caller{Principal: p.AsRelay(), person: p}).Run(ctx, &pipes{sdk.IOTransport{Reader: in, Writer: out}})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil //nolint:nilerr // the client has said all, or is told to stop
	}
	return err
}

// lastTime is how long what was asked may take once the client has said all.
const lastTime = 10 * time.Second

// pipes are a transport that ends when what was asked is answered, not when all is said.
type pipes struct{ over sdk.IOTransport }

// Connect is that of [sdk.Transport].
func (p *pipes) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := p.over.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &pipe{Connection: conn}
	c.none.L = &c.mu
	return c, nil
}

type pipe struct {
	sdk.Connection

	mu    sync.Mutex
	none  sync.Cond // asked is 0, or waiting is over
	asked int       // requests without an answer
	over  bool
}

// Read returns the next message. The end comes after the answers.
func (c *pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		c.asked++
		c.mu.Unlock()
	}
	if errors.Is(err, io.EOF) {
		c.last(ctx)
	}
	return msg, err
}

// last waits for the answers to what was asked, a while.
func (c *pipe) last(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastTime)
	defer cancel()
	stop := context.AfterFunc(ctx, c.end)
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.asked > 0 && !c.over {
		c.none.Wait()
	}
}

func (c *pipe) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.none.Broadcast()
}

// Write sends a message.
func (c *pipe) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	if _, ok := msg.(*jsonrpc.Response); ok {
		c.mu.Lock()
		c.asked--
		c.none.Broadcast()
		c.mu.Unlock()
	}
	return err
}

// Close ends the connection.
func (c *pipe) Close() error {
	c.end()
	return c.Connection.Close()
}
