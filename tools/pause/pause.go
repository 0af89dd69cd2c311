// Package pause waits for a time to pass, unless somebody says to stop. [For] does.
package pause

import (
	"context"
	"time"
)

// For waits so long. Where ctx ends first, it returns why: [context.Cause] of it.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
