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
	"usher/tools/agents"
	"usher/tools/delegation"
	"usher/tools/grid"
	"usher/tools/jsonop"
	"usher/tools/orchestrate"
	"usher/tools/schemaop"
	"usher/tools/secrets"
	"usher/tools/workspace"
	"usher/ucan"
	"usher/venue/store"
)

// builtin returns the operations that every venue has. They are complete in
// what they require; those over a venue that is not open cannot run.
func builtin(v *Venue) []*tools.Operation {
	var ops []*tools.Operation
	ops = append(ops, workspace.Operations(v.tree, v.mounts())...)
	ops = append(ops, agents.Operations(agentService{v})...)
	ops = append(ops, grid.Operations(jobService{v})...)
	ops = append(ops, delegation.Operations(delegationService{v})...)
	ops = append(ops, secrets.Operations(v.secrets)...)
	ops = append(ops, jsonop.Operations()...)
	ops = append(ops, schemaop.Operations()...)
	return ops
}

// Catalogue returns the built-in operations without a venue to run them: what
// they require of a caller can be asked, for example to check capabilities.
func Catalogue() (*tools.Registry, error) {
	registry := new(tools.Registry)
	return registry, registry.Register(builtin(&Venue{registry: registry})...)
}

func (v *Venue) fillRegistry(more []*tools.Operation) error {
	v.tree = workspace.NewTree(v.store.Under("w/"), &workspace.Options{OnWrite: checkCallable, Logger: v.log})
	if err := v.registry.Register(builtin(v)...); err != nil {
		return err
	}
	if err := v.registry.Register(more...); err != nil {
		return err
	}
	cache := &callables{v: v}
	v.registry.SetResolver(cache.resolve)
	return nil
}

// checkCallable refuses an orchestration that could never run when it is
// written below o/.
func checkCallable(_ context.Context, _ string, _ []string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return orchestrate.Check(raw)
}

// callables makes operations of what users keep below o/, and remembers them
// by the revision of the stored value.
type callables struct {
	v    *Venue
	byID sync.Map // callableKey to callable
}

type callableKey struct {
	owner ucan.DID
	path  string
}

type callable struct {
	rev uint64
	op  *tools.Operation
}

func (c *callables) resolve(ctx context.Context, owner ucan.DID, at caps.Resource) (*tools.Operation, error) {
	rev, err := c.v.tree.Revision(ctx, owner.String(), at)
	if err != nil || rev == 0 {
		return nil, err
	}
	key := callableKey{owner, at.String()}
	if known, ok := c.byID.Load(key); ok && known.(callable).rev == rev {
		return known.(callable).op, nil
	}
	raw, rev, err := c.v.tree.Get(ctx, owner.String(), at)
	if err != nil || rev == 0 {
		return nil, err
	}
	op, err := c.compile(ctx, owner, at.String(), raw)
	if err != nil {
		return nil, err
	}
	c.byID.Store(key, callable{rev, op})
	return op, nil
}

// compile makes the operation that a stored value means: an orchestration, or
// another operation that it pins a name to, which then is what is called.
func (c *callables) compile(ctx context.Context, owner ucan.DID, path string, raw json.RawMessage) (*tools.Operation, error) {
	var doc struct {
		Operation struct {
			Adapter string `json:"adapter"`
		} `json:"operation"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil || doc.Operation.Adapter == "" {
		return nil, fmt.Errorf("%s holds a value that is no operation: it has no operation.adapter", path)
	}
	if doc.Operation.Adapter == "orchestrator" {
		plan, err := orchestrate.Compile(path, raw)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be used: %w", path, err)
		}
		return plan.Operation(jobService{c.v}, tools.Bound{}), nil
	}
	if strings.Contains(doc.Operation.Adapter, "/") {
		return nil, fmt.Errorf("%s pins %q: pin an operation by its name, for example covia:read", path, doc.Operation.Adapter)
	}
	return c.v.registry.Resolve(ctx, owner, doc.Operation.Adapter)
}

// mounts are the namespaces that show what others keep.
func (v *Venue) mounts() map[string]workspace.Mount {
	return map[string]workspace.Mount{"g": v.showAgents, "j": v.showJobs, "v": v.showCatalogue}
}

func (v *Venue) showAgents(ctx context.Context, owner string, segs []string) (any, bool, error) {
	did, err := ucan.ParseDID(owner)
	if err != nil {
		return nil, false, err
	}
	if len(segs) == 0 {
		out := map[string]any{}
		err := v.agents.list(ctx, did, func(id string, rec *record) error {
			out[id] = rec
			return nil
		})
		return out, true, err
	}
	a, err := v.agents.get(ctx, agentKey{did, segs[0]})
	if err != nil || a == nil {
		return nil, false, err
	}
	return within(a.rec.Load(), segs[1:])
}

func (v *Venue) showJobs(ctx context.Context, owner string, segs []string) (any, bool, error) {
	did, err := ucan.ParseDID(owner)
	if err != nil {
		return nil, false, err
	}
	if len(segs) == 0 {
		out := map[string]any{}
		prefix := jobKey("rec", did, "")
		for key, err := range store.Keys(ctx, v.jobs.space, prefix, "") {
			if err != nil {
				return nil, false, err
			}
			out[key[len(prefix):]] = map[string]any{}
		}
		return out, true, nil
	}
	rec, err := v.jobs.find(ctx, did, segs[0])
	if _, missing := errors.AsType[*NoJobError](err); missing {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	// Who reads is not known here.
	return within(rec.discreet(func(string) bool { return false }), segs[1:])
}

func (v *Venue) showCatalogue(_ context.Context, _ string, segs []string) (any, bool, error) {
	out := map[string]any{}
	for _, op := range v.registry.All() {
		path := strings.Split(strings.TrimPrefix(op.Path(), "v/"), "/")
		at := out
		for _, seg := range path[:len(path)-1] {
			next, ok := at[seg].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[seg] = next
			}
			at = next
		}
		at[path[len(path)-1]] = map[string]any{
			"name": op.Name(), "tool": op.ToolName(), "description": op.Description(), "input": op.InputSchema(),
		}
	}
	return within(out, segs)
}

// within returns what value, as JSON, holds below segs.
func within(value any, segs []string) (any, bool, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, false, err
	}
	var at any
	if err := json.Unmarshal(raw, &at); err != nil {
		return nil, false, err
	}
	for _, seg := range segs {
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false, nil
		}
		if at, ok = m[seg]; !ok {
			return nil, false, nil
		}
	}
	return at, at != nil, nil
}
