package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/schema"
)

// Create creates an agent, or replaces one.
func (r *Room) Create(ctx context.Context, call tools.Call, in agents.Create) (agents.CreateResult, error) {
	spec := in.Config
	spec.ID = in.AgentID
	if err := r.check(ctx, call, &spec); err != nil {
		return agents.CreateResult{}, err
	}
	if err := r.findTools(ctx, call, spec.ID, spec.Tools); err != nil {
		return agents.CreateResult{}, err
	}
	created, _, err := r.put(ctx, call, spec, in.Overwrite, call.Caps(), tools.Bound{})
	return created, err
}

// Fork copies an agent.
func (r *Room) Fork(ctx context.Context, call tools.Call, in agents.Fork) (agents.CreateResult, error) {
	source := in.SourceID
	from, src, err := r.find(ctx, ownKey(call, source))
	if err != nil {
		return agents.CreateResult{}, err
	}
	if source == in.AgentID {
		return agents.CreateResult{}, fmt.Errorf("an agent cannot be forked onto itself: give agentId another id than %s", source)
	}
	spec := merge(src.Config, in.Config)
	spec.ID = in.AgentID
	if parent := src.Config.Parent; in.Config.Parent == "" && parent != "" && !call.Caps().Check(agents.Below(parent)).IsAllowed() {
		spec.Parent = "" // a copy is paid for by whoever makes it, not by others unasked
	}
	if err := r.check(ctx, call, &spec); err != nil {
		return agents.CreateResult{}, err
	}
	if err := r.findTools(ctx, call, spec.ID, spec.Tools); err != nil {
		return agents.CreateResult{}, err
	}
	all, principal := r.Book.effective(from), src.principal(from.key)
	inherits := all.AsSeenBy(call.Owner().String(), principal.String())
	if in.IncludeTimeline {
		// Its past holds what it could read, also before a giver was narrowed.
		if err := r.atMost(call, source, src.Caps, principal); err != nil {
			return agents.CreateResult{}, err
		}
	}
	var copied tools.Bound
	if in.Config.Context == nil {
		copied = src.Wrote
	}
	created, rec, err := r.put(ctx, call, spec, in.Overwrite, inherits, copied)
	if err != nil {
		return agents.CreateResult{}, err
	}
	if in.IncludeTimeline && (created.Created || created.Updated) {
		k := ownKey(call, spec.ID)
		if err := r.Runs.Sessions().Copy(ctx, src.life(from.key), rec.life(k)); err != nil {
			return agents.CreateResult{}, err
		}
		if err := r.Accounts.CopySessions(ctx, src.account(from.key), rec.account(k)); err != nil {
			return agents.CreateResult{}, err
		}
	}
	created.ForkedFrom = source
	return created, nil
}

// put creates the agent's record, or replaces it where overwrite says so. What
// the spec does not list it has from otherwise; copied bounds its context beside the call.
func (r *Room) put(ctx context.Context, call tools.Call, spec agents.Spec, overwrite bool, otherwise caps.Set, copied tools.Bound) (agents.CreateResult, *record, error) {
	out := agents.CreateResult{AgentID: spec.ID}
	k := ownKey(call, spec.ID)
	if err := r.MayHave(k.owner); err != nil {
		return out, nil, err
	}
	life, err := r.NewID()
	if err != nil {
		return out, nil, err
	}
	set := capsToGive(spec, otherwise)
	if err := r.atMost(call, spec.ID, set, call.Owner()); err != nil {
		return out, nil, err
	}
	if r.Keys.Independent(call.Owner()).Agent() == spec.ID {
		return out, nil, fmt.Errorf("%s is the agent whose namespace this is: choose another id", spec.ID)
	}
	var past *record // the one whose place is taken
	rec, err := r.Book.change(ctx, call, k, func(old *record) (*record, error) {
		out.Created, out.Updated, past = old == nil || old.Status == agents.Terminated, false, nil
		if old != nil && !overwrite {
			out.Created = false
			return old, nil
		}
		now := r.Now().UnixMilli()
		rec := &record{Status: agents.Sleeping, Life: life, Config: bare(spec), Created: now, Updated: now}
		before := rec.life(k)
		if old != nil {
			before = old.life(k)
			// Replacing an agent takes over its place, and its budgets.
			if err := r.atMost(call, spec.ID, old.Caps, old.principal(k)); err != nil {
				return nil, err
			}
			if err := mayLoosen(call, k, old, rec.Config.Budgets); err != nil {
				return nil, err
			}
			// Another principal is another agent: what it began ends.
			out.Updated = !out.Created && (old.DID != "") == (spec.Identity == agents.IdentityOwn)
			if out.Updated {
				rec.Life, rec.Created, rec.Account = old.Life, old.Created, old.Account
			} else {
				out.Created, past = true, old
			}
			if old.Status != agents.Terminated {
				rec.Status, rec.Failing = old.Status, old.Failing // one that is suspended is resumed, not replaced
			}
			if !byOwner(call) {
				rec.Givers = old.Givers // who bounded the one before bounds this one
				rec.Account = cmp.Or(old.Account, old.Life)
			}
		}
		rec.Wrote = boundOf(call, before, rec.life(k)).And(copied)
		rec.Givers = addGivers(rec.Givers, call, k)
		if err := r.addParent(ctx, rec, k, spec.Parent); err != nil {
			return nil, err
		}
		if spec.Identity == agents.IdentityOwn {
			own, err := r.Keys.Agent(ctx, rec.life(k))
			if err != nil {
				return nil, err
			}
			rec.DID = own.String()
		}
		rec.Caps = principalCaps(spec, set, rec.principal(k), call)
		return rec, nil
	})
	if err != nil {
		return out, nil, err
	}
	if past != nil {
		if err := r.conclude(ctx, k, past); err != nil {
			return out, nil, err
		}
		if err := r.bury(ctx, k, past, rec.account(k)); err != nil {
			return out, nil, err
		}
	}
	r.newLimits(k, rec)
	out.Status = rec.Status
	return out, rec, nil
}

