package keys

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"usher/tools/secrets"
	"usher/ucan"
	"usher/venue/store"
)

// Secrets keeps the secrets of all users, sealed as the keys of the ring are. A
// box is sealed for its owner and name: moved to another place in the store, it
// does not open.
type Secrets struct {
	space  *store.Space
	sealer *ucan.Sealer
	now    func() time.Time
}

var _ secrets.Keeper = (*Secrets)(nil)

// Secrets returns the secrets in a space of the store. now is the clock.
func (r *Ring) Secrets(space *store.Space, now func() time.Time) *Secrets {
	return &Secrets{space, r.sealer, now}
}

type secretBox struct {
	Box     []byte `json:"box"`
	Updated int64  `json:"updated"` // ms
}

func secretKey(owner ucan.DID, name string) string { return owner.String() + "/" + name }

// sealName is the name that a secret is sealed for, which no key of the ring has.
func sealName(key string) string { return "secret/" + key }

// Set keeps a secret, durably.
func (b *Secrets) Set(ctx context.Context, owner ucan.DID, name string, value secrets.Value) error {
	key := secretKey(owner, name)
	plain := []byte(value)
	defer clear(plain)
	raw, err := json.Marshal(secretBox{b.sealer.Seal(sealName(key), plain), b.now().UnixMilli()})
	if err == nil {
		_, err = b.space.Apply(ctx, nil, map[string][]byte{key: raw}, nil)
	}
	if err != nil {
		return fmt.Errorf("store secret %s: %w", name, err)
	}
	return nil
}

// Get returns a secret.
func (b *Secrets) Get(ctx context.Context, owner ucan.DID, name string) (secrets.Value, error) {
	if err := secrets.CheckName(name); err != nil {
		return "", err
	}
	key := secretKey(owner, name)
	raw, _, err := b.space.Get(ctx, key)
	if err == nil && raw == nil {
		return "", &secrets.NoSecretError{Name: name}
	}
	var sealed secretBox
	if err == nil {
		err = json.Unmarshal(raw, &sealed)
	}
	if err != nil {
		return "", fmt.Errorf("read secret %s: %w", name, err)
	}
	plain, err := b.sealer.Open(sealName(key), sealed.Box)
	if err != nil {
		return "", fmt.Errorf("open secret %s: %w; store it anew", name, err)
	}
	defer clear(plain)
	return secrets.Value(plain), nil
}

// List returns what may be told of an owner's secrets.
func (b *Secrets) List(ctx context.Context, owner ucan.DID) ([]secrets.Secret, error) {
	prefix := secretKey(owner, "")
	var out []secrets.Secret
	for row, err := range store.Rows(ctx, b.space, prefix, "") {
		if err != nil {
			return nil, err
		}
		var sealed secretBox
		name := row.Key[len(prefix):]
		if err := json.Unmarshal(row.Value, &sealed); err != nil {
			return nil, fmt.Errorf("read secret %s: %w", name, err)
		}
		out = append(out, secrets.Secret{Name: name, Updated: sealed.Updated})
	}
	return out, nil
}

// Delete removes a secret, durably.
func (b *Secrets) Delete(ctx context.Context, owner ucan.DID, name string) (deleted bool, err error) {
	key := secretKey(owner, name)
	for {
		_, rev, err := b.space.Get(ctx, key)
		if err != nil || rev == 0 {
			return false, err
		}
		// Moved means that another replaced or deleted it first.
		moved, err := b.space.Apply(ctx, map[string]uint64{key: rev}, nil, []string{key})
		if err != nil {
			return false, fmt.Errorf("delete secret %s: %w", name, err)
		}
		if moved == "" {
			return true, nil
		}
	}
}
