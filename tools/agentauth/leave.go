package agentauth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/agentauth/client"
	"usher/ucan"
)

// Bounds of how an agent that has ended is revoked elsewhere: lookEvery is how often it is looked
// which have, and how long all servers together may take, leaveTime how long one may, leaveAtOnce
// how many are asked at once, and firstPause and lastPause those between two tries, of which each is
// twice the one before. maxLeave tries are about a week.
const (
	lookEvery   = time.Minute
	leaveTime   = 10 * time.Second
	leaveAtOnce = 4
	firstPause  = time.Minute
	lastPause   = 6 * time.Hour
	maxLeave    = 36
)

// Departure is what became of a registration elsewhere whose agent has ended.
type Departure struct {
	Life   tools.Life `json:"life"`
	Server string     `json:"server"`
	Agent  string     `json:"agent"` // its id there
	Result string     `json:"result"`
	Tries  int        `json:"tries"`
	Detail string     `json:"detail,omitempty"` // why it could not be revoked
}

// Entry is a record where it is kept.
type Entry struct {
	Key string
	Rev uint64
	Record
}

// Run revokes elsewhere what agents registered that have ended here, until ctx ends.
func (c *Clients) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var seen uint64
	var next time.Time
	for {
		if epoch := c.opts.Epoch(); epoch != seen || !c.opts.Now().Before(next) {
			if seen, next = epoch, c.Leave(ctx); ctx.Err() != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Leave looks once which agents have ended, has the servers told where that is due, and returns
// when to look again though nobody has ended since.
func (c *Clients) Leave(ctx context.Context) (next time.Time) {
	next = c.opts.Now().Add(time.Hour)
	within, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	for after := ""; ; {
		list, more, err := c.opts.Keeper.Page(ctx, after)
		var looks errgroup.Group
		looks.SetLimit(leaveAtOnce)
		var mu sync.Mutex
		for i := range list {
			looks.Go(func() error {
				at, failure := c.leave(ctx, within, &list[i])
				mu.Lock()
				defer mu.Unlock()
				if !at.IsZero() && at.Before(next) {
					next = at
				}
				err = errors.Join(err, failure)
				return nil
			})
		}
		_ = looks.Wait() // err has what failed
		if err != nil && ctx.Err() == nil {
			c.opts.Logger.WarnContext(ctx, "agents that have ended may still be registered elsewhere", "error", err)
		}
		if more == "" || ctx.Err() != nil {
			return next
		}
		after = more
	}
}

// leave revokes one registration whose agent has ended, if its server answers within that time;
// next is when to try again, if ever.
func (c *Clients) leave(ctx, within context.Context, k *Entry) (next time.Time, err error) {
	if k.Life == "" || k.Agent == "" {
		return next, nil
	}
	if gone, err := c.opts.Gone(ctx, k.Life); err != nil || !gone {
		return next, err
	}
	now := c.opts.Now()
	next = time.UnixMilli(k.Next)
	if within.Err() != nil || now.Before(next) {
		return next, nil //nolint:nilerr // the time of this round is over: another one tries
	}
	pause := lastPause
	if k.Tries < 10 {
		pause = min(firstPause<<k.Tries, lastPause)
	}
	k.Tries++
	next = now.Add(pause)
	k.Next = next.UnixMilli()
	mine, err := c.opts.Keeper.Save(ctx, k.Key, k.Rev, k.Record) // another process leaves it be until then
	if err != nil || !mine {
		return next, err
	}
	left, over := c.try(within, k)
	if !over {
		return next, nil
	}
	if err := c.opts.Told(ctx, left); err != nil {
		return next, err
	}
	return time.Time{}, c.opts.Keeper.Remove(ctx, k.Key)
}

// try is what came of one try, and whether there is none after it.
func (c *Clients) try(ctx context.Context, k *Entry) (left Departure, over bool) {
	left = Departure{Life: k.Life, Server: k.Server, Agent: k.Agent, Result: client.Revoked, Tries: k.Tries}
	err := c.revokeAt(ctx, k)
	if err == nil {
		return left, true
	}
	c.opts.Logger.InfoContext(ctx, "an agent that has ended is not revoked elsewhere yet", "server", k.Server, "tries", k.Tries, "error", err)
	left.Result, left.Detail = client.Failed, value.Cut(err.Error(), maxWords)
	return left, ctx.Err() == nil && k.Tries >= maxLeave
}

// revokeAt has the server of a record revoke it. One that knows of no such agent has done so.
func (c *Clients) revokeAt(ctx context.Context, k *Entry) error {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	name, _, _ := strings.Cut(k.Key, "/")
	owner, err := ucan.ParseDID(name)
	if err != nil {
		return err
	}
	p, err := parsePlace(k.Server)
	if err != nil {
		return err
	}
	s, err := c.find(ctx, owner, p)
	if err != nil {
		return err
	}
	_, err = c.hostAt(s, owner, p).Revoke(ctx, k.Agent)
	if of, refused := errors.AsType[*client.Refusal](err); refused && (of.Status == http.StatusNotFound || of.Code == "agent_revoked" || of.Code == "host_revoked") {
		return nil
	}
	if err != nil {
		return explain(p, err)
	}
	return nil
}

// hostAt is the venue as the host of an owner's agents at a server.
func (c *Clients) hostAt(s *client.Server, owner ucan.DID, p place) *client.Host {
	return s.Host(c.key("host of " + owner.String() + " at " + p.origin))
}
