package agents

import (
	"context"
	"fmt"
	"slices"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/form"
	"usher/ucan"
)

// principalCaps is a set as the agent's principal writes it. What a spec lists is
// written by that principal already; what is passed on, by the giver. What the giver
// is denied stays denied, also where the agent is the giver itself, or made it.
func principalCaps(spec agents.Spec, set caps.Set, principal ucan.DID, call tools.Call) caps.Set {
	reader, giver := principal.String(), call.Owner().String()
	if _, listed := spec.Caps.Set(); listed {
		set = set.In(reader)
	} else {
		set = set.AsSeenBy(reader, giver)
	}
	return set.WithDenials(call.Caps().AsSeenBy(reader, giver))
}

// addGivers adds those who bound the call to those that an agent has its
// capabilities from. The owner in person bounds nothing, nor does the agent
// itself.
func addGivers(givers []tools.Life, call tools.Call, k key) []tools.Life {
	givers = slices.Clone(givers)
	for _, life := range call.Authority().Bound().Lives {
		if keyOf(life) != k && !slices.Contains(givers, life) {
			givers = append(givers, life)
		}
	}
	return givers
}

// byOwner reports whether a call is the owner's own: no agent makes it for them, nor a
// program that one wrote.
func byOwner(call tools.Call) bool {
	return call.Actor() == "" && call.Authority().Bound().IsZero()
}

// boundOf is what bounds a context that the call writes. Its entries are stored and
// asked later, as programs are, whatever the agent may do by then, and in copies of it. An
// agent that begins another life of its own writes for that one.
func boundOf(call tools.Call, old, next tools.Life) tools.Bound {
	by := call.Authority().Bound()
	if i := slices.Index(by.Lives, old); i >= 0 {
		by.Lives = slices.Clone(by.Lives)
		by.Lives[i] = next
	}
	return by
}

// addParent lets another agent bound the record, which only narrows it.
func (r *Room) addParent(ctx context.Context, rec *record, k key, parent string) error {
	if parent == "" || parent == k.id {
		return nil
	}
	_, giver, err := r.find(ctx, key{k.owner, parent})
	if err != nil {
		return fmt.Errorf("parent of agent %s: %w", k.id, err)
	}
	if life := giver.life(key{k.owner, parent}); !slices.Contains(rec.Givers, life) {
		rec.Givers = append(slices.Clone(rec.Givers), life)
	}
	return nil
}

// capsToGive is what a spec gives the agent: what it says, or else what the giver
// passes on.
func capsToGive(spec agents.Spec, otherwise caps.Set) caps.Set {
	if set, listed := spec.Caps.Set(); listed {
		return set
	}
	return otherwise
}

// atMost refuses a capability set, as its principal writes it, beyond the
// caller's own, naming what the caller lacks first, where it may know. The
// caller's is translated, not the other: what is lost in translation then
// narrows the caller.
func (r *Room) atMost(call tools.Call, agent string, set caps.Set, principal ucan.DID) error {
	mine := call.Caps()
	here := mine.AsSeenBy(principal.String(), call.Owner().String())
	missing := here.Gaps(set)
	if len(missing) == 0 {
		return nil
	}
	denial := &caps.Denial{
		Operation: call.Operation(), Ability: "*", Capabilities: mine,
		Why: fmt.Sprintf("Agent %s would hold more than you do, and an agent can hand on at most what it holds itself.", agent),
	}
	known := mine.Check(caps.Need("agent/read", "g/"+agent)).IsAllowed()
	if known {
		denial.Ability, denial.Resource = missing[0].Can(), missing[0].Resource().String()
		if !missing[0].IsPlain() || !mine.IsPlain() {
			denial.Why += " What is missing is " + missing[0].String() + "."
		}
	}
	return denial
}

// creators are the ids of those that an agent has its capabilities from, as
// far as they may be known.
func creators(rec *record, known func(key) bool) []string {
	var ids []string
	for _, life := range rec.Givers {
		if known(keyOf(life)) {
			ids = append(ids, life.Agent())
		}
	}
	return ids
}

// idleGivers are those above an agent, as far as they may be known, that give it
// nothing now: they are suspended, have ended, or another life has their id.
func (r *Room) idleGivers(ctx context.Context, k key, rec *record, known func(key) bool) (all []agents.Giver, err error) {
	own := rec.life(k)
	for at, err := range lineage(ctx, r.Book.get, sameLife, own) {
		if err != nil {
			return nil, err
		}
		if at.life == own || !known(at.key) || at.rec != nil && at.rec.Status == agents.Sleeping {
			continue
		}
		giver := agents.Giver{AgentID: at.key.id, Status: agents.Terminated}
		if at.rec != nil {
			giver.Status = at.rec.Status
		}
		all = append(all, giver)
	}
	return all, nil
}

// bare is the spec as it is kept: capabilities stand apart, and budgets that
// bound nothing are none.
func bare(spec agents.Spec) agents.Spec {
	spec.Caps = caps.Declaration{}
	if spec.Budgets != nil && *spec.Budgets == (agents.Budgets{}) {
		spec.Budgets = nil
	}
	return spec
}

// merge returns the config with what changes says in its place. What an agent
// may do stands apart from it.
func merge(base, changes agents.Spec) agents.Spec {
	out := form.Over(base, changes)
	out.Caps = changes.Caps
	return out
}
