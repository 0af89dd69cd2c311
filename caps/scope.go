package caps

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

// CouldAllow reports whether there is a request within sc that s would allow.
func (s Set) CouldAllow(sc Scope) bool {
	under, ok := sc.root()
	if !ok || s.c == nil {
		return false
	}
	if sc.AnyResource {
		return s.Check(NeedAbility(string(sc.Can))).Allowed()
	}
	if sc.Exact {
		return s.Check(NeedOn(sc.Can, under)).Allowed()
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
		case !c.can.Covers(sc.Can), sc.Foreign && at.DID() == "":
			continue
		case at.Covers(under):
			at = under // all of the scope
		case under.IsRoot(), under.Covers(at):
			depth = at.depth() - under.depth()
		default:
			continue
		}
		if (sc.MaxDepth == 0 || depth <= sc.MaxDepth) && fits(at, max(0, sc.MinDepth-depth)) {
			return true
		}
	}
	return false
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
