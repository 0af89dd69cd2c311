package venue

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"usher/tools"
	"usher/tools/mcp"
	"usher/ucan"
	"usher/venue/store"
)

// newServers returns the MCP servers of owner, whose configuration it is: none at first.
func (v *Venue) newServers(owner ucan.DID, o *Options) *mcp.Servers {
	options := mcp.Options{
		Owner: owner, Keeper: pins{v.store.Under("mcp/" + owner.String() + "/")}, Version: version(), CallTime: o.Limits.ToolTimeout, Logger: v.log, Now: v.now,
		Secret: func(ctx context.Context, name string) (string, error) {
			value, err := v.secrets.Get(ctx, owner, name)
			return string(value), err
		},
	}
	options.Import = func(ops []*tools.Operation) ([]*tools.Operation, error) {
		return v.registry.Import(owner, v.servers, ops...)
	}
	return mcp.New(options)
}

// version is what servers are told of this program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

// pins keeps the records of MCP servers, a key each.
type pins struct{ space *store.Space }

var _ mcp.Keeper = pins{}

// Load returns the record of a server.
func (p pins) Load(ctx context.Context, server string) (r mcp.Record, err error) {
	raw, rev, err := p.space.Get(ctx, server)
	if err != nil || rev == 0 {
		return r, err
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("read what is kept of its tools: %w", err)
	}
	return r, nil
}

// Save keeps the record.
func (p pins) Save(ctx context.Context, server string, r mcp.Record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = p.space.Apply(ctx, nil, map[string][]byte{server: raw}, nil)
	return err
}
