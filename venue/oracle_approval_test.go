package venue_test

import (
	"slices"
	"strings"

	"usher/tools/approvals"
)

// The oracle of approvals says which payments may happen, without any of the code that
// it judges: those that plain capabilities of everybody in charge allow, and, of what
// has to be asked about, each request that the person approved, once, as it was shown.

// terms are a grant to pay somebody, or several.
type terms struct {
	to        string // empty: everybody
	ask, deny bool
	most      int   // 0 is any amount
	until     int64 // in seconds since the test began; 0 is no end
}

// verdict of a list of capabilities, or of several.
type verdict int

const (
	refused verdict = iota
	asked
	allowed
)

// spending is what a call comes to.
type spending struct {
	Op     string `json:"op,omitempty"`
	To     string `json:"to"`
	Amount int    `json:"amount"`
	N      int    `json:"n"`
}

func verdictOf(list []terms, p spending, now int64) (best verdict) {
	for _, t := range list {
		switch {
		case t.to != "" && t.to != p.To:
		case t.deny:
			return refused
		case t.most > 0 && p.Amount > t.most || t.until > 0 && now > t.until:
		case t.ask:
			best = max(best, asked)
		default:
			best = allowed
		}
	}
	return best
}

// payer is an agent as it is now.
type payer struct {
	n      int // of its life
	status string
	caps   []terms
	givers []life // that it has them from
}

// till is what there is of one user. Programs are what stands below o/.
type till struct {
	payers   map[string]payer
	lives    int
	programs map[string]program
	written  int // programs, so far
	now      int64
}

// program pays by the input of its call, or an amount of its own.
type program struct {
	op     string // empty: there is none
	steps  bool   // it is an orchestration, not a name
	amount int    // 0 is the input's
	n      int    // which one it is of all that were ever written
}

// wish is one call that an agent makes.
type wish struct {
	spending
	how string // direct, job, or the name of a program
}

// comes says what a call pays now.
func (w *till) comes(c wish) spending {
	p := c.spending
	if prog, named := w.programs[c.how]; named {
		if p.Op = prog.op; prog.amount != 0 {
			p.Amount = prog.amount
		}
	}
	return p
}

// slot is a call of an errand, which has not come to its result.
type slot struct {
	wish
	program int    // that its request is for; 0 where it is for none
	req     string // id of its request; empty before there is one
	done    bool
	loose   bool // the oracle does not follow it any more: it may happen, and need not
}

// errand is a turn that rests, or has ended.
type errand struct {
	run     string
	session string
	path    []string // agents, the first one asked by the user
	lives   []life   // of them
	slots   []*slot
	over    bool // it does not go on
	woken   bool // it begins, or a request of it was answered since it rested: an agent that was asked goes on then only
	loose   bool // all that is left of it is loose
}

// approval is a request as the person sees it.
type approval struct {
	spending
	agent   string
	run     string
	status  string
	expires int64
	used    bool // the venue says so
}

// alive reports whether a life works now, with all that it has its capabilities from.
func (w *till) alive(l life) bool {
	p := w.payers[l.id]
	return p.n == l.n && p.status == asleep && !slices.ContainsFunc(p.givers, func(l life) bool { return !w.alive(l) })
}

func (w *till) verdict(lives []life, p spending) verdict {
	out := allowed
	for _, l := range lives {
		if !w.alive(l) {
			return refused
		}
		of := w.payers[l.id]
		out = min(out, verdictOf(of.caps, p, w.now), w.verdict(of.givers, p))
	}
	return out
}

func (w *till) lifeOf(id string) life { return life{"", id, w.payers[id].n} }

// holds reports whether an approval may be used now.
func (a *approval) holds(now int64) bool {
	return a != nil && a.status == approvals.Approved && now <= a.expires
}

// outcome is what may come of an errand that goes on: payments that must happen, and
// those that may. What it asks for is paid by approvals that are used up.
type outcome struct {
	must, may []spending
	asks      map[spending]bool
}

// goesOn says what comes of the calls of an errand when it goes on, and what becomes of
// them. Where somebody in charge has ended, or a program was written since, it leaves open
// from then on what happens, within what was approved; so it does with calls that come
// after one that waits, which may have begun beside it.
func (w *till) goesOn(e *errand, asks map[string]*approval) (out outcome) {
	e.loose = e.loose || e.over || slices.ContainsFunc(e.lives, func(l life) bool { return !w.alive(l) })
	out.asks = map[spending]bool{}
	waits, rests := false, len(e.path) > 1 && !e.woken
	e.woken = false
	for _, s := range e.slots {
		if s.done || rests && !e.loose {
			continue
		}
		e.loose = e.loose || s.program != w.programs[s.how].n
		s.loose = s.loose || e.loose || waits
		p, req := w.comes(s.wish), asks[s.req]
		switch w.verdict(e.lives, p) {
		case refused:
			s.done = !s.loose
		case allowed:
			out.pays(s, p, p)
		case asked:
			switch {
			case req.holds(w.now):
				out.asks[req.spending] = true
				if out.pays(s, p, req.spending); s.done {
					req.status = approvals.Used
				}
			case req != nil && (req.status == approvals.Denied || req.status == approvals.Pending && w.now > req.expires):
				s.done = !s.loose
			}
		}
		waits = waits || !s.done
	}
	return out
}

// pays notes that a call may pay what is allowed, and must pay it where nothing is left open.
func (o *outcome) pays(s *slot, is, may spending) {
	o.may = append(o.may, may)
	if !s.loose {
		o.must = append(o.must, is)
		s.done = true
	}
}

func count(list []spending) map[spending]int {
	n := map[spending]int{}
	for _, p := range list {
		n[p]++
	}
	return n
}

// within reports whether each of the payments is among those that may be, as often at
// most, and has all that must be.
func (o *outcome) within(paid []spending) bool {
	may, must, is := count(o.may), count(o.must), count(paid)
	for p, n := range is {
		if n > may[p] {
			return false
		}
	}
	for p, n := range must {
		if is[p] < n {
			return false
		}
	}
	return true
}

func opOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
