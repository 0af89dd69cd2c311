package venue

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"usher/tools/agents"
	"usher/venue/config"
)

// defaultUser owns what a configuration holds that names no user.
const defaultUser = "owner"

// applyConfig brings the venue to what its configuration says. Data is written
// where nothing is; agents and orchestrations are written where the
// configuration has changed since it was last applied, so that what was
// changed while the venue ran stays.
func (v *Venue) applyConfig(ctx context.Context, c *config.Config) error {
	if c == nil {
		return nil
	}
	u, err := v.User(ctx, either(c.User, defaultUser))
	if err != nil {
		return err
	}
	for _, d := range c.Data {
		err := v.once(ctx, u, "data/"+d.Path, []byte("written"), func() error { return u.seed(ctx, d.Path, d.Value) })
		if err != nil {
			return fmt.Errorf("apply data %s: %w", d.Path, err)
		}
	}
	for _, o := range c.Orchestrations {
		err := v.once(ctx, u, "orchestration/"+o.ID, o.Document, func() error {
			_, err := u.Invoke(ctx, "covia:write", map[string]any{"path": "o/" + o.ID, "value": o.Document})
			return err
		})
		if err != nil {
			return fmt.Errorf("apply orchestration %s: %w", o.ID, err)
		}
	}
	for _, spec := range c.Agents {
		if err := v.applyAgent(ctx, u, spec); err != nil {
			return fmt.Errorf("apply agent %s: %w", spec.ID, err)
		}
	}
	return nil
}

func (v *Venue) applyAgent(ctx context.Context, u *User, spec agents.Spec) error {
	entry, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	return v.once(ctx, u, "agent/"+spec.ID, entry, func() error {
		_, err := u.put(ctx, spec, true)
		return err
	})
}

// seed writes a value where nothing is.
func (u *User) seed(ctx context.Context, path string, value json.RawMessage) error {
	out, err := u.Invoke(ctx, "covia:read", map[string]any{"path": path, "maxSize": 1})
	if err != nil {
		return err
	}
	var there struct{ Exists bool }
	if err := json.Unmarshal(out, &there); err != nil || there.Exists {
		return err
	}
	_, err = u.Invoke(ctx, "covia:write", map[string]any{"path": path, "value": value})
	return err
}

// once runs apply when the entry of the configuration differs from the one
// that was applied last.
func (v *Venue) once(ctx context.Context, u *User, name string, entry []byte, apply func() error) error {
	space := v.store.Under("c/")
	key := u.DID().String() + "/" + name
	last, _, err := space.Get(ctx, []byte(key))
	if err != nil || bytes.Equal(last, entry) {
		return err
	}
	if err := apply(); err != nil {
		return err
	}
	_, err = space.Apply(ctx, nil, map[string][]byte{key: entry}, nil)
	return err
}
