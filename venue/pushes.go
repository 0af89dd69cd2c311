package venue

import (
	"cmp"
	"context"
	"slices"

	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/runs"
	"usher/venue/webhooks"
)

// notes are those who are told of runs.
type notes struct {
	*webhooks.Outbox
	v *Venue
}

var _ runs.Notes = notes{}

// OnStore has webhooks and pushes be told.
func (n notes) OnStore(owner ucan.DID, run string) {
	n.Outbox.OnStore()
	n.v.pushes.OnStore(owner, run)
}

// Beside is where the pushes of a run lie.
func (n notes) Beside(run string) string { return webhooks.PushesOf(run) }

func (v *Venue) newPushes() (*webhooks.Pushes, error) {
	key, err := ucan.KeyFromSeed(v.keys.Derive("addresses of push notifications"))
	if err != nil {
		return nil, err
	}
	sealer, err := ucan.NewSealer(key)
	if err != nil {
		return nil, err
	}
	return webhooks.NewPushes(webhooks.PushOptions{
		Store: v.store.Under(""), Runs: v.runs, Gate: v.gate, Mint: v.mint, Sealer: sealer, Stands: v.auth.Stands, Now: v.now, Logger: v.log,
		Private: func(host string) bool {
			c := v.applied.now.Load()
			return c != nil && slices.Contains(c.A2A.PrivatePushes, host)
		},
	}), nil
}

// PushBy says how addresses are told of runs. Until somebody says, they are told nothing.
func (v *Venue) PushBy(tell webhooks.Tell) { v.pushes.By(tell) }

// ErrNoPush is for who came without a token: whoever comes next is the same principal.
var ErrNoPush = fault.New(fault.Refused, "who comes without a token is told of nothing later: come with one")

// CheckPush says why the principal may not set a push now: of a run that has not begun where in
// names none.
func (p *Principal) CheckPush(ctx context.Context, in webhooks.Push) error {
	if err := p.mayPush(ctx, cmp.Or(in.Run, "new")); err != nil {
		return err
	}
	return p.pushes.Check(ctx, p.auth, in)
}

func (p *Principal) mayPush(ctx context.Context, run string) error {
	if p.auth.Bearer() == "" && !p.auth.IsUnbounded() {
		return ErrNoPush
	}
	return p.Still(ctx, "grid:jobStatus", byID{run})
}

// SetPush has an address be told how a run stands, whenever that stands otherwise, as long
// as the principal may look at it. It is grid:jobStatus, again and again.
func (p *Principal) SetPush(ctx context.Context, in webhooks.Push) error {
	if err := p.mayPush(ctx, in.Run); err != nil {
		return err
	}
	if err := p.may(ctx, "grid:jobStatus", byID{in.Run}); err != nil {
		return err
	}
	return p.pushes.Set(ctx, p.auth, in)
}

// Pushes lists the pushes of a run, without their secrets: all to a user in person, and to
// whoever is bounded those that they have set.
func (p *Principal) Pushes(ctx context.Context, run string) ([]webhooks.Push, error) {
	if err := p.may(ctx, "grid:jobStatus", byID{run}); err != nil {
		return nil, err
	}
	return p.pushes.List(ctx, p.auth, run)
}

// RemovePush ends a push of a run that [Principal.Pushes] lists.
func (p *Principal) RemovePush(ctx context.Context, run, id string) error {
	if err := p.may(ctx, "grid:jobStatus", byID{run}); err != nil {
		return err
	}
	return p.pushes.Remove(ctx, p.auth, run, id)
}
