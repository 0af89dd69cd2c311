package venue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"usher/tools"
	"usher/tools/mcp"
	"usher/tools/secrets"
	"usher/ucan"
	"usher/venue/keys"
	"usher/venue/store"
)

// newServers returns the MCP servers of owner, whose configuration it is: none at first.
func (v *Venue) newServers(owner ucan.DID, o *Options) *mcp.Servers {
	options := mcp.Options{
		Owner: owner, Keeper: pins{v.store.Under("mcp/" + owner.String() + "/")}, Vault: logins{v.keys.Secrets(v.store.Under("mcp-login/"), v.now), owner}, Version: version(), CallTime: o.Limits.ToolTimeout, Logger: v.log, Now: v.now,
		Secret: func(ctx context.Context, name string) (string, error) {
			value, err := v.secrets.Get(ctx, owner, name)
			return string(value), err
		},
	}
	options.Lends = func(to ucan.DID) bool { return v.keys.Independent(to).Owner() == owner.String() }
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

// logins keeps what signing in to MCP servers has left, sealed as secrets are, in a place
// of its own: no operation on secrets reaches it.
type logins struct {
	sealed *keys.Secrets
	owner  ucan.DID
}

var _ mcp.Vault = logins{}

// Grant returns what is kept for a server.
func (l logins) Grant(ctx context.Context, server string) ([]byte, error) {
	raw, err := l.sealed.Get(ctx, l.owner, loginPrefix+server)
	if _, none := errors.AsType[*secrets.NoSecretError](err); none {
		return nil, nil
	}
	return []byte(raw), err
}

// KeepGrant keeps it, or forgets it where it is nil.
func (l logins) KeepGrant(ctx context.Context, server string, grant []byte) error {
	if grant == nil {
		_, err := l.sealed.Delete(ctx, l.owner, loginPrefix+server)
		return err
	}
	return l.sealed.Set(ctx, l.owner, loginPrefix+server, secrets.Value(grant))
}

// loginPrefix begins the names under which they are sealed, so that none opens as the
// secret of a server's name.
const loginPrefix = "mcp-login."
