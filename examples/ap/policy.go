package ap

import (
	"errors"
	"regexp"
	"strings"

	"usher/examples/ap/invoice"
)

// policy is what the approver reads in the policy document of its context. The
// numbers and the name stand there and nowhere in this program.
type policy struct {
	alone         invoice.Money // below it nobody is asked
	manager       invoice.Money // up to it the order's manager is
	vicePresident string
}

var (
	amountRule = regexp.MustCompile(`(?s)AP-001\b(.*?)(?:AP-002|$)`)
	below      = regexp.MustCompile(`(?i)\b(?:below|under|less than)\s+(\d[\d,.']*)`)
	above      = regexp.MustCompile(`(?i)\b(?:above|over|more than)\s+(\d[\d,.']*)`)
	president  = regexp.MustCompile(`(?i)vice\s+president,?\s+((?-i:\p{Lu}[\p{L}'.-]*(?:\s+\p{Lu}[\p{L}'.-]*)*))`)
)

// readPolicy finds the policy's numbers in the system message.
func readPolicy(system string) (policy, error) {
	m := amountRule.FindStringSubmatch(system)
	if m == nil {
		return policy{}, errors.New("the policy in my context has no rule AP-001")
	}
	lo, hi := below.FindStringSubmatch(m[1]), above.FindStringSubmatch(m[1])
	if lo == nil || hi == nil {
		return policy{}, errors.New("rule AP-001 of the policy names no two thresholds (below …, above …)")
	}
	var p policy
	var err error
	if p.alone, err = threshold(lo[1]); err == nil {
		p.manager, err = threshold(hi[1])
	}
	if err == nil && p.alone > p.manager {
		err = errors.New("the thresholds of rule AP-001 are the wrong way round")
	}
	if vp := president.FindStringSubmatch(m[1]); vp != nil {
		p.vicePresident = strings.Join(strings.Fields(vp[1]), " ")
	}
	return p, err
}

func threshold(s string) (invoice.Money, error) {
	return invoice.ParseMoney(strings.NewReplacer(",", "", "'", "").Replace(strings.TrimRight(s, ".,")))
}
