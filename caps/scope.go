package caps

import (
	"math"
	"strings"
)

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
	if sc.Foreign {
		return s.couldAllowForeign(sc)
	}
	if sc.Exact {
		return s.Check(NeedOn(sc.Can, under)).Allowed()
	}
	if s.IsUnrestricted() {
		return fits(under, sc.MinDepth)
	}
	for _, m := range s.c.chain(sc.Can).masks {
		t := &s.c.resources[m.tree]
		// A capability above the scope covers all of it.
		if t.lookup(under.text, m.mask).allowed() && fits(under, sc.MinDepth) {
			return true
		}
		// One below it covers what of the scope is below that.
		v := scopeVisit{c: s.c, t: t, need: m.mask, scope: sc, base: under.depth()}
		if n, end, ok := t.locate(under.text); ok && v.any(n, end, len(under.text), strings.Count(under.text, "/")) {
			return true
		}
	}
	return false
}

// couldAllowForeign asks for each principal that the set names.
func (s Set) couldAllowForeign(sc Scope) bool {
	if s.IsUnrestricted() {
		return true
	}
	sc.Foreign = false
	asked := ""
	for _, c := range s.list() {
		did := c.Resource().DID()
		if did == "" || did == asked {
			continue
		}
		asked = did
		there := sc
		if there.Under = did; sc.Under != "" {
			there.Under += "/" + sc.Under
		}
		if s.CouldAllow(there) {
			return true
		}
	}
	return false
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

// scopeVisit looks through the keys below one place for one within a scope.
type scopeVisit struct {
	c     *compiled
	t     *radix
	need  uint64
	scope Scope
	base  int // depth of the scope's root
}

// any reports whether a key at or below n, whose label ends at byte end, leads
// into the scope. The text up to byte seen holds that many slashes: what lies
// below is at least as deep, which bounds the search.
func (v scopeVisit) any(n *node, end, seen, slashes int) bool {
	slashes += strings.Count(v.t.leaves[n.leaf].key[seen:end], "/")
	most := v.scope.MaxDepth
	if most == 0 {
		most = math.MaxInt - v.base
	}
	if n.sub&v.need == 0 || slashes > v.base+most {
		return false
	}
	if hit := n.mask & v.need; hit != 0 {
		r := v.c.list[v.t.ownerOf(n, hit)].Resource()
		depth := r.depth() - v.base
		if depth <= most && fits(r, max(0, v.scope.MinDepth-depth)) {
			return true
		}
	}
	for i := range uint32(n.kids) {
		child := &v.t.nodes[n.first+i]
		if v.any(child, end+int(child.size), end, slashes) {
			return true
		}
	}
	return false
}

// locate returns the node at or below which all keys strictly below text stand,
// and where its label ends.
func (t *radix) locate(text string) (n *node, end int, ok bool) {
	n = &t.nodes[0]
	if text == "" {
		return n, 0, true
	}
	text += "/"
	for end < len(text) {
		if n = t.branch(n, text[end]); n == nil {
			return nil, 0, false
		}
		end += int(n.size)
	}
	return n, end, strings.HasPrefix(t.leaves[n.leaf].key, text)
}
