package venue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"usher/runtime"
	"usher/runtime/telemetry"
	"usher/tools"
	"usher/tools/a2a"
	"usher/tools/delegation"
	"usher/tools/workspace"
	"usher/ucan"
	"usher/venue/accounts"
	"usher/venue/agents"
	"usher/venue/approvals"
	"usher/venue/auth"
	"usher/venue/clock"
	"usher/venue/keys"
	"usher/venue/ledger"
	"usher/venue/lending"
	"usher/venue/models"
	"usher/venue/replies"
	"usher/venue/retention"
	"usher/venue/runs"
	"usher/venue/schedules"
	"usher/venue/store"
	"usher/venue/store/journal"
	"usher/venue/store/memory"
	"usher/venue/visitors"
	"usher/venue/webhooks"
)

// Open opens a venue. A folder that holds one already is opened as it was
// left; what Options.Config adds to it is added.
func Open(ctx context.Context, opts *Options) (*Venue, error) {
	o := opts.withDefaults()
	found := newRepairs(o.Told)
	var clock clockRef
	st, err := openStore(&o, found, clock.wasSure)
	if err != nil {
		return nil, fmt.Errorf("open venue: %w", err)
	}
	v := &Venue{
		name: o.Name, log: o.Logger, random: o.Rand, readOnly: o.ReadOnly, store: st, repairs: found,
		ids: ulid.Monotonic(o.Rand, 0),
	}
	v.closing, v.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := v.start(ctx, &o); err != nil {
		return nil, errors.Join(fmt.Errorf("open venue: %w", err), v.Close())
	}
	clock.Store(v.clock)
	return v, nil
}

// clockRef is the clock of a venue, once it has one: the store that the clock is kept in is opened before.
type clockRef struct{ atomic.Pointer[clock.Clock] }

func (b *clockRef) wasSure() (now time.Time, sure bool) {
	if c := b.Load(); c != nil {
		return c.WasSure()
	}
	return now, false
}

func openStore(o *Options, found *repairs, wasSure func() (time.Time, bool)) (*store.Store, error) {
	switch {
	case o.Dir == "" && o.ReadOnly:
		return nil, errors.New("there is no data folder to read: ReadOnly needs Dir")
	case o.Dir == "":
		return memory.Open(), nil
	}
	if !o.ReadOnly && journal.IsNew(o.Dir) {
		if err := ledger.Begins(o.checkpoints()); err != nil { // before a folder is there, and a key in it
			return nil, err
		}
	}
	j, err := journal.Open(o.Dir, &journal.Options{
		Logger: o.Logger, ReadOnly: o.ReadOnly, Keep: o.Retention.Journal, Sure: wasSure, Progress: o.Progress, Told: found.add,
	})
	if err != nil {
		return nil, err
	}
	if o.engine != nil {
		return j.Behind(o.engine), nil
	}
	return j.Store, nil
}

