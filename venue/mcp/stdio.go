package mcp

import (
	"context"
	"errors"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/venue"
)

// Stdio serves one client, who is p, by lines of in and out, until in ends or ctx does.
func Stdio(ctx context.Context, p *venue.Principal, name string, in io.ReadCloser, out io.WriteCloser, o *Options) error {
	d, err := newDesk(name, o)
	if err != nil {
		return err
	}
	err = d.newServer(&caller{Principal: p}).Run(ctx, &sdk.IOTransport{Reader: in, Writer: out})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}
