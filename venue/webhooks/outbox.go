package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"usher/ucan"
	"usher/venue/config"
	"usher/venue/runs"
	"usher/venue/store"
)

// OutboxOptions says what an outbox works with. All fields but the last are needed.
type OutboxOptions struct {
	Store  *store.Space // of the whole venue
	Secret Secrets
	Now    func() time.Time
	Logger *slog.Logger

	Transport http.RoundTripper // of all requests; nil dials what each entry allows
}

// Outbox keeps what webhooks are to be told of runs, and tells it. It is safe for
// concurrent use.
type Outbox struct {
	OutboxOptions
	hooks   atomic.Pointer[outHooks]
	changed chan struct{}
}

// outHooks are the entries of the configuration, by their ids.
type outHooks struct {
	owner ucan.DID
	byID  map[string]*outHook
}

// outHook is an entry, as long as it stays as it is.
type outHook struct {
	config.HookOut
	owner   ucan.DID
	wake    chan struct{}
	waiting waits       // deliveries that are stored
	full    atomic.Bool // and more are not
}

// MaxAge bounds how long something is told.
const MaxAge = 24 * time.Hour

// NewOutbox returns an outbox without entries.
func NewOutbox(o OutboxOptions) *Outbox {
	out := &Outbox{OutboxOptions: o, changed: make(chan struct{}, 1)}
	out.hooks.Store(new(outHooks))
	return out
}

// Set has the outbox do what a configuration of the owner's says from now on. What waits for
// a webhook that is no more is not sent.
func (o *Outbox) Set(owner ucan.DID, list []config.HookOut) {
	before := o.hooks.Load()
	hooks := &outHooks{owner, make(map[string]*outHook, len(list))}
	for _, h := range list {
		if old := before.byID[h.ID]; old != nil && old.owner == owner && reflect.DeepEqual(old.HookOut, h) {
			hooks.byID[h.ID] = old
			continue
		}
		hooks.byID[h.ID] = &outHook{HookOut: h, owner: owner, wake: make(chan struct{}, 1)}
	}
	o.hooks.Store(hooks)
	signal(o.changed)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// delivery is what is to be sent, as it is stored.
type delivery struct {
	At     int64           `json:"at"` // ms: when it happened
	Tries  int             `json:"tries,omitempty"`
	Failed string          `json:"failed,omitempty"` // why the last of them did
	Body   json.RawMessage `json:"body"`
}

// body is what a webhook is told: that something happened to a run, and nothing of what was
// said or done in it.
type body struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      eventBody `json:"data"`
}

type eventBody struct {
	Run       string   `json:"run"`
	Kind      string   `json:"kind"`
	Status    string   `json:"status"`
	Agent     string   `json:"agent,omitempty"`
	Caller    string   `json:"caller,omitempty"`
	Operation string   `json:"operation,omitempty"`
	Session   string   `json:"session,omitempty"`
	Parent    string   `json:"parent,omitempty"`
	Code      string   `json:"errorCode,omitempty"`
	Waits     []string `json:"waits,omitempty"` // ids of requests for approval, and of runs
}

// eventOf is the event that a run comes to by its status.
func eventOf(status string) string {
	switch status {
	case runs.Complete:
		return config.RunCompleted
	case runs.Waiting:
		return config.RunWaiting
	case runs.Cancelled:
		return config.RunCancelled
	}
	return config.RunFailed
}

// wants reports whether the webhook is told of an event of a run.
func (h *outHook) wants(event string, rec *runs.Record) bool {
	return (len(h.Events) == 0 || slices.Contains(h.Events, event)) &&
		(len(h.Agents) == 0 || slices.Contains(h.Agents, rec.Agent) || slices.Contains(h.Agents, rec.Caller))
}

// Draft adds what is to be told of a run.
func (o *Outbox) Draft(owner ucan.DID, rec *runs.Record, put map[string][]byte) {
	hooks := o.hooks.Load()
	if owner != hooks.owner {
		return
	}
	event := eventOf(rec.Status)
	for _, h := range hooks.byID {
		if !h.wants(event, rec) {
			continue
		}
		if agent := agentOf(rec); !h.waiting.take(agent) {
			if !h.full.Swap(true) {
				o.Logger.Warn("a webhook does not take what it is told: what comes on top is not told", "webhook", h.ID, "waiting", maxWaiting, "agent", agent, "of_one", maxOfAgent)
			}
			continue
		}
		at := time.UnixMilli(rec.Updated).UTC()
		raw, _ := json.Marshal(body{event, at, eventBody{ // of texts, and a time of now
			rec.ID, rec.Kind, rec.Status, rec.Agent, rec.Caller, rec.Op, rec.Session, rec.Parent, string(rec.Code), rec.Waits,
		}})
		raw, _ = json.Marshal(delivery{At: rec.Updated, Body: raw}) // of that
		put[outKey(h.ID, at, fmt.Sprintf("msg_%s_%s", rec.ID, strconv.FormatInt(rec.Updated, 36)))] = raw
	}
}

// OnStore has what was stored be sent.
func (o *Outbox) OnStore() {
	for _, h := range o.hooks.Load().byID {
		signal(h.wake)
	}
}

const outPrefix = "h/out/"

func outOf(hook string) string { return outPrefix + hook + "/" }

func outKey(hook string, due time.Time, id string) string {
	return fmt.Sprintf("%s%015d/%s", outOf(hook), due.UnixMilli(), id)
}

// dueOf is when the delivery of a key is due, and its id.
func dueOf(hook, key string) (due time.Time, id string) {
	ms, id, _ := strings.Cut(strings.TrimPrefix(key, outOf(hook)), "/")
	n, _ := strconv.ParseInt(ms, 10, 64) // as outKey has written it
	return time.UnixMilli(n), id
}

// Run sends until ctx ends. Each webhook has a goroutine of its own, so that none holds up
// another.
func (o *Outbox) Run(ctx context.Context) {
	type sender struct {
		hook *outHook
		stop func()
	}
	senders := make(map[string]sender)
	var work sync.WaitGroup
	defer work.Wait()
	for {
		hooks := o.hooks.Load()
		for id, s := range senders {
			if hooks.byID[id] != s.hook {
				s.stop()
				delete(senders, id)
			}
		}
		if err := o.forget(ctx, hooks); err != nil && ctx.Err() == nil {
			o.Logger.ErrorContext(ctx, "what waits for webhooks that are no more stays", "error", err)
		}
		for id, h := range hooks.byID {
			if _, sends := senders[id]; sends {
				continue
			}
			inner, cancel := context.WithCancel(ctx)
			done := make(chan struct{})
			work.Go(func() {
				defer close(done)
				o.send(inner, h)
			})
			senders[id] = sender{h, func() {
				cancel()
				<-done
			}}
		}
		select {
		case <-o.changed:
		case <-ctx.Done():
			for _, s := range senders {
				s.stop()
			}
			return
		}
	}
}

// forget removes what waits for webhooks that are no more, unless no configuration says
// which there are.
func (o *Outbox) forget(ctx context.Context, hooks *outHooks) error {
	if hooks.owner.IsZero() {
		return nil
	}
	for from := ""; ; {
		keys, _, err := o.Store.PageKeys(ctx, outPrefix, from, 1)
		if err != nil || len(keys) == 0 {
			return err
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(keys[0], outPrefix), "/")
		if hooks.byID[id] == nil {
			if err := o.Store.RemoveBelow(ctx, outOf(id)); err != nil {
				return err
			}
		}
		from = outPrefix + id + "0" // behind "/"
	}
}
