package tools

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"usher/caps"
	"usher/tools/form"
	"usher/ucan"
)

// Registry knows the operations of a venue. It is safe for concurrent use; a
// lookup reads an immutable snapshot. The zero value is ready.
type Registry struct {
	mu      sync.Mutex // serialises writers
	known   atomic.Pointer[catalogue]
	resolve atomic.Pointer[Resolver]
	gated   atomic.Bool // a gate stands before it
}

// catalogue is what is registered: by path, sorted by path, and what the usual
// references mean: names, and paths as they are.
type catalogue struct {
	byPath  map[string]*Operation
	direct  map[string]*Operation
	all     []*Operation
	imports imports
	version uint64 // of the catalogue: each has another
}

var emptyCatalogue catalogue

// Resolver finds operations that users keep in their own namespace, below o/, and
// charges meter for making them. It returns nil and no error when nothing is there.
type Resolver func(ctx context.Context, owner ucan.DID, at caps.Resource, meter *Meter) (*Operation, error)

// Register adds operations, or none of them when one is faulty: no
// requirements, a bad name, a schema that cannot be made, a name taken.
func (r *Registry) Register(ops ...*Operation) error {
	for _, op := range ops {
		if op != nil && op.fault == nil {
			_, op.fault = op.build()
		}
	}
	return r.Declare(ops...)
}

// Declare is [Registry.Register] for operations whose schemas can certainly be
// made: they are made when somebody asks for them.
func (r *Registry) Declare(ops ...*Operation) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := maps.Clone(r.snapshot().byPath)
	if next == nil {
		next = make(map[string]*Operation, len(ops))
	}
	for _, op := range ops {
		if op == nil {
			return fmt.Errorf("register operation: it is nil")
		}
		if op.fault != nil {
			return fmt.Errorf("register operation %q: %w", op.name, op.fault)
		}
		if _, taken := next[op.path]; taken {
			return fmt.Errorf("register operation %q: %s is taken: choose another name", op.name, op.path)
		}
		if op.home != nil && op.home != r {
			return fmt.Errorf("register operation %q: it came out of another registry, whose gate it would go around: make it anew", op.name)
		}
		next[op.path] = r.own(op)
	}
	all := slices.SortedFunc(maps.Values(next), func(a, b *Operation) int { return strings.Compare(a.path, b.path) })
	direct := make(map[string]*Operation, 2*len(all))
	for _, op := range all {
		if strings.HasPrefix(op.path, "v/") {
			direct[op.path], direct[op.name] = op, op
		}
	}
	before := r.snapshot()
	r.known.Store(&catalogue{next, direct, all, before.imports.beside(all), before.version + 1})
	return nil
}

// own returns the operation as one of this registry. What comes out of a registry
// can be registered in no other: behind another gate its handler would run on
// anybody's authority.
func (r *Registry) own(op *Operation) *Operation {
	mine := *op
	mine.home = r
	return &mine
}

// SetResolver names the source of operations below o/.
func (r *Registry) SetResolver(f Resolver) { r.resolve.Store(&f) }

// Placeholder stands for what a reference below o/ means to whoever may neither run nor
// read it, whether or not anything is there: a call of it is denied by its name.
func Placeholder(path string) *Operation {
	return &Operation{name: path, path: path, toolName: toolName(path), undigested: true, groups: [][]caps.Scope{{caps.ScopeExactly("invoke", path)}}}
}

// All returns the registered operations, sorted by path, without those that were imported
// for one owner: see [Registry.Of]. It must not be changed.
func (r *Registry) All() []*Operation { return r.snapshot().all }

// Resolve finds the operation that a reference means for owner: a name
// ("covia:write"), a catalogue path ("v/ops/covia/write") in any spelling of a
// resource, a path below mcp/, which is fetched where set could allow it, or a path
// below o/ in the owner's namespace, which is made at the expense of meter. The error is a [*NotFoundError] or says what is wrong with
// what was found.
func (r *Registry) Resolve(ctx context.Context, owner ucan.DID, set caps.Set, reference string, meter *Meter) (*Operation, error) {
	known := r.snapshot()
	if op := known.direct[reference]; op != nil {
		return op, nil
	}
	if len(reference) > maxReference {
		return nil, &NotFoundError{Reference: reference}
	}
	if path, _, err := names(reference); err == nil && known.byPath[path] != nil {
		return known.byPath[path], nil
	}
	at, err := caps.ParseResource(reference)
	if at = at.In(owner.String()); err == nil && known.byPath[at.String()] != nil {
		return known.byPath[at.String()], nil
	}
	if err == nil {
		if op, err := r.findImport(ctx, owner, set, at); op != nil || err != nil {
			return op, err
		}
	}
	if f := r.resolve.Load(); f != nil && err == nil && strings.HasPrefix(at.String(), "o/") {
		switch op, err := (*f)(ctx, owner, at, meter); {
		case err != nil:
			return nil, err
		case op == nil:
		case op.fault != nil:
			return nil, fmt.Errorf("operation %s cannot be used: %w", at, op.fault)
		case op.home == r:
			return op, nil
		default:
			return r.own(op), nil
		}
	}
	return nil, &NotFoundError{Reference: reference, Nearest: r.nearest(reference)}
}

func (r *Registry) snapshot() *catalogue {
	if c := r.known.Load(); c != nil {
		return c
	}
	return &emptyCatalogue
}

func (r *Registry) nearest(reference string) string {
	all := r.All()
	known := make([]string, len(all))
	for i, op := range all {
		known[i] = op.name
	}
	name := strings.TrimPrefix(reference, "v/ops/")
	return form.Nearest(strings.Replace(name, "/", ":", 1), known)
}
