package visitors

import (
	"context"

	"usher/ucan"
)

// RotateAgent gives an agent another key. What was granted is signed anew for that one, and is no
// more than it was.
func (r *Room) RotateAgent(ctx context.Context, caller *Caller, id string, raw []byte) (*RegisterResult, error) {
	if err := caller.mayChange(); err != nil {
		return nil, err
	}
	key, err := readKey(raw)
	if err == nil {
		err = r.rotates(caller)
	}
	if err != nil {
		return nil, err
	}
	return r.edit(ctx, caller, id, func(c *change, a *Agent, h *Host) error {
		if err := r.active(a, h); err != nil {
			return err
		}
		if key == h.Key {
			return errHostKey
		}
		if err := r.claimKey(ctx, c, key, "agent "+a.ID); err != nil {
			return err
		}
		if a.Mode == Autonomous {
			if err := r.release(ctx, c, a.Key, "agent "+a.ID); err != nil {
				return err
			}
		}
		a.Key, a.JWKS = key, ""
		for i := range a.Grants {
			g := &a.Grants[i]
			if !r.stands(ctx, a, g) {
				continue
			}
			if err := r.renew(ctx, c, a, g); err != nil {
				return err
			}
		}
		c.says(caller, ucan.DID{}, "rotate-key", a, "ok")
		return nil
	})
}

// rotates counts another key.
func (r *Room) rotates(by *Caller) error {
	if err := r.rates.key(by.Host.ID, r.Now()); err != nil {
		return err
	}
	return r.strange(by)
}

// RotateHost gives a host another key. The old one is never a host's again, where a person
// answers for it.
func (r *Room) RotateHost(ctx context.Context, by *Caller, raw []byte) (out *Host, err error) {
	if by.Agent != nil {
		return nil, refuse(Unauthorized, "a host gives itself another key")
	}
	key, err := readKey(raw)
	if err == nil {
		err = r.rotates(by)
	}
	if err != nil {
		return nil, err
	}
	err = r.again(ctx, func(c *change) error {
		h, err := r.host(ctx, by.Host.ID)
		if err != nil || h == nil {
			return errUnverified
		}
		if err := by.signs(nil, h); err != nil {
			return err
		}
		if h.Status == Revoked {
			return refuse(hostRevoked, "the host was revoked, for good")
		}
		if err := r.claimKey(ctx, c, key, "host "+h.ID); err != nil {
			return err
		}
		if h.User.IsZero() {
			if err := r.release(ctx, c, h.Key, "host "+h.ID); err != nil {
				return err
			}
		}
		h.Key, h.JWKS = key, ""
		c.host(h, r.Now())
		c.row = by.row("rotate-host-key")
		c.row.Result = "ok"
		out = h
		return nil
	})
	return out, err
}

// claimKey marks whose a key is that nobody has or had.
func (r *Room) claimKey(ctx context.Context, c *change, key ucan.DID, whose string) error {
	thumbprint := thumbprint(key)
	kind, _, err := r.ownerOf(ctx, thumbprint)
	if err != nil {
		return err
	}
	if kind != "" {
		return refuse(invalidKey, "the key is or was somebody's: make a new one")
	}
	c.set(thumbKey(thumbprint), 0, []byte(whose))
	return nil
}

// release adds to a change that a key is nobody's any more, where it was whose. Of those for whom
// no person answers it has to be: they would fill the store with keys.
func (r *Room) release(ctx context.Context, c *change, key ucan.DID, whose string) error {
	mark := thumbKey(thumbprint(key))
	raw, rev, err := r.Store.Get(ctx, mark)
	if err != nil || string(raw) != whose {
		return err
	}
	c.Expect[mark] = rev
	c.Del = append(c.Del, mark)
	return nil
}