// errUnfound ends a change of an agent whose tools nobody has looked for yet.
var errUnfound = errors.New("the tools are to be found first") // never leaves the package

// Update replaces fields of an agent's config.
func (r *Room) Update(ctx context.Context, call tools.Call, in agents.Update) (agents.State, error) {
	changes := in.Config
	changes.ID = in.AgentID
	k := ownKey(call, changes.ID)
	self, _, err := r.find(ctx, k)
	if err != nil {
		return agents.State{}, err
	}
	var wanted, found []string // tools
	update := func(old, next *record) (*record, error) {
		if old.Status == agents.Terminated {
			return nil, fmt.Errorf("agent %s is TERMINATED: create it again with overwrite", changes.ID)
		}
		if changes.Identity != "" && changes.Identity != cmp.Or(old.Config.Identity, agents.IdentityOwner) {
			return nil, fmt.Errorf("agent %s: who an agent acts as cannot change: create another one", changes.ID)
		}
		next.Config = bare(merge(old.Config, changes))
		if changes.Context != nil {
			next.Wrote = call.Authority().Bound()
		}
		principal := old.principal(k)
		// Whoever writes an agent's prompt speaks through it: an agent cannot
		// do so with one that may do more than itself. Of itself it changes
		// what it may do now, when it does not act for somebody narrower.
		after := old.Caps
		if call.Actor() == changes.ID {
			after = r.Book.effective(self)
		}
		if changes.Caps.Present() {
			next.Caps = principalCaps(changes, capsToGive(changes, call.Caps()), principal, call)
			next.Givers = addGivers(old.Givers, call, k)
			after = next.Caps
		}
		if err := mayLoosen(call, k, old, next.Config.Budgets); err != nil {
			return nil, err
		}
		if err := r.atMost(call, changes.ID, after, principal); err != nil {
			return nil, err
		}
		if err := r.addParent(ctx, next, k, changes.Parent); err != nil {
			return nil, err
		}
		if err := next.Config.Check(); err != nil {
			return nil, err
		}
		if wanted = next.Config.Tools; !slices.Equal(wanted, found) {
			return nil, errUnfound
		}
		return next, r.check(ctx, call, &next.Config)
	}
	// To look for tools can mean to ask a server: nobody who changes the agent, such as to
	// suspend it, waits for that.
	rec, err := r.revise(ctx, call, k, update)
	for try := 0; errors.Is(err, errUnfound); try++ {
		if try == maxChanges {
			return agents.State{}, errChanging
		}
		if err := r.findTools(ctx, call, changes.ID, wanted); err != nil {
			return agents.State{}, err
		}
		found = wanted
		rec, err = r.revise(ctx, call, k, update)
	}
	if err != nil {
		return agents.State{}, err
	}
	r.newLimits(k, rec)
	return agents.State{AgentID: changes.ID, Status: r.status(k, rec.Status)}, nil
}

// maxCaps bounds the capabilities that an agent is given: two agents can have
// the product of their numbers in common.
const maxCaps = 256

// check says what is wrong with a spec in this venue, its tools aside.
func (r *Room) check(ctx context.Context, call tools.Call, spec *agents.Spec) error {
	if err := spec.Check(); err != nil {
		return err
	}
	if set, _ := spec.Caps.Set(); set.Len() > maxCaps {
		return fmt.Errorf("agent %s: %d capabilities, at most %d: give wider ones, or several agents", spec.ID, set.Len(), maxCaps)
	}
	if _, err := r.model(spec); err != nil {
		return err
	}
	if len(spec.Output) > 0 {
		if _, err := schema.Compile(ctx, spec.Output, call.Meter().ChargeSchema); err != nil {
			return fmt.Errorf("output schema of agent %s: %w", spec.ID, err)
		}
	}
	return nil
}

// findTools says which tools of an agent there are none of.
func (r *Room) findTools(ctx context.Context, call tools.Call, id string, refs []string) error {
	for _, ref := range refs {
		if !strings.Contains(ref, ":") {
			// Below o/ things may be made later, and are not everybody's to know.
			continue
		}
		if _, err := r.toolsOf(ctx, call.Authority(), ref); err != nil {
			return fmt.Errorf("tools of agent %s: %w", id, err)
		}
	}
	return nil
}
