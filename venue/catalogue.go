package venue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"usher/caps"
	"usher/tools"
	"usher/tools/a2a"
	"usher/tools/agentauth"
	"usher/tools/agents"
	"usher/tools/approvals"
	"usher/tools/audit"
	"usher/tools/delegation"
	"usher/tools/grid"
	"usher/tools/jsonop"
	"usher/tools/lending"
	"usher/tools/mcp"
	"usher/tools/orchestrate"
	"usher/tools/scheduler"
	"usher/tools/schemaop"
	"usher/tools/secrets"
	"usher/tools/tokens"
	"usher/tools/workspace"
	"usher/ucan"
)

// builtin returns the operations that every venue has. They are complete in
// what they require; those over a venue that is not open cannot run.
func builtin(v *Venue) []*tools.Operation {
	var ops []*tools.Operation
	ops = append(ops, workspace.Operations(v.tree)...)
	ops = append(ops, agents.Operations(v.agents)...)
	ops = append(ops, grid.Operations(v.jobs)...)
	ops = append(ops, approvals.Operations(v.approvals)...)
	ops = append(ops, tokens.Operations(v.auth)...)
	ops = append(ops, audit.Operations(newAudits(v.ledger))...)
	ops = append(ops, scheduler.Operations(v.timer)...)
	ops = append(ops, delegation.Operations(v.desk)...)
	ops = append(ops, secrets.Operations(v.secrets)...)
	ops = append(ops, mcp.Operations(v.servers)...)
	ops = append(ops, lending.Operations(v.lending)...)
	ops = append(ops, agentauth.Operations(v.abroad)...)
	ops = append(ops, a2a.Operations(v.others)...)
	ops = append(ops, jsonop.Operations()...)
	ops = append(ops, schemaop.Operations()...)
	return ops
}

// Catalogue returns the built-in operations without a venue to run them: what
// they require of a caller can be asked, for example to check capabilities. more are those of
// a program beside them, as [Options] has them.
func Catalogue(more ...*tools.Operation) (*tools.Registry, error) {
	registry := new(tools.Registry)
	if err := registry.Declare(builtin(&Venue{registry: registry})...); err != nil {
		return nil, err
	}
	return registry, registry.Register(more...)
}

func (v *Venue) fillRegistry(more []*tools.Operation) error {
	if err := v.registry.Declare(builtin(v)...); err != nil {
		return err
	}
	if err := v.registry.Register(more...); err != nil {
		return err
	}
	cache := &callables{tree: v.tree, registry: v.registry, jobs: v.jobs, made: make(map[callableKey]callable)}
	v.registry.SetResolver(cache.resolve)
	return nil
}

// checkCallable refuses an orchestration that could never run when it is
// written below o/.
func checkCallable(ctx context.Context, v any, meter *tools.Meter) error {
	return orchestrate.Check(ctx, v, meter.ChargeSchema)
}

// callables makes operations of what users keep below o/, and remembers some of
// them by the revision of the stored value.
type callables struct {
	tree     *workspace.Tree
	registry *tools.Registry
	jobs     *jobs

	mu   sync.Mutex
	made map[callableKey]callable
}

// maxCallables bounds what is remembered: programs are made and removed without end.
const maxCallables = 4096

type callableKey struct {
	owner ucan.DID
	path  string
}

type callable struct {
	rev, signed uint64 // of the value, and of the record of its authors
	op          *tools.Operation
}

func (c *callables) resolve(ctx context.Context, owner ucan.DID, at caps.Resource, meter *tools.Meter) (*tools.Operation, error) {
	rev, err := c.tree.Revision(ctx, owner.String(), at)
	if err != nil || rev == 0 {
		return nil, err
	}
	author, signed, err := c.tree.Authors(ctx, owner.String(), at)
	if err != nil {
		return nil, err
	}
	key := callableKey{owner, at.String()}
	if known := c.find(key); known.rev == rev && known.signed == signed {
		return known.op, nil
	}
	raw, rev, err := c.tree.Get(ctx, owner.String(), at)
	if err != nil || rev == 0 {
		return nil, err
	}
	// Who wrote is read before and after: what is compiled is what they wrote.
	if _, now, err := c.tree.Authors(ctx, owner.String(), at); err != nil || now != signed {
		return nil, errors.Join(err, workspace.ErrBusy)
	}
	op, err := c.compile(ctx, owner, at.String(), raw, author.In(owner), meter)
	if err != nil {
		return nil, err
	}
	op = op.WithDocument(raw)
	c.keep(key, callable{rev, signed, op})
	return op, nil
}

func (c *callables) find(key callableKey) callable {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made[key]
}

func (c *callables) keep(key callableKey, made callable) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.made) >= maxCallables {
		clear(c.made)
	}
	c.made[key] = made
}

// compile makes the operation that a stored value means: an orchestration, or
// another operation that it pins a name to, which then is what is called.
func (c *callables) compile(ctx context.Context, owner ucan.DID, path string, raw json.RawMessage, authors tools.Bound, meter *tools.Meter) (*tools.Operation, error) {
	var doc struct {
		Operation struct {
			Adapter string `json:"adapter"`
		} `json:"operation"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil || doc.Operation.Adapter == "" {
		return nil, fmt.Errorf("%s holds a value that is no operation: it has no operation.adapter", path)
	}
	if doc.Operation.Adapter == "orchestrator" {
		plan, err := orchestrate.Compile(ctx, path, raw, meter.ChargeSchema)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be used: %w", path, err)
		}
		return plan.Operation(c.jobs, authors), nil
	}
	if strings.Contains(doc.Operation.Adapter, "/") {
		return nil, fmt.Errorf("%s pins %q: pin an operation by its name, for example covia:read", path, doc.Operation.Adapter)
	}
	op, err := c.registry.Resolve(ctx, owner, caps.Set{}, doc.Operation.Adapter, meter)
	if err != nil {
		return nil, err
	}
	return op.Pin(path, authors), nil
}
