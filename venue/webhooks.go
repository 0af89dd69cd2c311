package venue

import (
	"cmp"
	"context"
	"io"
	"net/http"

	"usher/venue/config"
	"usher/venue/store/journal"
	"usher/venue/webhooks"
)

// Receive takes a signed request to a webhook of the configuration, and returns what it
// starts: see [webhooks.Inbox.Receive].
func (v *Venue) Receive(ctx context.Context, hook string, head http.Header, body io.ReadCloser) (webhooks.Receipt, error) {
	if v.readOnly {
		return webhooks.Receipt{}, journal.ErrReadOnly
	}
	return v.inbox.Receive(ctx, hook, head, body)
}

// setHooks has webhooks be as a configuration says.
func (v *Venue) setHooks(ctx context.Context, c *config.Config) error {
	owner, err := v.keys.User(ctx, cmp.Or(c.User, defaultUser))
	if err == nil {
		v.inbox.Set(owner, c.Webhooks.In)
		v.outbox.Set(owner, c.Webhooks.Out)
		v.lending.Set(owner, c.A2A)
	}
	return err
}

// Webhooks are those of the configuration: what comes in, and what goes out, with the
// deliveries that wait.
type Webhooks struct {
	In  []webhooks.Entry    `json:"in"`
	Out []webhooks.Standing `json:"out"`
}

// Webhooks lists the webhooks, for whoever keeps the venue.
func (v *Venue) Webhooks(ctx context.Context) (w Webhooks, err error) {
	w.In = v.inbox.List(ctx)
	w.Out, err = v.outbox.List(ctx)
	return w, err
}
