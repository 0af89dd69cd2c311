package ucan

import (
	"fmt"
	"strings"

	"usher/caps"
)

// withSelector is the argument of an invocation that holds the resource.
const withSelector = ".with"

// resourceStatement is the statement of a resource, which is absolute. That of a whole namespace is
// none, the subject saying whose. A venue that issues for an owner is itself the subject,
// and the resource names the owner.
func resourceStatement(resource string) any {
	return []any{"or", []any{[]any{"==", withSelector, resource}, []any{"like", withSelector, resource + "/*"}}}
}

// readPolicy finds the resource in the policy of a delegation about sub. Any
// other statement is kept, to be matched at the call; a policy with none of the
// recognised forms grants the subject's namespace, as far as its statements go.
func readPolicy(list []any, sub DID) (g grant, rest []condition, err error) {
	g.owner, g.passes = sub, true
	resource, found, left := splitPolicy(list)
	if found {
		g.passes = false
		if g.owner, g.path, err = splitAbsolute(resource); err != nil {
			return grant{}, nil, formatError("pol: %w", err)
		}
	}
	for _, item := range left {
		s, err := parseStatement(item, maxNesting)
		if err != nil {
			return grant{}, nil, formatError("pol: %w", err)
		}
		rest = append(rest, s)
	}
	return g, rest, nil
}

// splitPolicy takes the resource, that of the first statement which has one, from a policy.
// Where the statement says less than the resource, it stays among what is left.
func splitPolicy(list []any) (resource string, found bool, left []any) {
	for _, item := range list {
		op, text := recognise(item)
		first := op != "" && !found
		if first {
			resource, found = text, true
		}
		if !first || op != "or" {
			left = append(left, item)
		}
	}
	return resource, found, left
}

// recognise returns the operator and the resource of a statement about .with: "or"
// means the resource and all below it, "==" and "like" say less.
func recognise(item any) (op, resource string) {
	s, _ := item.([]any)
	switch len(s) {
	case 2:
		if branches, _ := s[1].([]any); s[0] == "or" && len(branches) == 2 {
			first, same := recognise(branches[0])
			if second, below := recognise(branches[1]); first == "==" && second == "like" && same == below {
				return "or", same
			}
		}
	case 3:
		text, isText := s[2].(string)
		base, below := strings.CutSuffix(text, "/*")
		switch {
		case !isText || s[1] != withSelector:
		case s[0] == "==":
			return "==", text
		case s[0] == "like" && below && !strings.ContainsAny(base, `*\`):
			return "like", base
		}
	}
	return "", ""
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
