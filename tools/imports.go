package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"usher/caps"
	"usher/ucan"
)

// imports are operations that come from elsewhere, such as from servers that a user has
// configured: one owner finds them, and nobody else. They are replaced as a whole, in the
// same snapshot as all that is registered, so that a call is decided on one state of both.
type imports struct {
	owner  ucan.DID
	byPath map[string]*Operation
	all    []*Operation // beside those that are registered, sorted by path; nil where there are none
	source Source
}

// Source fetches what there is to import and was not yet, outside of all locks: what there
// is has been imported when it returns.
type Source interface {
	// Fetch fetches what lies below a path of which nothing is known.
	Fetch(ctx context.Context, at caps.Resource) error
	// FetchAll fetches what can be had soon.
	FetchAll(ctx context.Context)
}

// FetchError says that what a reference means could not be fetched.
type FetchError struct {
	Reference string
	Err       error
}

func (e *FetchError) Error() string { return e.Reference + " cannot be reached: " + e.Err.Error() }
func (e *FetchError) Unwrap() error { return e.Err }

func (in *imports) fetch(ctx context.Context, at caps.Resource) error {
	if err := in.source.Fetch(ctx, at); err != nil {
		return &FetchError{at.String(), err}
	}
	return nil
}

// importRoot is where what is imported has its paths.
const importRoot = "mcp/"

// Import makes ops all that owner has imported, in place of what was before: operations
// with paths below mcp/. One whose name for models another operation has is left out, and
// returned. source may be nil.
func (r *Registry) Import(owner ucan.DID, source Source, ops ...*Operation) (leftOut []*Operation, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := *r.snapshot()
	taken := make(map[string]bool, len(next.all)+len(ops))
	for _, op := range next.all {
		taken[op.toolName] = true
	}
	in := imports{owner: owner, byPath: make(map[string]*Operation, len(ops)), source: source}
	for _, op := range ops {
		switch {
		case op.fault != nil:
			return nil, fmt.Errorf("import operation %q: %w", op.path, op.fault)
		case !strings.HasPrefix(op.path, importRoot):
			return nil, fmt.Errorf("import operation %q: its path is not below %s", op.path, importRoot)
		case taken[op.toolName]:
			leftOut = append(leftOut, op)
			continue
		}
		taken[op.toolName] = true
		in.byPath[op.path] = r.own(op)
	}
	next.imports = in.beside(next.all)
	next.version++
	r.known.Store(&next)
	return leftOut, nil
}

// beside is the same imports beside what is registered.
func (in imports) beside(registered []*Operation) imports {
	in.all = nil
	if len(in.byPath) == 0 {
		return in
	}
	in.all = slices.Clone(registered)
	for _, op := range in.byPath {
		in.all = append(in.all, op)
	}
	slices.SortFunc(in.all, func(a, b *Operation) int { return strings.Compare(a.path, b.path) })
	return in
}

// Fetch fetches what owner imports and what nothing is known of yet, as far as it can be
// had soon: for whoever lists what there is.
func (r *Registry) Fetch(ctx context.Context, owner ucan.DID) {
	if in := r.snapshot().imports; in.source != nil && in.owner == owner {
		in.source.FetchAll(ctx)
	}
}

// Of returns the operations that owner finds: those that are registered, and those that
// were imported for owner. It must not be changed.
func (r *Registry) Of(owner ucan.DID) []*Operation {
	known := r.snapshot()
	if known.imports.all != nil && known.imports.owner == owner {
		return known.imports.all
	}
	return known.all
}

// Below returns what owner has imported below a path, for example "mcp/files/", fetched
// where nothing is known of it yet.
func (r *Registry) Below(ctx context.Context, owner ucan.DID, path string) ([]*Operation, error) {
	find := func() (ops []*Operation) {
		for _, op := range r.Of(owner) {
			if strings.HasPrefix(op.path, path) {
				ops = append(ops, op)
			}
		}
		return ops
	}
	ops, in := find(), r.snapshot().imports
	if len(ops) > 0 || in.source == nil || in.owner != owner {
		return ops, nil
	}
	at, err := caps.ParseResource(path)
	if err != nil {
		return nil, err
	}
	if err := in.fetch(ctx, at); err != nil {
		return nil, err
	}
	return find(), nil
}

// imported finds what at means among the imports of owner; nil for nothing.
func (r *Registry) imported(ctx context.Context, owner ucan.DID, at caps.Resource) (*Operation, error) {
	if !strings.HasPrefix(at.String(), importRoot) {
		return nil, nil
	}
	in := r.snapshot().imports
	if in.owner != owner {
		return nil, nil
	}
	if op := in.byPath[at.String()]; op != nil || in.source == nil {
		return op, nil
	}
	if err := in.fetch(ctx, at); err != nil {
		return nil, err
	}
	return r.snapshot().imports.byPath[at.String()], nil
}

// Version is another number whenever what the registry has is another.
func (r *Registry) Version() uint64 { return r.snapshot().version }
