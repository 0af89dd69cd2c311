package venue_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"usher/venue"
	"usher/venue/runs"
	"usher/venue/store"
)

// cutOff is an engine that writes nothing more after so many batches.
type cutOff struct {
	store.Engine
	mu   sync.Mutex
	left int // batches; negative: any number
	cut  bool
}

var errCutOff = errors.New("the process is gone")

func (c *cutOff) Apply(batch []store.Op) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		c.cut = true
		return "", errCutOff
	}
	c.left--
	return c.Engine.Apply(batch)
}

// A process that is gone after any commit of an expiry leaves a request whose run is
// told all the same.
func TestAnExpiryThatIsCutIsMadeUpFor(t *testing.T) {
	for left, cut := 0, true; cut; left++ {
		t.Run(fmt.Sprint("after ", left), func(t *testing.T) {
			dir := t.TempDir()
			d := newDesk(t, dir, true)
			req := d.ask(t, "w/refunds/1")
			if err := d.v.Close(); err != nil {
				t.Fatal(err)
			}
			engine := &cutOff{left: -1}
			opts := &venue.Options{Dir: dir, Idle: true, Now: func() time.Time { return time.Now().Add(8 * 24 * time.Hour) }}
			opts.Before(func(e store.Engine) store.Engine { engine.Engine = e; return engine })
			v, err := venue.Open(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			engine.mu.Lock()
			engine.left = left
			engine.mu.Unlock()
			err = v.Expire(t.Context())
			engine.mu.Lock()
			cut = engine.cut
			engine.mu.Unlock()
			if cut != (err != nil) {
				t.Errorf("the expiry ends with %v, and was cut: %v", err, cut)
			}
			_ = v.Close() // as far as it comes

			d = newDesk(t, dir, true)
			d.now.Add(int64(8 * 24 * time.Hour / time.Second))
			if err := d.v.Expire(t.Context()); err != nil {
				t.Fatal(err)
			}
			if rec, err := d.alice.Run(t.Context(), req.Run); err != nil || rec.Status != runs.Started {
				t.Fatalf("the run is %s, %v; want that it goes on", rec.Status, err)
			}
			if _, err := d.alice.Resume(t.Context(), req.Run); err != nil {
				t.Fatal(err)
			}
			if result, _ := d.ended(t, req.Run); !strings.Contains(result.Result, "nobody has answered whether this call may be made") {
				t.Errorf("the call comes to %+v", result)
			}
			if n, err := d.v.KeysBelow(t.Context(), "p/due/"); err != nil || n != 0 {
				t.Errorf("%d marks are left, %v", n, err)
			}
		})
	}
}
