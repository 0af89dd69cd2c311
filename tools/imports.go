package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"usher/caps"
	"usher/ucan"
)

// imports are operations that come from elsewhere, such as from servers that a user has
// configured: one owner finds them, and the owner's agents with an identity of their own, who
// need a delegation of the owner's to call them. They are replaced as a whole, in the
// same snapshot as all that is registered, so that a call is decided on one state of both.
type imports struct {
	owner  ucan.DID
	byPath map[string]*Operation
	all    []*Operation        // beside those that are registered, sorted by path; nil where there are none
	lent   func() []*Operation // the same for agents with an identity of their own
	source Source
}

// Source fetches what there is to import and was not yet, outside of all locks: what there
// is has been imported when it returns.
type Source interface {
	// Declarations are operations that stand for what may lie at a path, or below it, as far as
	// that can be told without asking anybody: nothing is fetched for who could call none.
	Declarations(at caps.Resource) []*Operation
	// Fetch fetches what lies below a path of which nothing is known.
	Fetch(ctx context.Context, at caps.Resource) error
	// FetchAll fetches what can be had soon, and of which set could allow something.
	FetchAll(ctx context.Context, set caps.Set)
	// Lends reports whether a principal is an agent of the owner's with an identity of its own.
	Lends(to ucan.DID) bool
}

// servesTo reports whether owner finds what is imported, and as what is lent.
func (in *imports) servesTo(owner ucan.DID) (lent, ok bool) {
	switch {
	case in.owner == owner:
		return false, true
	case in.source == nil:
		return false, false
	}
	lent = in.source.Lends(owner)
	return lent, lent
}

// loanOf is the operation for an agent of owner's with an identity of its own: it requires
// that owner lets the agent call it, too.
func (o *Operation) loanOf(owner ucan.DID) *Operation {
	mine, at := *o, owner.String()+"/"+o.path
	mine.groups = append(slices.Clip(o.groups), []caps.Scope{caps.ScopeExactly("invoke", at)})
	mine.prepare = func(input json.RawMessage) (preparation, error) {
		p, err := o.prepare(input)
		p.needs = append(slices.Clip(p.needs), caps.Need("invoke", at))
		return p, err
	}
	return &mine
}

// reaches reports whether set could allow something of what is declared.
func reaches(set caps.Set, declared []*Operation) bool {
	return slices.ContainsFunc(declared, func(op *Operation) bool { return op.CouldAllow(set) })
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
	in.all, in.lent = nil, nil
	if len(in.byPath) == 0 {
		return in
	}
	both := func(as func(*Operation) *Operation) []*Operation {
		all := slices.Clone(registered)
		for _, op := range in.byPath {
			all = append(all, as(op))
		}
		slices.SortFunc(all, func(a, b *Operation) int { return strings.Compare(a.path, b.path) })
		return all
	}
	in.all = both(func(op *Operation) *Operation { return op })
	in.lent = sync.OnceValue(func() []*Operation { return both(func(op *Operation) *Operation { return op.loanOf(in.owner) }) })
	return in
}

// Fetch fetches what owner imports and what nothing is known of yet, as far as it can be
// had soon and set could allow something of it: for whoever lists what there is.
func (r *Registry) Fetch(ctx context.Context, owner ucan.DID, set caps.Set) {
	in := r.snapshot().imports
	if _, ok := in.servesTo(owner); ok && in.source != nil {
		in.source.FetchAll(ctx, set)
	}
}

// Of returns the operations that owner finds: those that are registered, and those that
// were imported for owner. It must not be changed.
func (r *Registry) Of(owner ucan.DID) []*Operation {
	known := r.snapshot()
	if known.imports.all == nil {
		return known.all
	}
	switch lent, ok := known.imports.servesTo(owner); {
	case lent:
		return known.imports.lent()
	case ok:
		return known.imports.all
	}
	return known.all
}

// Below returns what owner has imported below a path, for example "mcp/files/", fetched
// where nothing is known of it yet and set could allow something of it.
func (r *Registry) Below(ctx context.Context, owner ucan.DID, set caps.Set, path string) ([]*Operation, error) {
	find := func() (ops []*Operation) {
		for _, op := range r.Of(owner) {
			if strings.HasPrefix(op.path, path) {
				ops = append(ops, op)
			}
		}
		return ops
	}
	ops, in := find(), r.snapshot().imports
	if _, ok := in.servesTo(owner); in.source == nil || !ok {
		return ops, nil
	}
	at, err := caps.ParseResource(path)
	if err != nil || !reaches(set, in.source.Declarations(at)) {
		return ops, err
	}
	if err := in.fetch(ctx, at); err != nil {
		return nil, err
	}
	return find(), nil
}

// findImport finds what at means among the imports of owner; nil for nothing. Who could not
// call what is declared there gets that, and learns no more.
func (r *Registry) findImport(ctx context.Context, owner ucan.DID, set caps.Set, at caps.Resource) (*Operation, error) {
	if !strings.HasPrefix(at.String(), importRoot) {
		return nil, nil
	}
	in := r.snapshot().imports
	lent, ok := in.servesTo(owner)
	if !ok {
		return nil, nil
	}
	op := in.byPath[at.String()]
	if op == nil && in.source != nil {
		if declared := in.source.Declarations(at); !reaches(set, declared) {
			if len(declared) == 1 && declared[0].path == at.String() {
				return r.own(declared[0]), nil
			}
			return nil, nil
		}
		if err := in.fetch(ctx, at); err != nil {
			return nil, err
		}
		op = r.snapshot().imports.byPath[at.String()]
	}
	if op != nil && lent {
		op = op.loanOf(in.owner)
	}
	return op, nil
}

// Version is another number whenever what the registry has is another.
func (r *Registry) Version() uint64 { return r.snapshot().version }
