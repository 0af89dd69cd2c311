package ledger

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// courier brings checkpoints to one place outside the store, in the
// background. What fails is tried again until the ledger closes.
type courier struct {
	place
	client http.Client
	log    *slog.Logger

	queue  chan Checkpoint
	last   chan struct{}      // closed when no checkpoint follows
	done   chan struct{}      // closed when the courier has ended
	cancel context.CancelFunc // ends deliveries
}

const (
	maxQueue     = 256              // checkpoints that wait; the newest of them says what the oldest said
	deliverLimit = 10 * time.Second // of one try
	closeLimit   = 5 * time.Second  // of all that is left when the ledger closes
)

func newCourier(to place, log *slog.Logger) *courier {
	return &courier{
		place: to, client: http.Client{Timeout: deliverLimit}, log: log,
		queue: make(chan Checkpoint, maxQueue), last: make(chan struct{}), done: make(chan struct{}),
	}
}

// start begins the deliveries, which finish ends.
func (c *courier) start() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go c.run(ctx)
}

// send hands a checkpoint over; it never waits. It is called once at a time.
func (c *courier) send(p Checkpoint) {
	if len(c.queue) == maxQueue {
		select {
		case <-c.queue:
		default: // the courier has just taken it
		}
	}
	c.queue <- p
}

// finish brings what is left, within closeLimit, and ends the courier.
func (c *courier) finish() {
	limit := time.AfterFunc(closeLimit, c.cancel)
	close(c.last)
	<-c.done
	limit.Stop()
	c.cancel()
}

func (c *courier) run(ctx context.Context) {
	defer close(c.done)
	for {
		select {
		case p := <-c.queue:
			c.bring(ctx, p)
		case <-c.last:
			for len(c.queue) > 0 {
				c.bring(ctx, <-c.queue)
			}
			return
		}
	}
}

// bring tries until the checkpoint is there, or the ledger closes and a last
// try has failed.
func (c *courier) bring(ctx context.Context, p Checkpoint) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = time.Second, time.Minute
	for closing := false; ; {
		select {
		case <-c.last:
			closing = true
		default:
		}
		err := c.put(ctx, &c.client, p.Note)
		if err == nil {
			return
		}
		c.log.Warn("checkpoint of the audit ledger not delivered", "to", c.String(), "rows", p.Size, "error", err)
		if closing {
			return
		}
		select {
		case <-time.After(wait.NextBackOff()):
		case <-c.last:
		}
	}
}
