package caps

import "slices"

// Scope describes the requests that an operation can make, to decide whether to
// offer it: the ability Can, on resources that are Under or below it.
//
// An empty Under means every resource there is: the own namespace, URIs, and
// other principals' namespaces. Depth counts the segments of the path, so a
// namespace itself, own or not, has depth 0.
type Scope struct {
	Can         Ability
	Under       string // a resource; "" for every one there is
	MinDepth    int    // segments below Under, at least
	MaxDepth    int    // segments below Under, at most; 0 for no bound
	AnyResource bool   // the operation names no resource: the ability alone decides
	Exact       bool   // Under itself is the one resource; the depths do not count
	Foreign     bool   // Under is a path in the namespace of any other principal
}

// ScopeAbility returns the scope of an operation without a resource.
func ScopeAbility(can string) Scope { return Scope{Can: Ability(can), AnyResource: true} }

// ScopeUnder returns the scope of an operation on resources from minDepth to
// maxDepth segments below under; a maxDepth of 0 sets no bound.
func ScopeUnder(can, under string, minDepth, maxDepth int) Scope {
	return Scope{Can: Ability(can), Under: under, MinDepth: minDepth, MaxDepth: maxDepth}
}

// ScopeExactly returns the scope of an operation on one resource alone.
func ScopeExactly(can, resource string) Scope {
	return Scope{Can: Ability(can), Under: resource, Exact: true}
}

// ScopeForeign returns the scope of [ScopeUnder], moved into the namespaces of
// other principals, whoever they are.
func ScopeForeign(can, under string, minDepth, maxDepth int) Scope {
	return Scope{Can: Ability(can), Under: under, MinDepth: minDepth, MaxDepth: maxDepth, Foreign: true}
}

// root is the resource that the scope is under; false where the scope is malformed,
// and contains no request.
func (sc Scope) root() (r Resource, ok bool) {
	_, err := ParseAbility(string(sc.Can))
	if err != nil || sc.MinDepth < 0 || sc.MaxDepth < 0 || sc.MaxDepth > 0 && sc.MinDepth > sc.MaxDepth {
		return r, false
	}
	if !sc.AnyResource {
		r, err = ParseResource(sc.Under)
	}
	return r, err == nil
}

// CouldAllow reports whether there is a request within sc that s would allow, itself or
// after asking, with an input that meets its terms. What has ended is for [Set.At] to
// take out.
func (s Set) CouldAllow(sc Scope) bool {
	under, ok := sc.root()
	if !ok || s.c == nil {
		return false
	}
	if sc.AnyResource {
		return s.could(NeedAbility(string(sc.Can)))
	}
	if sc.Exact {
		return s.could(NeedOn(sc.Can, under))
	}
	if s.IsUnrestricted() {
		return sc.Foreign || fits(under, sc.MinDepth)
	}
	for _, c := range s.c.list {
		at, depth, under := c.Resource(), 0, under
		if sc.Foreign {
			under = under.of(at.DID())
		}
		switch {
		case c.Denies(), !c.can.Covers(sc.Can), sc.Foreign && at.DID() == "":
			continue
		case at.Covers(under):
			at = under // all of the scope
		case under.IsRoot(), under.Covers(at):
			depth = at.depth() - under.depth()
		default:
			continue
		}
		if (sc.MaxDepth == 0 || depth <= sc.MaxDepth) && fits(at, max(0, sc.MinDepth-depth)) &&
			s.leaves(sc.Can, at, sc.MaxDepth == 0 || depth < sc.MaxDepth, depth >= sc.MinDepth) {
			return true
		}
	}
	return false
}

// leaves reports whether the denials of s leave can on at, where it counts itself, or
// on something below, where that counts: a name that no denial knows.
func (s Set) leaves(can Ability, at Resource, below, itself bool) bool {
	if s.c.aside == nil {
		return true
	}
	return itself && s.could(NeedOn(can, at)) || below && fits(at, 1) && !slices.ContainsFunc(s.c.aside.denies, func(i int) bool {
		c := s.c.list[i]
		return c.terms.when == nil && (c.can.Covers(can) || can.Covers(c.can)) && c.Resource().Covers(at)
	})
}

// could reports whether some input lets r through: a denial without limits on that
// stands.
func (s Set) could(r Request) bool {
	return s.Check(r).Possible() && (s.c.aside == nil || !slices.ContainsFunc(s.c.aside.denies, func(i int) bool {
		return s.c.list[i].terms.when == nil && s.c.list[i].touches(&r)
	}))
}

// of moves a bare resource into the namespace of a principal.
func (r Resource) of(did string) Resource {
	if r.IsRoot() {
		return Resource{did}
	}
	return Resource{did + "/" + r.text}
}

// fits reports whether a resource extra segments below r is within the bound on
// length.
func fits(r Resource, extra int) bool {
	shortest := len(r.text) + 2*extra
	if r.IsRoot() {
		shortest = max(0, shortest-1)
	}
	return extra <= maxResourceBytes && shortest <= maxResourceBytes
}
