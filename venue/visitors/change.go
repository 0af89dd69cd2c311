package visitors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	asking "usher/tools/approvals"
	"usher/tools/keylock"
	"usher/ucan"
	"usher/venue/ledger"
)

// row is what the ledger is told of a request, or of a change.
type row struct {
	Call       string `json:"call"`
	Host       string `json:"host,omitempty"`
	Agent      string `json:"agent,omitempty"`
	User       string `json:"user,omitempty"`
	Capability string `json:"capability,omitempty"`
	JTI        string `json:"jti,omitempty"`
	Item       string `json:"item,omitempty"` // of a batch
	Result     string `json:"result"`
	Refused    bool   `json:"refused,omitempty"` // Result is a code, and Detail says why
	Detail     string `json:"detail,omitempty"`
	Count      int    `json:"count,omitempty"` // of requests, where the row is of several
}

// note is what the rows are called.
const note = "agent-auth"

// movedError says that somebody else was faster: what is at a key has changed in the meantime, or
// the configuration where there is no key.
type movedError struct{ key string }

func (e *movedError) Error() string { return "the record has changed in the meantime" }

// change is a batch of changes of records.
type change struct {
	expect map[string]uint64
	put    map[string][]byte
	del    []string
	asks   bool // it has a person asked, and changes nothing of what somebody may do
	told   []asking.Request
}

func newChange() *change {
	return &change{expect: make(map[string]uint64), put: make(map[string][]byte)}
}

// set writes a row in the place of its revision, 0 for none.
func (c *change) set(key string, rev uint64, raw []byte) {
	c.expect[key], c.put[key] = rev, raw
}

func (c *change) host(h *Host, now time.Time) {
	h.Updated = now.UnixMilli()
	c.set(hostKey(h.ID), h.rev, encode(h))
	c.whose(h.User, ofHosts, h.ID)
}

// same has the change be made only while a host is as it was read.
func (c *change) same(h *Host) { c.expect[hostKey(h.ID)] = h.rev }

func (c *change) agent(a *Agent, now time.Time) {
	a.Updated = now.UnixMilli()
	c.set(agentKey(a.ID), a.rev, encode(a))
	c.whose(a.User, ofAgents, a.ID)
}

// Kinds of what a person lists.
const (
	ofHosts  = "host"
	ofAgents = "agent"
)

// whose has a person find what acts for them. A mark stays where that becomes somebody else's: who
// lists reads the record.
func (c *change) whose(user ucan.DID, kind, id string) {
	if !user.IsZero() {
		c.put[personal(user, kind)+id] = nil
	}
}

// write makes a change with its row; a [movedError] where somebody else was faster.
func (r *Room) write(ctx context.Context, c *change, what row) error {
	_, err := r.Ledger.Note(ctx, note, what, ledger.Batch{Expect: c.expect, Put: c.put, Del: c.del})
	if key, moved := ledger.Moved(err); moved {
		return &movedError{key}
	}
	if err != nil {
		return fmt.Errorf("write what %s changes: %w", what.Call, err)
	}
	if !c.asks && !c.adds() {
		r.epoch.Add(1)
	}
	r.Approvals.Tell(c.told)
	return nil
}

// retract makes a change by which delegations of a user are grants no more, and then revokes these: what
// is written first lets none of them count.
func (r *Room) retract(ctx context.Context, c *change, what row, user ucan.DID, tokens []ucan.CID) error {
	if err := r.write(ctx, c, what); err != nil {
		return err
	}
	return r.withdraw(ctx, user, tokens)
}

// adds reports whether a change makes records and leaves all others as they are. Nobody has
// asked what a visitor may do whose id is new, so that strangers who register have no call of
// anybody's decided again.
func (c *change) adds() bool {
	for key := range c.put {
		if c.expect[key] != 0 && strings.HasPrefix(key, prefix) && !strings.HasPrefix(key, slotPrefix) {
			return false
		}
	}
	return !slices.ContainsFunc(c.del, func(key string) bool { return strings.HasPrefix(key, prefix) })
}

// again calls what changes records until nobody else was faster. Who was not waits for all others who
// were not, at the same record, as long as ctx lasts. What is called does not call it again: nobody
// waits at two records.
func (r *Room) again(ctx context.Context, what func() error) error {
	var turn keylock.Held
	defer func() { turn.Unlock() }()
	for at := ""; ; {
		err := what()
		moved, again := errors.AsType[*movedError](err)
		if !again {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if moved.key == at {
			continue
		}
		turn.Unlock()
		if turn, _, err = r.turns.Lock(ctx, moved.key); err != nil {
			return err
		}
		at = moved.key
	}
}
