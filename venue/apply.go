package venue

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"usher/tools/agents"
	"usher/venue/config"
	"usher/venue/store"
)

// defaultUser owns what a configuration holds that names no user.
const defaultUser = "owner"

// applyConfig brings the venue to what its configuration says: data, agents and
// orchestrations are written where their entry has changed since it was last
// applied, so that what was changed while the venue ran stays. Data that was
// changed or deleted meanwhile stays too when its entry changes; see [Venue.Kept].
func (v *Venue) applyConfig(ctx context.Context, c *config.Config) error {
	if c == nil {
		return nil
	}
	u, err := v.User(ctx, either(c.User, defaultUser))
	if err != nil {
		return err
	}
	for _, d := range c.Data {
		if err := v.applyDatum(ctx, u, d); err != nil {
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
	for _, spec := range parentsFirst(c.Agents) {
		if err := v.applyAgent(ctx, u, spec); err != nil {
			return fmt.Errorf("apply agent %s: %w", spec.ID, err)
		}
	}
	return v.findStrays(ctx, u, c)
}

// parentsFirst orders agents so that each comes after the one that bounds it,
// as far as that can be: in a circle none can.
func parentsFirst(list []agents.Spec) []agents.Spec {
	var out []agents.Spec
	placed := make(map[string]bool)
	for len(out) < len(list) {
		before := len(out)
		for _, spec := range list {
			waits := slices.ContainsFunc(list, func(p agents.Spec) bool { return p.ID == spec.Parent && p.ID != spec.ID })
			if !placed[spec.ID] && (!waits || placed[spec.Parent]) {
				placed[spec.ID] = true
				out = append(out, spec)
			}
		}
		if len(out) == before {
			for _, spec := range list {
				if !placed[spec.ID] {
					out = append(out, spec)
				}
			}
		}
	}
	return out
}

// Strays returns the agents that an earlier configuration made and the present
// one does not have: they are still there, with all that they may do.
func (v *Venue) Strays() []string { return v.strays }

func (v *Venue) findStrays(ctx context.Context, u *User, c *config.Config) error {
	prefix := u.DID().String() + "/agent/"
	var ids []string
	for key, err := range store.Keys(ctx, v.store.Under("c/"), prefix, "") {
		if err != nil {
			return err
		}
		ids = append(ids, key[len(prefix):])
	}
	for _, id := range ids {
		if slices.ContainsFunc(c.Agents, func(s agents.Spec) bool { return s.ID == id }) {
			continue
		}
		a, err := v.agents.get(ctx, agentKey{u.DID(), id})
		if err != nil {
			return err
		}
		if a == nil {
			continue
		}
		if rec := a.rec.Load(); rec != nil && rec.Status != agents.Terminated {
			v.strays = append(v.strays, id)
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

// once runs apply when the entry of the configuration differs from the one
// that was applied last.
func (v *Venue) once(ctx context.Context, u *User, name string, entry []byte, apply func() error) error {
	space := v.store.Under("c/")
	key := u.DID().String() + "/" + name
	last, _, err := space.Get(ctx, key)
	if err != nil || bytes.Equal(last, entry) {
		return err
	}
	if err := apply(); err != nil {
		return err
	}
	_, err = space.Apply(ctx, nil, map[string][]byte{key: entry}, nil)
	return err
}