func (v *Venue) start(ctx context.Context, o *Options) (err error) {
	if v.clock, err = clock.Open(ctx, clock.Options{Store: v.store.Under(""), Now: o.Now, Logger: v.log}); err != nil {
		return err
	}
	v.now = v.clock.Now
	if err := v.createLedger(ctx); err != nil {
		return err
	}
	if v.keys, err = keys.Open(ctx, v.store.Under("k/"), keyFile(o.Dir), v.random); err != nil {
		return err
	}
	v.secrets = v.keys.Secrets(v.store.Under("s/"), v.now)
	if err := v.openLedger(ctx, o); err != nil {
		return err
	}
	if !v.readOnly {
		if err := v.clock.Start(ctx, v.ledger); err != nil {
			return err
		}
	}
	if v.tokens, err = ucan.OpenStore(ctx, v.store.Under("t/")); err != nil {
		return err
	}
	v.verifier = &ucan.Verifier{Now: v.now, Self: v.DID(), Roots: v.mayRoot, Signer: v.signer, Store: v.tokens}
	v.desk = &delegation.Desk{
		Verifier: v.verifier, Venue: v.keys.Venue(), Key: v.keys.Of, Rand: v.random, Life: cmp.Or(o.Limits.Delegation, delegation.DefaultLife),
	}
	book := agents.NewBook(v.store.Under("g/"))
	v.lives = &lives{book: book, tokens: v.tokens}
	v.spending = accounts.New(v.store.Under(""), v.log)
	v.outbox = webhooks.NewOutbox(webhooks.OutboxOptions{Store: v.store.Under(""), Secret: v.readSecret, Now: v.now, Logger: v.log})
	v.runs, err = runs.Open(ctx, runs.Options{
		Store: v.store.Under(""), Ledger: v.ledger, Spending: v.spending, Now: v.now, NewID: v.newID, Logger: v.log,
		AtOnce: o.Limits.Runs, MaxTime: o.Limits.RunTime, Notes: notes{v.outbox, v},
		Forget: func(ctx context.Context, of tools.Life, session string) error {
			return v.agents.ForgetSession(ctx, of, session)
		},
	})
	if err != nil {
		return err
	}
	observer, err := telemetry.New(o.Telemetry, v.log)
	if err != nil {
		return err
	}
	v.observer = observer
	v.replies = replies.New(replies.Options{Store: v.store.Under("n/"), Key: v.keys.Derive("replies to requests"), Now: v.now})
	v.registry = new(tools.Registry)
	v.hook = approvals.NewHook(v.log)
	v.approvals = approvals.New(approvals.Options{
		Store: v.store.Under(""), Runs: v.runs, Keys: v.keys, Chains: v.verifier, Now: v.now, NewID: v.newID, Logger: v.log, Told: v.audience(o.Asked),
		Outside: func(ctx context.Context, w approvals.Word) error { return v.lives.visitors.Word(ctx, w) },
		Asks:    book.Asks, Key: v.keys.Derive("digests of calls"), Most: o.Limits.Approvals,
	})
	v.gate, v.mint = tools.NewGate(v.registry, &tools.GateOptions{
		Now:    v.now,
		Ledger: v.records(), Chains: v.verifier, Approvals: v.approver(), Lives: v.lives, Key: v.keys.Derive("seal of authorities"), MaxDepth: o.Limits.CallDepth, Logger: v.log,
		Limits: tools.Amounts{
			Calls: int64(o.Limits.Calls), Bytes: int64(o.Limits.Values), Steps: int64(o.Limits.Steps), Patterns: int64(o.Limits.Patterns), Runs: int64(o.Limits.RunsBegun),
		},
		Observer: observer,
		Secrets:  v.readSecret,
	})
	runner := runtime.New(v.gate, &runtime.Options{
		MaxModelCalls: o.Limits.ModelCalls, ToolTimeout: o.Limits.ToolTimeout, MaxToolResult: o.Limits.ToolResult,
		ToolsAtOnce: o.Limits.ToolsAtOnce,
		OutputTries: o.Limits.OutputTries, Now: v.now, Telemetry: observer, Unbegun: v.approvals.Unbegun,
	})
	if err := v.openModels(ctx, o); err != nil {
		return err
	}
	v.tree = workspace.NewTree(v.store.Under("w/"), &workspace.Options{OnWrite: checkCallable, Logger: v.log, ReadOnly: v.readOnly})
	v.inbox = webhooks.NewInbox(webhooks.InboxOptions{
		Store: v.store.Under(""), Runs: v.runs, Gate: v.gate, Mint: v.mint, Secret: v.readSecret, Now: v.now, NewID: v.newID, Logger: v.log,
	})
	v.auth = auth.New(auth.Options{
		Store: v.store.Under("i/"), Keys: v.keys, Mint: v.mint, Verifier: v.verifier, Now: v.now, Sure: v.clock.Sure, NewID: v.newID, Rand: v.random, Logger: v.log, Secret: v.secret, Auth: o.Auth,
	})
	if v.pushes, err = v.newPushes(); err != nil {
		return err
	}
	v.abroad, v.others = v.newAbroad(), a2a.New(v.now, v.auth.MayReach)
	v.lives.visitors = visitors.New(visitors.Options{
		Store: v.store.Under(""), Ledger: v.ledger, Keys: v.keys, Mint: v.mint, Resolve: v.gate.Resolve, Verifier: v.verifier,
		Approvals: v.approvals, Once: v.auth.Once, Guest: v.auth.TakeGuest, Withdraw: v.desk.Revoke, Secret: v.readSecret,
		Key: v.keys.Derive("codes of visitors"), Now: v.now, NewID: v.newID, Rand: v.random, Logger: v.log,
	})
	v.agents = agents.New(agents.Options{
		Venue: v.name, Book: book, Runs: v.runs, Accounts: v.spending, Keys: v.keys, Programs: v.tree, Models: v.models,
		Registry: v.registry, Gate: v.gate, Mint: v.mint, Runner: runner, MayHave: v.auth.MayHaveAgents, Held: v.delegationsTo, Granted: v.approvals.Grants, Retire: v.retire, Now: v.now, NewID: v.newID, Logger: v.log,
	})
	isAgent := func(did ucan.DID) bool { return v.keys.Independent(did) != "" }
	v.jobs = &jobs{v.runs, v.agents.Discreet, v.approvals.Unbegun, isAgent}
	v.lending = lending.New(lending.Options{
		Store: v.store.Under("q/"), Gate: v.gate, Mint: v.mint, Runs: v.runs, Key: v.keys.Of, Verifier: v.verifier, Agent: v.agents.Authority, Stands: v.auth.Stands, Now: v.now, Rand: v.random,
	})
	v.timer = schedules.New(schedules.Options{
		Store: v.store.Under(""), Runs: v.runs, Gate: v.gate, Mint: v.mint, Agents: v.agents, Now: v.now, NewID: v.newID, Logger: v.log,
		Charged: func(ctx context.Context, auth tools.Authority) (context.Context, error) {
			return v.withBudgets(ctx, auth, auth.Owner(), nil)
		},
		Most: o.Limits.Schedules,
	})
	var owner ucan.DID // zero, who is nobody, without a configuration
	if o.Config != nil && !v.readOnly {
		if owner, err = v.keys.User(ctx, cmp.Or(o.Config.User, defaultUser)); err != nil {
			return err
		}
	}
	v.servers = v.newServers(owner, o)
	if err := v.fillRegistry(o.Tools); err != nil {
		return err
	}
	if v.readOnly {
		if o.Config != nil {
			return v.setVisits(ctx, o.Config)
		}
		return nil
	}
	if c := o.Config; c != nil {
		u, err := v.User(ctx, cmp.Or(c.User, defaultUser))
		if err != nil {
			return err
		}
		if err := v.configure(ctx, c, u); err != nil {
			return err
		}
	}
	return v.begin(ctx, o)
}

