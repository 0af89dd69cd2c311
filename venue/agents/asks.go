package agents

import (
	"context"

	"usher/tools"
)

// Asks reports whether the owner is to be asked for what a life lacks.
func (b *Book) Asks(ctx context.Context, life tools.Life) bool {
	k := keyOf(life)
	_, rec, err := b.get(ctx, k)
	return err == nil && rec != nil && rec.life(k) == life && rec.asks()
}

func (r *record) asks() bool { return r.Config.Ask != nil && *r.Config.Ask }
