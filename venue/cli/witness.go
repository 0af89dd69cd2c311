package cli

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/venue"
)

// witness is a call that one set of capabilities decides otherwise than another.
type witness struct {
	Operation string `json:"operation,omitempty"` // empty: no built-in one needs the ability
	Ability   string `json:"ability"`
	Resource  string `json:"resource,omitempty"` // empty: the operation names none
	Decision  string `json:"decision"`           // after the change
}

// onTerms is the decision on a call that its input or the time decides.
const onTerms = "terms"

// judge returns what a set says of a request, and how far it lets it go.
func judge(s caps.Set, r caps.Request) (decision string, far int) {
	switch d := s.Check(r); {
	case d.IsAllowed():
		return verdictAllow, 2
	case d.Open() && d.Settle(caps.Facts{Now: time.Now()}).IsAsk(): // whatever the input is
		return verdictAsk, 1
	case d.Open():
		return onTerms, 1
	}
	return verdictDeny, 0
}

func (w witness) String() string {
	text := cmp.Or(w.Operation, w.Ability)
	if w.Resource != "" {
		text += " on " + w.Resource
	}
	if w.Operation != "" {
		text += " (" + w.Ability + ")"
	}
	return text
}

// maxWitnesses bounds those of one agent and direction.
const maxWitnesses = 5

// everything stands for a set without bounds.
var everything = caps.MustCapability("", "*")

// capsIn are the capabilities of a set.
func capsIn(s caps.Set) iter.Seq[caps.Capability] {
	if s.IsUnrestricted() {
		return slices.Values([]caps.Capability{everything})
	}
	return s.All()
}

// witnesses finds calls that one set lets go farther than the other, for each
// capability of the wider one and each ability at most one. after is that of the two
// which holds after the change.
func witnesses(narrow, wide, after caps.Set) (list []witness) {
	registry, err := venue.Catalogue()
	if err != nil {
		return nil
	}
	near := slices.Concat(slices.Collect(capsIn(narrow)), slices.Collect(capsIn(wide)))
	ops := slices.SortedStableFunc(slices.Values(registry.All()), func(a, b *tools.Operation) int {
		return cmp.Compare(rank(a), rank(b))
	})
	for c := range capsIn(wide) {
		for _, w := range find(ops, narrow, wide, c, near) {
			r := caps.Need(w.Ability, w.Resource)
			if w.Resource == "" {
				r = caps.NeedAbility(w.Ability)
			}
			w.Decision, _ = judge(after, r)
			if !slices.Contains(list, w) && len(list) < maxWitnesses {
				list = append(list, w)
			}
		}
	}
	return list
}

// rank is lower for operations that everybody knows.
func rank(op *tools.Operation) int {
	known := []string{"covia:read", "covia:write", "covia:delete", "agent:request", "agent:message", "agent:create", "secret:extract"}
	if i := slices.Index(known, op.Name()); i >= 0 {
		return i
	}
	return len(known)
}

// find finds calls within c, one for each ability.
func find(ops []*tools.Operation, narrow, wide caps.Set, c caps.Capability, near []caps.Capability) (list []witness) {
	shown := make(map[caps.Ability]bool)
	add := func(operation string, can caps.Ability, on string) {
		shown[can] = true
		list = append(list, witness{Operation: operation, Ability: string(can), Resource: on})
	}
	differs := func(r caps.Request) bool {
		_, far := judge(wide, r)
		_, near := judge(narrow, r)
		return far > near
	}
	for _, op := range ops {
		if len(op.Scopes()) != 1 { // it needs more than one thing
			continue
		}
		for _, sc := range op.Scopes()[0] {
			if shown[sc.Can] || !c.Can().Covers(sc.Can) || sc.Foreign {
				continue
			}
			if sc.AnyResource {
				if differs(caps.NeedAbility(string(sc.Can))) {
					add(op.Name(), sc.Can, "")
				}
				continue
			}
			for at := range within(sc, c, near) {
				if differs(caps.NeedOn(sc.Can, at)) {
					add(op.Name(), sc.Can, at.String())
					break
				}
			}
		}
	}
	if len(list) > 0 || c.Can() == everything.Can() {
		return list
	}
	for at := range spots(c.Resource(), near) { // of an ability that no such operation needs
		if differs(caps.NeedOn(c.Can(), at)) {
			add("", c.Can(), at.String())
			break
		}
	}
	return list
}

// within are resources of a scope that c covers.
func within(sc caps.Scope, c caps.Capability, near []caps.Capability) iter.Seq[caps.Resource] {
	return func(yield func(caps.Resource) bool) {
		under, err := caps.ParseResource(sc.Under)
		if err != nil {
			return
		}
		base := c.Resource()
		if base.Covers(under) {
			base = under
		}
		for at := range spots(base, near) {
			depth := len(at.Segments()) - len(under.Segments())
			fits := depth >= sc.MinDepth && (sc.MaxDepth == 0 || depth <= sc.MaxDepth)
			if sc.Exact {
				fits = at == under
			}
			if fits && under.Covers(at) && !yield(at) {
				return
			}
		}
	}
}

// spots are resources at and below base: itself, one and two segments below it, and
// those that other capabilities name.
func spots(base caps.Resource, near []caps.Capability) iter.Seq[caps.Resource] {
	return func(yield func(caps.Resource) bool) {
		roots := []caps.Resource{base}
		for _, c := range near {
			if at := c.Resource(); at != base && (base.IsRoot() || base.Covers(at)) {
				roots = append(roots, at)
			}
		}
		for _, root := range roots {
			for _, below := range []string{"", "/example", "/example/example"} {
				at, err := caps.ParseResource(strings.TrimPrefix(root.String()+below, "/"))
				if err == nil && !yield(at) {
					return
				}
			}
		}
	}
}
