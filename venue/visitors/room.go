package visitors

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"usher/tools"
	"usher/tools/agentauth/client"
	"usher/tools/keylock"
	"usher/ucan"
	"usher/venue/approvals"
	"usher/venue/config"
	"usher/venue/ledger"
	"usher/venue/store"
)

// keyring has the principals of the venue: it is [keys.Ring].
type keyring interface {
	Of(ctx context.Context, did ucan.DID) (ucan.Key, error)
	Hosts(did ucan.DID) bool
}

// Options says what a room works with. All fields are needed.
type Options struct {
	Store    *store.Space // of the whole venue
	Ledger   *ledger.Ledger
	Keys     keyring
	Mint     *tools.Mint
	Resolve  func(ctx context.Context, auth tools.Authority, ref string) (*tools.Operation, error)
	Verifier *ucan.Verifier
	// Once lets a token through of whose signer that id was not seen before, until it ends.
	Once func(ctx context.Context, signer ucan.DID, id string, expires time.Time) (fresh bool, err error)
	// Guest counts a request of somebody for whom nobody answers, with those of guests.
	Guest     func() error
	Approvals *approvals.Room
	// Withdraw revokes a token that a principal of the venue issued.
	Withdraw func(ctx context.Context, principal ucan.DID, token ucan.CID) error
	// Secret returns a secret of the configuration's user.
	Secret func(ctx context.Context, owner ucan.DID, name string) (string, error)
	Key    []byte // of digests of codes
	Now    func() time.Time
	NewID  func() (string, error)
	Rand   io.Reader
	Logger *slog.Logger
}

// Room keeps visitors. It is safe for concurrent use.
type Room struct {
	Options
	set   atomic.Pointer[settings]
	epoch atomic.Uint64 // see Epoch
	rates rates
	turns *keylock.Locks // of records: see again
	keys  jwksCache

	hosts  recall[Host]
	agents recall[Agent]

	refused refusals
}

// settings are what a configuration says.
type settings struct {
	config.AgentAuth
	owner  ucan.DID // of the configuration
	lender ucan.DID // for whom agents act that nobody has approved; zero is nobody
	grant  map[string]*capability
}

// times are the bounds of agents.
type times struct{ session, lifetime, absolute time.Duration }

// Bounds where nobody says.
const (
	defaultSession  = time.Hour
	defaultLifetime = 24 * time.Hour
	defaultAgents   = 100 // of a host
)

// New returns a room that lets nobody in.
func New(o Options) *Room {
	r := &Room{Options: o, rates: newRates(), turns: keylock.New()}
	r.set.Store(new(settings))
	return r
}

// Set has the room do what a configuration of the owner's says from now on. lender is for whom agents
// act that nobody has approved.
func (r *Room) Set(owner, lender ucan.DID, c config.AgentAuth) error {
	s := &settings{AgentAuth: c, owner: owner, lender: lender, grant: make(map[string]*capability, len(c.Capabilities))}
	for i := range c.Capabilities {
		one, err := newCapability(&c.Capabilities[i])
		if err != nil {
			return fmt.Errorf("agentauth: capability %s: %w", c.Capabilities[i].Name, err)
		}
		s.grant[one.Name] = one
	}
	r.set.Store(s)
	r.epoch.Add(1)
	return nil
}

// Settings is what the configuration says.
func (r *Room) Settings() config.AgentAuth { return r.set.Load().AgentAuth }

// IsOpen reports whether anybody is let in.
func (r *Room) IsOpen() bool { return len(r.set.Load().grant) > 0 }

func (r *Room) times() times {
	c := &r.set.Load().AgentAuth
	return times{cmp.Or(c.Session, defaultSession), cmp.Or(c.Lifetime, defaultLifetime), c.Absolute}
}

// Epoch is another number after every change of what a visitor may do that was there before.
func (r *Room) Epoch() uint64 { return r.epoch.Load() }

const prefix = "visit/"

