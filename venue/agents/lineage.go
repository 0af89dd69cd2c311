package agents

import (
	"context"
	"errors"
	"iter"
	"slices"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/ucan"
)

// relative is somebody in a lineage.
type relative struct {
	key   key
	life  tools.Life // as those below name it
	entry *entry     // nil where nobody is
	rec   *record
}

// rev is the revision of the record; 0 where there is none.
func (r relative) rev() uint64 {
	if r.rec == nil {
		return 0
	}
	return r.rec.rev
}

// Who counts in a lineage where an id was taken again.
const (
	sameLife = true  // nobody: whoever has the id now has given nothing
	anyLife  = false // whoever has the id now
)

// lineage yields the lives and all that they have their capabilities from,
// directly or not, each once. Of a life that is no more there is no record.
func lineage(ctx context.Context, look func(context.Context, key) (*entry, *record, error), same bool, lives ...tools.Life) iter.Seq2[relative, error] {
	return func(yield func(relative, error) bool) {
		seen := slices.Clone(lives)
		for i := 0; i < len(seen); i++ {
			at := relative{key: keyOf(seen[i]), life: seen[i]}
			if at.key != (key{}) {
				var err error
				if at.entry, at.rec, err = look(ctx, at.key); err != nil {
					yield(at, err)
					return
				}
			}
			if same && at.rec != nil && at.rec.life(at.key) != at.life {
				at.entry, at.rec = nil, nil
			}
			if !yield(at, nil) {
				return
			}
			if at.rec == nil {
				continue
			}
			for _, giver := range at.rec.Givers {
				if !slices.Contains(seen, giver) {
					seen = append(seen, giver)
				}
			}
		}
	}
}

type effective struct {
	epoch uint64
	caps  caps.Set
}

// effective returns what an agent may do while it is SLEEPING or RUNNING: its own
// capabilities and those of everyone whom it has them from, all at once. A giver
// that is suspended or has ended gives nothing. It is recomputed when any record
// has changed since, and otherwise two loads.
func (b *Book) effective(e *entry) caps.Set {
	epoch := b.epoch.Load()
	if eff := e.eff.Load(); eff != nil && eff.epoch == epoch {
		return eff.caps
	}
	set, err := b.compute(e)
	if err != nil {
		b.unread(err)
		return caps.Set{}
	}
	e.eff.Store(&effective{epoch, set})
	return set
}

func (b *Book) compute(e *entry) (caps.Set, error) {
	own := e.rec.Load()
	if own == nil {
		return caps.Set{}, nil
	}
	reader := own.principal(e.key).String()
	set := caps.Unrestricted()
	for at, err := range lineage(context.Background(), b.get, sameLife, own.life(e.key)) {
		if err != nil {
			return caps.Set{}, err
		}
		if at.rec == nil || at.entry != e && at.rec.Status != agents.Sleeping {
			return caps.Set{}, nil
		}
		set = set.Intersect(at.rec.Caps.AsSeenBy(reader, at.rec.principal(at.key).String()))
	}
	return set, nil
}

var _ tools.Lives = (*Book)(nil)

// Epoch is raised whenever any record changes.
func (b *Book) Epoch() uint64 { return b.epoch.Load() }

// Live returns the effective capabilities of one life of an agent. They are
// nothing from the moment when it is suspended, ended or removed, also for what
// it had begun. They are nothing, too, where the store cannot say; that is not
// remembered: the epoch moves on, by which it is asked again.
func (b *Book) Live(ctx context.Context, life tools.Life) (caps.Set, ucan.DID) {
	k := keyOf(life)
	e, rec, err := b.get(ctx, k)
	if ctx.Err() == nil {
		b.unread(err)
	}
	if err != nil || rec == nil || rec.life(k) != life || rec.Status != agents.Sleeping {
		return caps.Set{}, ucan.DID{}
	}
	return b.effective(e), rec.principal(k)
}

// unread moves the epoch on where the store could not say. A record that is damaged
// says nothing whenever it is asked, and moves nothing for others.
func (b *Book) unread(err error) {
	if _, damaged := errors.AsType[damageError](err); err != nil && !damaged {
		b.epoch.Add(1)
	}
}

// above returns the agent and all that it has its capabilities from, itself
// first. A budget binds by the id: an agent that was made again under it binds
// those below it as the one before did.
func (b *Book) above(ctx context.Context, k key) ([]relative, error) {
	var out []relative
	for at, err := range lineage(ctx, b.get, anyLife, k.life("")) {
		if err != nil {
			return nil, err
		}
		if at.rec != nil && !slices.ContainsFunc(out, func(other relative) bool { return other.key == at.key }) {
			out = append(out, at)
		}
	}
	return out, nil
}
