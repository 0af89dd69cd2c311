// Package agents is the room of a venue where its agents live: their records,
// what each may do at this moment, and the turns that they make. It answers the
// operations agent:create to agent:message.
//
// [NewBook] opens the records, which the gate asks what an agent may do; [New]
// makes the [Room] over them. [Room.Agent] returns an [Agent] for whoever acts:
// to talk with it, and to read what was said.
package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"usher/caps"
	"usher/prompt"
	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/accounts"
	"usher/venue/runs"
)

// Options says what a room works with. Every field is needed.
type Options struct {
	Venue    string // its name, as models are told it
	Book     *Book
	Runs     *runs.Book
	Accounts *accounts.Book
	Keys     keyring
	Programs programs
	Models   models
	Registry registry
	Gate     *tools.Gate
	Mint     *tools.Mint
	Runner   *runtime.Runner
	// MayHave reports why an owner's agents do not work here; nil where they may.
	MayHave func(owner ucan.DID) error
	// Held lists what others have delegated to the principal behind an authority.
	Held func(context.Context, tools.Authority) ([]prompt.Delegation, error)
	// Granted lists what persons have granted whoever has an authority, for the task at hand.
	Granted func(context.Context, tools.Authority) ([]caps.Capability, error)
	// Retire revokes what an independent agent has delegated, and forgets its key.
	Retire func(ctx context.Context, life tools.Life, did ucan.DID) error
	Now    func() time.Time
	NewID  func() (string, error)
	Logger *slog.Logger
}

// keyring makes independent agents the principals that they are.
type keyring interface {
	// Agent returns the DID of an independent agent, whose key is made on first use.
	Agent(ctx context.Context, life tools.Life) (ucan.DID, error)
	// Independent returns the life of the agent whose key the principal is, or "".
	Independent(did ucan.DID) tools.Life
}

// programs are what users keep below o/.
type programs interface {
	// Adopt takes over what others wrote, as it was read; nil is whatever lies there.
	Adopt(ctx context.Context, owner ucan.DID, program caps.Resource, read json.RawMessage) error
}

// models are the models of the venue.
type models interface {
	Model(name string) (runtime.Model, error)
}

// registry lists operations.
type registry interface {
	// All are those that every principal finds.
	All() []*tools.Operation
	// Of are those that owner finds by their names.
	Of(owner ucan.DID) []*tools.Operation
	// Below are those that owner alone has imported below a path.
	Below(ctx context.Context, owner ucan.DID, set caps.Set, path string) ([]*tools.Operation, error)
	// Version is another number whenever an operation is another.
	Version() uint64
}

// Room answers the agent operations. The gate has checked the ability on the
// agent, and that the caller holds what a config hands on; what needs the records
// to decide is decided here.
type Room struct {
	Options
	chats sync.Map // "<life>/<session>" that has a chat: the key of its call
}

var _ agents.Service = (*Room)(nil)

// New returns a room.
func New(o Options) *Room { return &Room{Options: o} }

// NoAgentError says that a user has no agent of an id.
type NoAgentError struct{ ID string }

func (e *NoAgentError) Error() string { return fmt.Sprintf("there is no agent %q", e.ID) }

// Code is [fault.NotFound].
func (e *NoAgentError) Code() fault.Code { return fault.NotFound }

func ownKey(call tools.Call, id string) key { return key{call.Owner(), id} }

// find returns an agent with its record.
func (r *Room) find(ctx context.Context, k key) (*entry, *record, error) {
	e, rec, err := r.Book.get(ctx, k)
	if err == nil && rec == nil {
		err = &NoAgentError{k.id}
	}
	return e, rec, err
}

// Authority is that of the owner's agent, called by nobody: what it does by itself.
func (r *Room) Authority(ctx context.Context, owner ucan.DID, id string) (tools.Authority, error) {
	k := key{owner, id}
	_, rec, err := r.find(ctx, k)
	if err != nil {
		return tools.Authority{}, err
	}
	return r.Mint.Agent(rec.principal(k), rec.life(k)), nil
}

// status is the agent's status as it is now.
func (r *Room) status(k key, stored string) string {
	if stored == agents.Sleeping {
		if e := r.Book.find(k); e != nil && e.busy.Load() > 0 {
			return agents.Running
		}
	}
	return stored
}
