package venue

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/tools/agentauth"
	"usher/venue/store"
)

// newAbroad returns what the venue's agents are at Agent-Auth servers elsewhere.
func (v *Venue) newAbroad() *agentauth.Clients {
	return agentauth.New(agentauth.Options{
		Name: v.name, Keeper: stays{v.store.Under("abroad/")}, Seed: v.keys.Derive, May: v.auth.MayReach, Now: v.now, Rand: v.random,
	})
}

// stays keeps the records of agents elsewhere.
type stays struct{ space *store.Space }

var _ agentauth.Keeper = stays{}

// Load returns a record.
func (s stays) Load(ctx context.Context, key string) (r agentauth.Record, rev uint64, err error) {
	raw, rev, err := s.space.Get(ctx, key)
	if err != nil || rev == 0 {
		return r, 0, err
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, 0, fmt.Errorf("read how an agent is known elsewhere: %w", err)
	}
	return r, rev, nil
}

// Save keeps the record.
func (s stays) Save(ctx context.Context, key string, rev uint64, r agentauth.Record) (bool, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	moved, err := s.space.Apply(ctx, map[string]uint64{key: rev}, map[string][]byte{key: raw}, nil)
	return moved == "" && err == nil, err
}
