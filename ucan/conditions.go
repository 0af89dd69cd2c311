package ucan

import "github.com/ucan-wg/go-ucan/pkg/policy"

// conditions are a policy that says more than a resource. go-ucan matches all of
// it, and the statements beyond the resource have to hold here as well. go-ucan
// alone would let a caller choose the argument that passes: it takes 1 and 1.0 for
// two values and a map for no list, which satisfies what stands under "not" and
// "!=", drops what follows the [] of a map, and takes a backslash for the star
// that one escapes.
type conditions struct {
	theirs policy.Policy
	beyond []statement
}

// newConditions has go-ucan read a policy that the reader has checked.
func newConditions(beyond []statement, pol []byte) (*conditions, error) {
	c := &conditions{beyond: beyond}
	err := guarded(func() error {
		n, err := readNode(pol)
		if err != nil {
			return err
		}
		c.theirs, err = policy.FromIPLD(n)
		return err
	})
	if err != nil {
		return nil, malformed("pol: %w", err)
	}
	return c, nil
}

// hold matches the arguments of a call. Every doubt denies.
func (c *conditions) hold(args map[string]any) (ok bool, detail string) {
	n, err := nodeOf(args, maxNesting)
	if err != nil {
		return false, "the arguments: " + err.Error()
	}
	for i := range c.beyond {
		if c.beyond[i].match(args) != isTrue {
			return false, ""
		}
	}
	err = guarded(func() error {
		ok, _ = c.theirs.Match(n)
		return nil
	})
	if err != nil {
		return false, err.Error()
	}
	return ok, ""
}
