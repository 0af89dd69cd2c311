package venue

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/tools"
	"usher/tools/agentauth"
	"usher/venue/ledger"
	"usher/venue/store"
	"usher/venue/visitors"
)

// newAbroad returns what the venue's agents are at Agent-Auth servers elsewhere.
func (v *Venue) newAbroad() *agentauth.Clients {
	return agentauth.New(agentauth.Options{
		Name: v.name, Keeper: stays{v.store.Under("abroad/")}, Seed: v.keys.Derive, May: v.auth.MayReach, Now: v.now, Rand: v.random,
		Gone: v.isGone, Epoch: v.lives.Epoch, Logger: v.log,
		Told: func(ctx context.Context, left agentauth.Departure) error {
			_, err := v.ledger.Note(ctx, "agent-auth elsewhere", left, ledger.Batch{})
			return err
		},
	})
}

// isGone reports whether a life has ended, of an agent of the venue or of one from elsewhere.
func (v *Venue) isGone(ctx context.Context, life tools.Life) (bool, error) {
	if visitors.IsLife(life) {
		return v.lives.visitors.IsGone(ctx, life)
	}
	return v.agents.IsGone(ctx, life)
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

// Page returns some records.
func (s stays) Page(ctx context.Context, after string) (list []agentauth.Entry, next string, err error) {
	if after != "" {
		after += "\x00"
	}
	rows, more, err := s.space.Page(ctx, "", after, 256)
	for i := 0; i < len(rows) && err == nil; i++ {
		k := agentauth.Entry{Key: rows[i].Key, Rev: rows[i].Rev}
		err = json.Unmarshal(rows[i].Value, &k.Record)
		list = append(list, k)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read how agents are known elsewhere: %w", err)
	}
	if more != "" {
		next = rows[len(rows)-1].Key
	}
	return list, next, nil
}

// Remove forgets a record.
func (s stays) Remove(ctx context.Context, key string) error {
	_, err := s.space.Apply(ctx, nil, nil, []string{key})
	return err
}
