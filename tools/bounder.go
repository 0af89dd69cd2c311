package tools

import (
	"context"
	"strings"

	"usher/caps"
)

// someone is who bounds an agent that may not know who that is.
const someone = "another agent"

// bounder names the agent that asked and in whose capabilities alone a call is not
// met, the nearest first; "" where the actor's own do not meet it either, and where
// nobody bounds it. An agent of another owner is not named.
func (a Authority) bounder(ctx context.Context, met func(caps.Set) bool) string {
	l := a.line()
	last := len(l.chain) - 1
	if last == 0 || l.mint == nil || l.chain[last].Own || l.chain[last].Agent == "" {
		return ""
	}
	alone := func(i int) caps.Set {
		set, _ := newLineage(l.mint, l.owner, l.chain[i:i+1], nil).live(ctx)
		return set
	}
	if !met(alone(last)) {
		return ""
	}
	for i := last - 1; i >= 0; i-- {
		asker := l.chain[i].Agent
		if asker != "" && !met(alone(i)) {
			if asker.Owner() != l.chain[last].Agent.Owner() {
				return someone
			}
			return asker.Agent()
		}
		if l.chain[i].Own {
			break
		}
	}
	return ""
}

// authors names the owner's own agents that wrote what runs in a call of the owner, who may know.
func (a Authority) authors() string {
	if a.Actor() != "" || len(a.Bound().Within) > 0 {
		return ""
	}
	var names []string
	for _, life := range a.Bound().Lives {
		if life.Owner() == a.Owner().String() {
			names = append(names, life.Agent())
		}
	}
	return strings.Join(names, " and ")
}
