package ucan

import (
	"fmt"
	"strings"

	"github.com/ucan-wg/go-ucan/pkg/policy"
	"github.com/ucan-wg/go-ucan/pkg/policy/literal"

	"usher/caps"
)

// withSelector is the argument of an invocation that holds the resource.
const withSelector = ".with"

// The policy of a resource R, which is absolute, is
//
//	[["or", [["==", ".with", R], ["like", ".with", R + "/*"]]]]
//
// and that of a whole namespace is [], the subject saying whose. A venue that
// issues for an owner is itself the subject, and R names the owner.

// readPolicy finds the resource in the policy of a delegation about sub. Any
// other statement is kept, to be matched at the call; a policy with none of the
// recognised forms grants the subject's namespace, as far as its statements go.
func readPolicy(list []any, sub DID) (g grant, rest []statement, err error) {
	found := false
	for _, item := range list {
		text, exact, ok := recognise(item)
		if ok && !found {
			owner, path, err := splitAbsolute(text)
			if err != nil {
				return grant{}, nil, malformed("pol: %w", err)
			}
			g.owner, g.path, found = owner, path, true
			if exact {
				continue
			}
			// The statement says less than the resource: it stays as a condition.
		}
		s, err := parseStatement(item, maxNesting)
		if err != nil {
			return grant{}, nil, malformed("pol: %w", err)
		}
		rest = append(rest, s)
	}
	if !found {
		g.owner, g.passes = sub, true
	}
	return g, rest, nil
}

// recognise returns the resource of a statement about .with; exact says that the
// statement means the resource and all below it, no less.
func recognise(item any) (resource string, exact, ok bool) {
	s, ok := item.([]any)
	if !ok {
		return "", false, false
	}
	if len(s) == 3 && s[1] == withSelector {
		text, ok := s[2].(string)
		switch s[0] {
		case "==":
			return text, false, ok
		case "like":
			base, below := strings.CutSuffix(text, "/*")
			return base, false, ok && below && !strings.ContainsAny(base, `*\`)
		}
		return "", false, false
	}
	if len(s) != 2 || s[0] != "or" {
		return "", false, false
	}
	branches, ok := s[1].([]any)
	if !ok || len(branches) != 2 {
		return "", false, false
	}
	same, ok1 := recogniseOp(branches[0], "==")
	below, ok2 := recogniseOp(branches[1], "like")
	return same, true, ok1 && ok2 && same == below
}

// recogniseOp is recognise for one operator.
func recogniseOp(item any, op string) (resource string, ok bool) {
	if s, ok := item.([]any); !ok || len(s) != 3 || s[0] != op {
		return "", false
	}
	resource, _, ok = recognise(item)
	return resource, ok
}

// splitAbsolute takes the owner from a resource that must name one.
func splitAbsolute(text string) (DID, caps.Resource, error) {
	r, err := caps.ParseResource(text)
	if err != nil {
		return DID{}, r, err
	}
	if r.String() != text {
		return DID{}, r, fmt.Errorf("resource %s is not spelt canonically; write %q", quoteShort(text), r)
	}
	if r.DID() == "" {
		return DID{}, r, fmt.Errorf("%w: %s", ErrBareResource, quoteShort(text))
	}
	owner, err := ParseDID(r.DID())
	if err != nil {
		return DID{}, r, err
	}
	return owner, r.In(owner.s), nil
}

// resourcePolicy is the policy of a grant in the chain about sub.
func resourcePolicy(owner DID, path caps.Resource, sub DID) (policy.Policy, error) {
	if path.IsRoot() && owner == sub {
		return policy.Policy{}, nil
	}
	r := absolute(owner, path)
	return policy.Construct(policy.Or(
		policy.Equal(withSelector, literal.String(r)),
		policy.Like(withSelector, r+"/*"),
	))
}