// begin goes on with what was left, and does from now on what is done in the background.
func (v *Venue) begin(ctx context.Context, o *Options) error {
	v.work.Go(func() { v.clock.Watch(v.closing) })
	v.keeper = retention.New(retention.Options{Keep: o.Retention, Clock: v.clock, Tokens: v.tokens, Runs: v.runs, Approvals: v.approvals, Ledger: v.ledger, Logger: v.log})
	v.work.Go(func() { v.keeper.Run(v.closing) })
	v.work.Go(v.noteRepairs)
	v.work.Go(func() { v.lives.visitors.Run(v.closing) })
	if err := v.afterRestore(ctx); err != nil {
		return err
	}
	if err := v.runs.Drive(ctx, driver{v}, !o.Idle); err != nil {
		return err
	}
	if !o.Idle {
		v.work.Go(func() { v.timer.Run(v.closing) })
		v.work.Go(func() { v.approvals.Run(v.closing) })
		v.work.Go(func() { v.outbox.Run(v.closing) })
		v.work.Go(func() { v.pushes.Run(v.closing) })
		v.work.Go(func() { v.abroad.Run(v.closing) })
	}
	return nil
}

// defaultUser owns what a configuration holds that names no user.
const defaultUser = "owner"

func (v *Venue) openModels(ctx context.Context, o *Options) (err error) {
	of := models.Options{Config: o.Config, Brought: o.Models, Providers: o.Providers, Logger: v.log}
	if o.Config != nil {
		owner, err := v.keys.User(ctx, cmp.Or(o.Config.User, defaultUser))
		if err != nil {
			return err
		}
		v.secret = v.secretOf(owner)
		of.Secret = v.secret
	}
	v.models, err = models.Open(ctx, of)
	return err
}
