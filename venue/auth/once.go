package auth

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"usher/ucan"
)

// What was used is kept under "used/<digest of who and which>", whenever it ends, and beside it
// a mark by the second at which it does, so that those that are over lie together:
// "once/<exp, 12 digits>/<digest>".
const oncePrefix, usedPrefix = "once/", "used/"

// sweepSize is how many marks that are over go with each new one: more than come.
const sweepSize = 4

// once lets a token through of whose signer that id was not seen before; used is what is said of one
// where it was.
func (r *Room) once(signer ucan.DID, id string, expires time.Time, used string) func(context.Context) error {
	return func(ctx context.Context) error {
		fresh, err := r.Once(ctx, signer, id, expires)
		if err == nil && !fresh {
			err = refuse("%s", used)
		}
		return err
	}
}

// Once reports whether nothing of an id was seen of a signer before, and notes that it was, until
// it ends. The mark is stored before anybody is let in, so a token works once over a restart, too.
func (r *Room) Once(ctx context.Context, signer ucan.DID, id string, expires time.Time) (fresh bool, err error) {
	sum := sha256.Sum256([]byte(signer.String() + "\x00" + id))
	digest := b64.EncodeToString(sum[:])
	mark, used := fmt.Sprintf("%s%012d/%s", oncePrefix, expires.Unix(), digest), usedPrefix+digest
	over, err := r.over(ctx, oncePrefix)
	if err != nil {
		return false, err
	}
	for _, mark := range over {
		over = append(over, usedPrefix+mark[strings.LastIndexByte(mark, '/')+1:])
	}
	moved, err := r.Store.Apply(ctx, map[string]uint64{mark: 0, used: 0}, map[string][]byte{mark: {}, used: {}}, slices.DeleteFunc(over, func(key string) bool { return key == used }))
	if err != nil {
		return false, fmt.Errorf("note that a bearer token is used: %w", err)
	}
	return moved == "", nil
}

// over lists some of what lies below a prefix by its end, and has ended by every clock.
func (r *Room) over(ctx context.Context, prefix string) ([]string, error) {
	now, sure := r.Sure(ctx)
	if !sure {
		return nil, nil
	}
	marks, _, err := r.Store.PageKeys(ctx, prefix, "", sweepSize)
	end := fmt.Sprintf("%s%012d", prefix, now.Add(-skew).Unix())
	return slices.DeleteFunc(marks, func(mark string) bool { return mark >= end }), err
}
