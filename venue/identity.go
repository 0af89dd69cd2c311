package venue

import (
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

	"usher/ucan"
	"usher/venue/store"
)

// keyring keeps the keys of the venue, of its users and of its independent
// agents, sealed under a key that lies in a file of its own beside the store; a
// venue in memory seals under a key that it forgets.
type keyring struct {
	space  *store.Space
	sealer *ucan.Sealer
	random io.Reader
	venue  ucan.Key
	hosted sync.Map // ucan.DID to the name of its key: whom the venue speaks for
}

// Names of keys.
const (
	venueKey    = "venue"
	userPrefix  = "user/"  // and the user's name
	agentPrefix = "agent/" // and the bound of an independent agent
)

func openKeyring(ctx context.Context, space *store.Space, file string, random io.Reader) (*keyring, error) {
	k := &keyring{space: space, random: random}
	var err error
	if file != "" {
		if err := k.lost(ctx, file); err != nil {
			return nil, err
		}
		k.sealer, err = ucan.SealerFromFile(file, random)
	} else {
		kek := make([]byte, 32)
		if _, err = io.ReadFull(random, kek); err == nil {
			k.sealer, err = ucan.NewSealer(kek)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open key file: %w", err)
	}
	if k.venue, err = k.key(ctx, venueKey); errors.Is(err, ucan.ErrSealed) {
		return nil, fmt.Errorf("%w: is %s the key file of this data folder? Restore that one from a backup", err, file)
	}
	if err != nil {
		return nil, err
	}
	for row, err := range store.Rows(ctx, space, "", "") {
		if err != nil {
			return nil, err
		}
		var sealed sealedKey
		if err := json.Unmarshal(row.Value, &sealed); err != nil {
			return nil, fmt.Errorf("read key of %s: %w", row.Key, err)
		}
		k.host(row.Key, sealed.DID)
	}
	return k, nil
}

// lost says that the key file is gone. A new one in its place would open
// nothing, and hide that.
func (k *keyring) lost(ctx context.Context, file string) error {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return nil // there, or for others to complain about
	}
	sealed, _, err := k.space.Get(ctx, venueKey)
	if err != nil || sealed == nil {
		return err
	}
	return fmt.Errorf("key file %s is missing, and without it no key or secret of this data folder opens: restore it from a backup", file)
}

func (k *keyring) host(name string, did ucan.DID) {
	if name != venueKey {
		k.hosted.Store(did, name)
	}
}

// hosts reports whether the principal's key is one of this venue's.
func (k *keyring) hosts(did ucan.DID) bool {
	_, ok := k.hosted.Load(did)
	return ok
}

// of returns the key of a principal of this venue.
func (k *keyring) of(ctx context.Context, did ucan.DID) (ucan.Key, error) {
	name, ok := k.hosted.Load(did)
	if !ok {
		return ucan.Key{}, fmt.Errorf("the key of %s is not here", did)
	}
	return k.key(ctx, name.(string))
}

// independent returns the id of the agent whose key the principal is, or "".
func (k *keyring) independent(did ucan.DID) string {
	name, ok := k.hosted.Load(did)
	if !ok {
		return ""
	}
	of, isAgent := strings.CutPrefix(name.(string), agentPrefix)
	if !isAgent {
		return ""
	}
	return parseBound(of).key.id
}

// forget removes a key: whoever had it is nobody from then on.
func (k *keyring) forget(ctx context.Context, name string, did ucan.DID) error {
	k.hosted.Delete(did)
	_, err := k.space.Apply(ctx, nil, nil, []string{name})
	return err
}

// secret derives a key of the venue for one purpose. The signature that it comes
// of is given to nobody.
func (k *keyring) secret(purpose string) []byte {
	sum := sha256.Sum256(k.venue.Sign([]byte("usher: key for " + purpose)))
	return sum[:]
}

type sealedKey struct {
	DID ucan.DID `json:"did"`
	Box []byte   `json:"box"`
}

// key returns the key of the name, made on first use.
func (k *keyring) key(ctx context.Context, name string) (ucan.Key, error) {
	for {
		raw, _, err := k.space.Get(ctx, name)
		if err != nil {
			return ucan.Key{}, err
		}
		if raw != nil {
			var sealed sealedKey
			if err := json.Unmarshal(raw, &sealed); err != nil {
				return ucan.Key{}, fmt.Errorf("read key of %s: %w", name, err)
			}
			key, err := ucan.OpenKey(k.sealer, sealed.DID, sealed.Box)
			if err != nil {
				return ucan.Key{}, fmt.Errorf("open key of %s: %w", name, err)
			}
			return key, nil
		}
		if err := k.create(ctx, name); err != nil {
			return ucan.Key{}, err
		}
	}
}

func (k *keyring) create(ctx context.Context, name string) error {
	key, err := ucan.NewKey(k.random)
	if err != nil {
		return fmt.Errorf("make key of %s: %w", name, err)
	}
	box, err := key.Seal(k.sealer)
	if err != nil {
		return fmt.Errorf("seal key of %s: %w", name, err)
	}
	raw, err := json.Marshal(sealedKey{key.DID(), box})
	if err != nil {
		return err
	}
	// Moved means that another made it first: that one counts.
	moved, err := k.space.Apply(ctx, map[string]uint64{name: 0}, map[string][]byte{name: raw}, nil)
	if err != nil {
		return fmt.Errorf("store key of %s: %w", name, err)
	}
	if moved == "" {
		k.host(name, key.DID())
	}
	return k.space.Sync(ctx)
}

// user returns the DID of a user, whose key is made on first use.
func (k *keyring) user(ctx context.Context, name string) (ucan.DID, error) {
	if name == "" || len(name) > 128 {
		return ucan.DID{}, errors.New("user name: give 1 to 128 bytes")
	}
	key, err := k.key(ctx, userPrefix+name)
	if err != nil {
		return ucan.DID{}, err
	}
	return key.DID(), nil
}
