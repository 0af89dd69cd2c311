// Package keys is the room of a venue where its secrets lie: the [Ring] has the
// keys of the venue, of its users and of its independent agents, [Secrets] what
// users have stored for themselves. All of it is sealed under a key that lies in
// a file of its own beside the store; a venue in memory seals under a key that
// it forgets. Call [Open] first.
package keys

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"usher/tools"
	"usher/ucan"
	"usher/venue/store"
)

// Ring keeps keys by name. It is safe for concurrent use.
type Ring struct {
	space  *store.Space
	sealer *ucan.Sealer
	random io.Reader
	venue  ucan.Key
	hosted sync.Map // ucan.DID to the name of its key: whom the venue speaks for
	gone   sync.Map // ucan.DID to the [tools.Life] of an agent whose key is forgotten
}

// Names of keys.
const (
	venueName   = "venue"
	userPrefix  = "user/"  // and the user's name
	agentPrefix = "agent/" // and the life of an independent agent
	gonePrefix  = "gone/"  // and the DID of one whose key is forgotten: its life
)

// Open opens the ring, and makes the venue's key where there is none. file is
// where the sealing key lies; empty forgets it.
func Open(ctx context.Context, space *store.Space, file string, random io.Reader) (*Ring, error) {
	r := &Ring{space: space, random: random}
	seals, err := r.fileKey(ctx, file)
	if err == nil {
		r.sealer, err = ucan.NewSealer(seals)
	}
	if err != nil {
		return nil, err
	}
	if r.venue, err = r.key(ctx, venueName); errors.Is(err, ucan.ErrSealed) {
		return nil, fmt.Errorf("%w: is %s the key file of this data folder? Restore that one from a backup", err, file)
	}
	if err != nil {
		return nil, err
	}
	for row, err := range store.Rows(ctx, space, "", "") {
		if err != nil {
			return nil, err
		}
		if of, gone := strings.CutPrefix(row.Key, gonePrefix); gone {
			did, err := ucan.ParseDID(of)
			if err != nil {
				return nil, fmt.Errorf("read key of %s: %w", row.Key, err)
			}
			r.gone.Store(did, tools.Life(row.Value))
			continue
		}
		sealed, err := read(row.Key, row.Value)
		if err != nil {
			return nil, err
		}
		r.host(row.Key, sealed.DID)
	}
	return r, nil
}

// VenueIn returns the identity of the venue whose keys lie in the space; the
// zero DID where none do.
func VenueIn(ctx context.Context, space *store.Space) (ucan.DID, error) {
	raw, _, err := space.Get(ctx, venueName)
	if err != nil || raw == nil {
		return ucan.DID{}, err
	}
	sealed, err := read(venueName, raw)
	return sealed.DID, err
}

// fileKey returns the key in the file, made on first use. Where keys are stored
// and the file is gone, a new one would open nothing, and hide that.
func (r *Ring) fileKey(ctx context.Context, file string) (ucan.Key, error) {
	if file == "" {
		return ucan.NewKey(r.random)
	}
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		if did, err := VenueIn(ctx, r.space); err != nil || !did.IsZero() {
			return ucan.Key{}, cmp.Or(err, fmt.Errorf("key file %s is missing, and without it no key or secret of this data folder opens: restore it from a backup", file))
		}
	}
	return ucan.KeyFromFile(file, r.random)
}

func (r *Ring) host(name string, did ucan.DID) {
	if name != venueName {
		r.hosted.Store(did, name)
	}
}

// Venue is the venue's own key.
func (r *Ring) Venue() ucan.Key { return r.venue }

// Hosts reports whether the principal's key is one of this venue's.
func (r *Ring) Hosts(did ucan.DID) bool {
	_, ok := r.hosted.Load(did)
	return ok
}

// Of returns the key of a principal of this venue.
func (r *Ring) Of(ctx context.Context, did ucan.DID) (ucan.Key, error) {
	name, ok := r.hosted.Load(did)
	if !ok {
		return ucan.Key{}, fmt.Errorf("the key of %s is not here", did)
	}
	return r.key(ctx, name.(string))
}

// Independent returns the life of the agent whose key the principal is, or was, or "".
func (r *Ring) Independent(did ucan.DID) tools.Life {
	if life, gone := r.gone.Load(did); gone {
		return life.(tools.Life)
	}
	name, _ := r.hosted.Load(did)
	text, _ := name.(string)
	life, isAgent := strings.CutPrefix(text, agentPrefix)
	if !isAgent {
		return ""
	}
	return tools.Life(life)
}

// Forget removes the key of an independent agent that has ended. Whose key it was stays
// known: what it signed makes nobody else of the principal, such as a person.
func (r *Ring) Forget(ctx context.Context, life tools.Life, did ucan.DID) error {
	r.gone.Store(did, life)
	r.hosted.Delete(did)
	_, err := r.space.Apply(ctx, nil, map[string][]byte{gonePrefix + did.String(): []byte(life)}, []string{agentPrefix + string(life)})
	return err
}

// Derive makes a key of the venue for one purpose. The signature that it comes
// of is given to nobody.
func (r *Ring) Derive(purpose string) []byte {
	sum := sha256.Sum256(r.venue.Sign([]byte("usher: key for " + purpose)))
	return sum[:]
}

// User returns the DID of a user, whose key is made on first use.
func (r *Ring) User(ctx context.Context, name string) (ucan.DID, error) {
	if name == "" || len(name) > 128 {
		return ucan.DID{}, errors.New("user name: give 1 to 128 bytes")
	}
	key, err := r.key(ctx, userPrefix+name)
	return key.DID(), err
}

// Agent returns the DID of an independent agent, whose key is made on first use.
func (r *Ring) Agent(ctx context.Context, life tools.Life) (ucan.DID, error) {
	key, err := r.key(ctx, agentPrefix+string(life))
	return key.DID(), err
}

type keyBox struct {
	DID ucan.DID `json:"did"`
	Box []byte   `json:"box"`
}

func read(name string, raw []byte) (sealed keyBox, err error) {
	if err := json.Unmarshal(raw, &sealed); err != nil {
		return sealed, fmt.Errorf("read key of %s: %w", name, err)
	}
	return sealed, nil
}

// key returns the key of the name, made on first use.
func (r *Ring) key(ctx context.Context, name string) (key ucan.Key, err error) {
	for {
		raw, _, err := r.space.Get(ctx, name)
		if err == nil && raw == nil {
			if err = r.create(ctx, name); err == nil {
				continue
			}
		}
		var sealed keyBox
		if err == nil {
			sealed, err = read(name, raw)
		}
		if err == nil {
			key, err = ucan.OpenKey(r.sealer, sealed.DID, sealed.Box)
		}
		if err != nil {
			return ucan.Key{}, fmt.Errorf("open key of %s: %w", name, err)
		}
		return key, nil
	}
}

func (r *Ring) create(ctx context.Context, name string) error {
	key, err := ucan.NewKey(r.random)
	if err != nil {
		return err
	}
	box, err := key.Seal(r.sealer)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(keyBox{key.DID(), box})
	if err != nil {
		return err
	}
	// Moved means that another made it first: that one counts.
	moved, err := r.space.Apply(ctx, map[string]uint64{name: 0}, map[string][]byte{name: raw}, nil)
	if err != nil {
		return err
	}
	if moved == "" {
		r.host(name, key.DID())
	}
	return nil
}
