package auth

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4/jwt"
)

// Marks of what was used are kept by the second at which they end, so that those that
// are over lie together: "once/<exp, 12 digits>/<digest of who and which>".
const oncePrefix = "once/"

// sweepSize is how many marks that are over go with each new one: more than come.
const sweepSize = 4

// once lets a token through whose jti was not seen. The mark is stored before anybody
// is let in, so a token works once over a restart, too.
func (r *Room) once(ctx context.Context, c *jwt.Claims) error {
	sum := sha256.Sum256([]byte(c.Subject + "\x00" + c.ID))
	mark := fmt.Sprintf("%s%012d/%s", oncePrefix, int64(*c.Expiry), b64.EncodeToString(sum[:]))
	over, err := r.over(ctx)
	if err != nil {
		return err
	}
	moved, err := r.Store.Apply(ctx, map[string]uint64{mark: 0}, map[string][]byte{mark: {}}, over)
	if err != nil {
		return fmt.Errorf("note that a bearer token is used: %w", err)
	}
	if moved != "" {
		return refused("it was used before, and its jti says that it works once: sign a new one, or leave jti out")
	}
	return nil
}

// over lists some marks of tokens that have expired by every clock.
func (r *Room) over(ctx context.Context) ([]string, error) {
	now, sure := r.Sure(ctx)
	if !sure {
		return nil, nil
	}
	marks, _, err := r.Store.PageKeys(ctx, oncePrefix, "", sweepSize)
	end := fmt.Sprintf("%s%012d", oncePrefix, now.Add(-skew).Unix())
	return slices.DeleteFunc(marks, func(mark string) bool { return mark >= end }), err
}
