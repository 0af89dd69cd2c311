package clock

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"usher/venue/store"
)

// Highest reads the highest time that a venue has seen out of its store; zero where
// nothing is known.
func Highest(ctx context.Context, space *store.Space) (time.Time, error) {
	raw, _, err := space.Get(ctx, recordKey)
	var rec record
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, &rec)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read the highest time seen: %w", err)
	}
	if rec.Highest == 0 {
		return time.Time{}, nil
	}
	return time.UnixMilli(rec.Highest), nil
}