func hostKey(id string) string  { return prefix + "host/" + id }
func agentKey(id string) string { return prefix + "agent/" + id }
func ofHost(host string) string { return prefix + "of/" + host + "/" }
func personal(user ucan.DID, kind string) string {
	return prefix + "whose/" + user.String() + "/" + kind + "/"
}
func thumbKey(thumbprint string) string { return prefix + "key/" + thumbprint }
func codeKey(digest string) string      { return prefix + "code/" + digest }
func jobKey(run string) string          { return prefix + "job/" + run }

// look reads a record; false where there is none.
func look[T any](ctx context.Context, r *Room, key string, into *T) (rev uint64, err error) {
	raw, rev, err := r.Store.Get(ctx, key)
	if err != nil || raw == nil {
		return 0, err
	}
	return rev, decode(key, raw, into)
}

func decode(key string, raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	return nil
}

// host returns a host, nil where there is none.
func (r *Room) host(ctx context.Context, id string) (*Host, error) {
	key := hostKey(id)
	raw, rev, err := r.Store.Get(ctx, key)
	if err != nil || raw == nil {
		return nil, err
	}
	known := r.hosts.find(key, raw)
	if known == nil {
		known = new(Host)
		if err := decode(key, raw, known); err != nil {
			return nil, err
		}
		if known.Status != Pending { // strangers fill nothing
			r.hosts.keep(key, raw, known)
		}
	}
	h := *known
	h.rev = rev
	return &h, nil
}

// agent returns an agent and its host, nil where there is none.
func (r *Room) agent(ctx context.Context, id string) (*Agent, *Host, error) {
	key := agentKey(id)
	raw, rev, err := r.Store.Get(ctx, key)
	if err != nil || raw == nil {
		return nil, nil, err
	}
	known := r.agents.find(key, raw)
	if known == nil {
		known = new(Agent)
		if err := decode(key, raw, known); err != nil {
			return nil, nil, err
		}
		if known.Status == Active {
			known.remember()
			r.agents.keep(key, raw, known)
		}
	}
	a := known.own()
	a.rev, a.kept = rev, a.Key
	h, err := r.host(ctx, a.Host)
	if err == nil && h == nil {
		err = fmt.Errorf("the host %s of agent %s is not there", a.Host, id)
	}
	return a, h, err
}

// thumbprint names a key (RFC 7638).
func thumbprint(key ucan.DID) string { return client.Thumbprint(key.PublicKey()) }

var b64 = base64.RawURLEncoding

// jwk is a key as others write it.
type jwk struct {
	client.JWK
	Alg string `json:"alg,omitempty"`
	D   string `json:"d,omitempty"`
}

// did is the key that a JWK is of.
func (k *jwk) did() (ucan.DID, error) {
	if k.Kty != "OKP" || k.Crv != "Ed25519" || k.Alg != "" && k.Alg != "EdDSA" && k.Alg != "Ed25519" {
		return ucan.DID{}, refuse(unsupportedAlg, "the key is none of Ed25519: send a JWK with kty OKP and crv Ed25519")
	}
	if k.D != "" {
		return ucan.DID{}, refuse(invalidKey, "the key has its private half: make a new one, and send the public half alone")
	}
	raw, err := b64.Strict().DecodeString(k.X)
	if err != nil {
		return ucan.DID{}, refuse(invalidKey, "x of the key is not base64url")
	}
	did, err := ucan.DIDOf(ed25519.PublicKey(raw))
	if err != nil {
		return ucan.DID{}, refuse(invalidKey, "the key names nobody: %v", err)
	}
	return did, nil
}

// readKey reads a JWK.
func readKey(raw json.RawMessage) (ucan.DID, error) {
	var k jwk
	if err := json.Unmarshal(raw, &k); err != nil {
		return ucan.DID{}, refuse(invalidKey, "the key is no JWK: an object with kty, crv and x")
	}
	return k.did()
}
