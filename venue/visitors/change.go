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

// staleError says that somebody else was faster: what is at a key has changed in the meantime, or
// the configuration where there is no key.
type staleError struct{ key string }

func (e *staleError) Error() string { return "the record has changed in the meantime" }

// change is what one request changes: a batch of records with its row in the ledger, and what
// becomes of delegations by it.
type change struct {
	ledger.Batch
	row    row  // has no Call where none is written
	asks   bool // it has a person asked, and changes nothing of what somebody may do
	told   []asking.Request
	signed []delegation // for it: they end where it is not made
	ended  []delegation // by it: what is written first lets none of them count
}

// delegation is a token that a user has issued.
type delegation struct {
	user  ucan.DID
	token ucan.CID
}

func newChange() *change {
	return &change{Batch: ledger.Batch{Expect: make(map[string]uint64), Put: make(map[string][]byte)}}
}

// set writes a row in the place of its revision, 0 for none.
func (c *change) set(key string, rev uint64, raw []byte) {
	c.Expect[key], c.Put[key] = rev, raw
}

// end has grants of an agent be in another status that are active or pending, and their delegations
// end; n is how many.
func (c *change) end(a *Agent, status Status, now time.Time, which func(*Grant) bool) (n int) {
	for i := range a.Grants {
		g := &a.Grants[i]
		if (g.Status != Active && g.Status != Pending) || !which(g) {
			continue
		}
		for _, token := range g.Tokens {
			c.ended = append(c.ended, delegation{a.User, token})
		}
		g.Status, g.Updated = status, now.UnixMilli()
		n++
	}
	return n
}

func every(*Grant) bool { return true }

// says is the row of a change of an agent, by a host or an agent, or else by a person.
func (c *change) says(by *Caller, who ucan.DID, call string, a *Agent, result string) {
	c.row = by.row(call)
	c.row.Agent, c.row.Host, c.row.Result = a.ID, a.Host, result
	if by == nil {
		c.row.User = who.String()
	}
}

func (c *change) host(h *Host, now time.Time) {
	h.Updated = now.UnixMilli()
	c.set(hostKey(h.ID), h.rev, encode(h))
	c.whose(h.User, ofHosts, h.ID)
}

// same has the change be made only while a host is as it was read.
func (c *change) same(h *Host) { c.Expect[hostKey(h.ID)] = h.rev }

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
		c.Put[personal(user, kind)+id] = nil
	}
}

// write makes a change; a [staleError] where somebody else was faster.
func (r *Room) write(ctx context.Context, c *change) (err error) {
	moved := ""
	if c.row.Call == "" {
		moved, err = r.Store.Apply(ctx, c.Expect, c.Put, c.Del)
	} else if _, err = r.Ledger.Note(ctx, note, c.row, c.Batch); err != nil {
		if moved, _ = ledger.StaleKey(err); moved == "" {
			err = fmt.Errorf("write what %s changes: %w", c.row.Call, err)
		}
	}
	if moved != "" {
		return &staleError{moved}
	}
	if err != nil {
		return err
	}
	if !c.asks && !c.adds() {
		r.epoch.Add(1)
	}
	r.Approvals.Tell(c.told)
	c.signed = nil
	for _, d := range c.ended {
		if err := r.Withdraw(ctx, d.user, d.token); err != nil {
			return err
		}
	}
	return nil
}

// undo revokes what was signed for a change that was not made.
func (r *Room) undo(ctx context.Context, c *change) {
	for _, d := range c.signed {
		if err := r.Withdraw(context.WithoutCancel(ctx), d.user, d.token); err != nil {
			r.Logger.ErrorContext(ctx, "a delegation stays that no grant has", "token", d.token, "error", err)
		}
	}
}

// adds reports whether a change makes records and leaves all others as they are. Nobody has
// asked what a visitor may do whose id is new, so that strangers who register have no call of
// anybody's decided again.
func (c *change) adds() bool {
	for key := range c.Put {
		if c.Expect[key] != 0 && strings.HasPrefix(key, prefix) && !strings.HasPrefix(key, slotPrefix) {
			return false
		}
	}
	return !slices.ContainsFunc(c.Del, func(key string) bool { return strings.HasPrefix(key, prefix) })
}

// again has what make a change, which may be none, and writes it, until nobody else was faster. Who
// was not waits for all others who were not, at the same record, as long as ctx lasts. What is called
// does not call it again: nobody waits at two records.
func (r *Room) again(ctx context.Context, what func(c *change) error) error {
	var turn keylock.Hold
	defer func() { turn.Unlock() }()
	for at := ""; ; {
		c := newChange()
		err := what(c)
		if err == nil && len(c.Put)+len(c.Del) > 0 {
			err = r.write(ctx, c)
		}
		moved, again := errors.AsType[*staleError](err)
		if err != nil {
			r.undo(ctx, c)
		}
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
