package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"usher/caps/value"
	"usher/tools/reach"
	"usher/venue/store"
)

// Times of deliveries.
const (
	sendTime   = 15 * time.Second // of one request
	firstPause = 5 * time.Second  // before the next try, growing
	maxPause   = time.Hour
	storePause = 10 * time.Second // where the store fails
)

// send sends what waits for a webhook, as it is due.
func (o *Outbox) send(ctx context.Context, h *outHook) {
	client := client(o.Transport, h.AllowPrivate)
	if byAgent, err := o.countsOf(ctx, h.ID); err == nil {
		h.waiting.set(byAgent)
	} else if ctx.Err() == nil {
		o.Logger.ErrorContext(ctx, "what waits for a webhook cannot be counted", "webhook", h.ID, "error", err)
	}
	for {
		wait, err := o.next(ctx, h, client)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			o.Logger.ErrorContext(ctx, "what a webhook is told cannot be read or noted", "webhook", h.ID, "error", err)
			wait = storePause
		}
		if wait == 0 {
			continue
		}
		sleep(ctx, wait, h.wake)
	}
}

// backlog is how many deliveries of a webhook are stored, at most maxWaiting.
func (o *Outbox) backlog(ctx context.Context, hook string) (n int, err error) {
	for _, err := range store.Keys(ctx, o.Store, outOf(hook), "") {
		if err != nil {
			return n, err
		}
		if n++; n == maxWaiting {
			break
		}
	}
	return n, nil
}

// countsOf is how many deliveries of a webhook are stored, by the agents that have brought them
// about.
func (o *Outbox) countsOf(ctx context.Context, hook string) (map[string]int, error) {
	byAgent, n := make(map[string]int), 0
	for row, err := range store.Rows(ctx, o.Store, outOf(hook), "") {
		if err != nil {
			return nil, err
		}
		agent, err := agentIn(row.Value)
		if err != nil {
			return nil, err
		}
		byAgent[agent]++
		if n++; n == maxWaiting {
			break
		}
	}
	return byAgent, nil
}

// agentIn is the agent that has brought a delivery about.
func agentIn(raw []byte) (string, error) {
	var d struct {
		Body struct{ Data eventBody }
	}
	err := json.Unmarshal(raw, &d)
	return d.Body.Data.agent(), err
}

// next makes the first delivery, where one is due, and says how long nothing is due.
func (o *Outbox) next(ctx context.Context, h *outHook, client *http.Client) (wait time.Duration, err error) {
	rows, _, err := o.Store.Page(ctx, outOf(h.ID), "", 1)
	if err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		h.waiting.set(nil)
		h.full.Store(false)
		return MaxAge, nil // until it is woken
	}
	key := rows[0].Key
	due, id := dueOf(h.ID, key)
	now := o.Now()
	if wait = due.Sub(now); wait > 0 {
		return wait, nil
	}
	var d delivery
	if err := json.Unmarshal(rows[0].Value, &d); err != nil {
		return 0, err
	}
	failed := o.deliver(ctx, h, client, id, d.Body)
	if ctx.Err() != nil {
		return 0, nil //nolint:nilerr // it stays as it is, and is sent again
	}
	var put map[string][]byte
	switch d.Tries++; {
	case failed == nil:
	case now.Sub(time.UnixMilli(d.At)) > MaxAge:
		o.Logger.WarnContext(ctx, "a webhook was not told: it has not taken it for a day", "webhook", h.ID, "message", id, "tries", d.Tries, "error", failed)
	default:
		level := slog.LevelInfo
		if d.Tries == 1 {
			level = slog.LevelWarn
		}
		o.Logger.Log(ctx, level, "a webhook is told again later", "webhook", h.ID, "message", id, "tries", d.Tries, "error", failed)
		d.Failed = value.Cut(failed.Error(), maxFailed)
		raw, err := json.Marshal(d)
		if err != nil {
			return 0, err
		}
		put = map[string][]byte{outKey(h.ID, now.Add(pause(d.Tries)), id): raw}
	}
	if put == nil {
		agent, err := agentIn(rows[0].Value)
		if err != nil {
			return 0, err
		}
		h.waiting.leave(agent)
	}
	_, err = o.Store.Apply(ctx, nil, put, []string{key})
	return 0, err
}

// pause is how long is waited after so many tries.
func pause(tries int) (d time.Duration) {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.MaxInterval = firstPause, 3, maxPause
	for range min(tries, 12) {
		d = b.NextBackOff()
	}
	return d
}

// deliver makes one request.
func (o *Outbox) deliver(ctx context.Context, h *outHook, client *http.Client, id string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	signer, err := o.Secret.signer(ctx, h.owner, h.Secret)
	if err != nil {
		return err
	}
	at := o.Now()
	signed, err := signer.Sign(id, at, body)
	if err != nil {
		return err
	}
	head := http.Header{"Content-Type": {"application/json"}}
	head.Set(standardwebhooks.HeaderWebhookID, id)
	head.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	head.Set(standardwebhooks.HeaderWebhookSignature, signed)
	if err = reach.Post(ctx, client, h.URL, head, body); errors.Is(err, reach.ErrPrivate) {
		err = fmt.Errorf("%w: say allow_private where that is meant", err)
	}
	return err
}

// client is what sends, by a way that may be given.
func client(by http.RoundTripper, private bool) *http.Client {
	if by == nil {
		by = reach.Transport(sendTime, private)
	}
	return reach.Client(by)
}
