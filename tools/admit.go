package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"usher/caps"
	"usher/ucan"
)

// Bounds of what a call can bring.
const (
	MaxInput     = 4 << 20 // bytes of input
	MaxReference = 1 << 10 // bytes of a reference to an operation
)

// admit checks what needs no operation: whose authority it is, and its limits.
func (g *Gate) admit(ctx context.Context, auth Authority, inv Invocation) (Authority, error) {
	switch {
	case auth.mint != g.mint || auth.owner.IsZero():
		return auth, ErrForeignAuthority
	case auth.depth >= g.maxDepth:
		return auth, fmt.Errorf("%w (%d)", ErrTooDeep, g.maxDepth)
	case len(inv.Input) > MaxInput:
		return auth, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(inv.Input), MaxInput)
	}
	if auth.budget == nil {
		auth.budget = newBudget(g.maxCalls)
	}
	if !auth.budget.take() {
		return auth, fmt.Errorf("%w (%d)", ErrTooMany, g.maxCalls)
	}
	return auth, ctx.Err()
}

// resolve finds the operation. What lies below o/ in the owner's namespace is
// data, too: who may neither run nor read it is told the same whether or not
// anything is there.
func (g *Gate) resolve(ctx context.Context, auth Authority, reference string, input json.RawMessage) (*Operation, error) {
	at, below := ownOperation(auth.owner, reference)
	if !below {
		return g.registry.Resolve(ctx, auth.owner, reference)
	}
	held := auth.Caps()
	run := held.Check(caps.NeedOn("invoke", at))
	if run.Allowed() || held.Check(caps.NeedOn("crud/read", at)).Allowed() {
		return g.registry.Resolve(ctx, auth.owner, reference)
	}
	denial := run.Denial(at.String())
	if g.ledger != nil {
		hidden := &Operation{path: at.String()}
		if _, err := g.record(ctx, auth, hidden, input, []Requirement{RequirementOf(run)}, denial.Error()); err != nil {
			return nil, err
		}
	}
	return nil, denial
}

// ownOperation parses a reference to an operation that a user keeps below o/.
func ownOperation(owner ucan.DID, reference string) (at caps.Resource, ok bool) {
	if len(reference) > MaxReference {
		return at, false
	}
	at, err := caps.ParseResource(reference)
	if err != nil {
		return at, false
	}
	at = at.In(owner.String())
	return at, strings.HasPrefix(at.String(), "o/")
}
