package visitors

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	asking "usher/tools/approvals"
	"usher/ucan"
	"usher/venue/approvals"
)

// freshLife is how old a sign-in may be for the strength "session".
const freshLife = 5 * time.Minute

// Person is somebody who answers.
type Person struct {
	DID   ucan.DID
	Since time.Time // when they signed in; zero where nobody knows
}

// Question is what a person is asked.
type Question struct {
	Agent   *Agent
	Host    *Host
	Ask     *ask
	Pending []Grant // those that are asked for
	IsClaim bool    // the person takes over an autonomous agent, which ends

	Terms map[string]string // of Pending, by the capabilities: what of each an [Answer] is about
}

// errCode does not say whether there is such an agent. errGuess is the same of a code that is nobody's.
var (
	errCode  = refuse(InvalidUserCode, "there is no request with this code: look at it again, as the program shows it")
	errGuess = refuse(errCode.Code, "%s", errCode.Message)
)

// errTooMany says that a person has guessed too often.
var errTooMany = refuse(RateLimited, "too many wrong codes: wait for five minutes")

// Which says what a person is asked: by the code that an agent shows, or by the request that
// stands in their approvals.
type Which struct{ Agent, Code, Request string }

// Find returns what a person is asked. A code that is nobody's counts, and who could not answer guesses
// none: of guests there are as many as anybody makes keys.
func (r *Room) Find(ctx context.Context, who Person, which Which) (*Question, error) {
	if !r.Keys.Hosts(who.DID) {
		return nil, errNoUser
	}
	q, err := r.find(ctx, who, which)
	return q, r.countGuess(ctx, who, which.Agent, err)
}

// find returns [Room.Find] without counting, which is up to [Room.countGuess].
func (r *Room) find(ctx context.Context, who Person, which Which) (*Question, error) {
	if which.Request != "" {
		return r.questionBy(ctx, who, which)
	}
	agent, code := which.Agent, which.Code
	if err := r.mayGuess(ctx, who); err != nil {
		return nil, err
	}
	id, err := r.byCode(ctx, who, code)
	if err != nil {
		return nil, err
	}
	if id == "" || agent != "" && agent != id {
		return nil, errGuess
	}
	return r.question(ctx, who, id, code)
}

// questionBy is what an agent asks by a request of who answers.
func (r *Room) questionBy(ctx context.Context, who Person, which Which) (*Question, error) {
	a, h, err := r.agent(ctx, which.Agent[:min(len(which.Agent), maxName)])
	if err == nil && (a == nil || a.Ask == nil || a.Ask.Request != which.Request || a.Ask.Asked != who.DID) {
		err = refuse(RequestNotFound, "no such request waits for you")
	}
	if err != nil {
		return nil, err
	}
	return r.questionOf(who, a, h)
}

// usedMark begins what stands in the place of an agent's id once a person has used its code up.
const usedMark = "used "

var errUsed = refuse(RequestResolved, "the request was answered already")

// byCode is the id of the agent that a user code is of; "" for none. Who has used it up is told so.
func (r *Room) byCode(ctx context.Context, who Person, code string) (string, error) {
	code = plainCode(code)
	if len(code) != codeLetters {
		return "", nil
	}
	raw, _, err := r.Store.Get(ctx, codeKey(r.digest("user", code)))
	id := string(raw)
	if by, used := strings.CutPrefix(id, usedMark); used && err == nil {
		if id = ""; by == who.DID.String() {
			err = errUsed
		}
	}
	return id, err
}

// question is what an agent asks by a code.
func (r *Room) question(ctx context.Context, who Person, id, code string) (*Question, error) {
	a, h, err := r.agent(ctx, id)
	if err != nil {
		return nil, err
	}
	switch {
	case a == nil || a.Ask == nil:
		return nil, errUsed
	case !r.isCode(a.Ask, code):
		return nil, errCode
	}
	return r.questionOf(who, a, h)
}

// questionOf is what an agent asks, for who may answer.
func (r *Room) questionOf(who Person, a *Agent, h *Host) (*Question, error) {
	switch {
	case r.isOver(a.Ask):
		return nil, refuse(approvalExpired, "the request has expired: have the program ask again")
	case h.Status == Revoked:
		return nil, refuse(hostRevoked, "the host was revoked")
	case !h.User.IsZero() && h.User != who.DID:
		return nil, refuse(hostLinked, "the host acts for somebody else: it asks them")
	case !a.Ask.Asked.IsZero() && a.Ask.Asked != who.DID, !a.User.IsZero() && a.User != who.DID && a.Ask.Kind != kindClaim:
		return nil, refuse(requestOwner, "somebody else is asked")
	}
	q := &Question{Agent: a, Host: h, Ask: a.Ask, IsClaim: a.Ask.Kind == kindClaim}
	for _, g := range a.Grants {
		if g.Status == Pending {
			q.Pending = append(q.Pending, g)
		}
	}
	q.Terms = r.set.Load().terms(q.Pending)
	return q, nil
}

// guesses of a person are kept for as long as a code lives.
type guesses struct {
	Wrong int   `json:"wrong"`
	Since int64 `json:"since"` // ms
}

func guessKey(who Person) string { return prefix + "wrong/" + who.DID.String() }

// mayGuess reports whether a person has given too many wrong codes.
func (r *Room) mayGuess(ctx context.Context, who Person) error {
	var g guesses
	if _, err := look(ctx, r, guessKey(who), &g); err != nil {
		return err
	}
	if g.Wrong >= maxWrong && r.Now().UnixMilli()-g.Since < askLife.Milliseconds() {
		return errTooMany
	}
	return nil
}

// countGuess counts a wrong code, where that is what failed, for the person and for the agent that was
// meant.
func (r *Room) countGuess(ctx context.Context, who Person, agent string, failed error) error {
	if !errors.Is(failed, errGuess) {
		return failed
	}
	err := r.again(ctx, func(c *change) error {
		var g guesses
		rev, err := look(ctx, r, guessKey(who), &g)
		if err != nil {
			return err
		}
		now := r.Now()
		if now.UnixMilli()-g.Since >= askLife.Milliseconds() {
			g = guesses{}
		}
		g.Wrong, g.Since = g.Wrong+1, now.UnixMilli()
		c.set(guessKey(who), rev, encode(g))
		c.row = row{Call: "approve", User: who.DID.String(), Result: InvalidUserCode.Name, Refused: true, Detail: errCode.Message}
		a, _, err := r.agent(ctx, agent)
		if err != nil {
			return err
		}
		if a != nil && a.Ask != nil && (a.Ask.Asked.IsZero() || a.Ask.Asked == who.DID) {
			a.Ask.Wrong++
			c.agent(a, now)
			c.row.Agent, c.row.Host = a.ID, a.Host
		}
		return nil
	})
	return cmp.Or(err, failed)
}

// Answer is what a person says.
type Answer struct {
	Approve bool
	// Capabilities are those that are approved, each within further constraints; nil is all
	// that are asked for, as they are asked. None of them is no approval.
	Capabilities map[string]Constraints
	// Until and Lasts say when the grants end at the latest, at a time and after some time;
	// zero is with the agent.
	Until   time.Time
	Lasts   time.Duration
	Reason  string            // of a refusal
	Terms   map[string]string // those of the [Question] that they looked at; one that is missing is as it was when it was asked for
	Passkey json.RawMessage   // what a passkey said to [Room.AskApproval]; nil for nothing
}

// isOf reports whether what is approved of a question is what the person looked at, as the settings are.
func (a *Answer) isOf(q *Question, s *settings) bool {
	return !slices.ContainsFunc(q.Pending, func(g Grant) bool {
		seen, looked := a.Terms[g.Capability]
		if !looked {
			seen = q.Ask.Terms[g.Capability]
		}
		return a.approves(&g) && s.termsOf(&g) != seen
	})
}

// until is when the grants of a word end that is given now.
func (a *Answer) until(now time.Time) time.Time {
	if end := now.Add(a.Lasts); a.Lasts > 0 && (a.Until.IsZero() || end.Before(a.Until)) {
		return end
	}
	return a.Until
}

// approves reports whether a grant that is asked for is among those that are approved.
func (a *Answer) approves(g *Grant) bool {
	_, listed := a.Capabilities[g.Capability]
	return a.Capabilities == nil || listed
}

var errNoUser = refuse(Unauthorized, "a grant is signed by a key that this venue has: sign in as a user of it")

// Answer takes the word of a person. The code is used up, and what their passkey was asked
// also where the word is not taken.
func (r *Room) Answer(ctx context.Context, who Person, which Which, said Answer) (out *RegisterResult, added []string, err error) {
	if !r.Keys.Hosts(who.DID) {
		return nil, nil, errNoUser
	}
	var nonce []byte
	if len(said.Passkey) > 0 {
		if nonce, err = r.nonce(ctx, who.DID); err != nil {
			return nil, nil, err
		}
	}
	linked := false // by this word
	err = r.again(ctx, func(c *change) error {
		q, err := r.find(ctx, who, which)
		if err != nil {
			return err
		}
		linked = q.Host.User.IsZero()
		out = &RegisterResult{Agent: q.Agent, Host: q.Host, Asked: len(q.Pending)}
		added, err = r.answer(ctx, c, who, q, &said, nonce)
		return err
	})
	err = r.countGuess(ctx, who, which.Agent, err)
	if err == nil && linked && said.Approve {
		r.endOrphans(ctx, who, out.Host)
	}
	return out, added, err
}

// endOrphans revokes the agents of a host that acted for nobody, now that it is a person's. They
// count no more already, so the word of the person stands where this fails.
func (r *Room) endOrphans(ctx context.Context, who Person, h *Host) {
	_, err := r.endAll(context.WithoutCancel(ctx), nil, who.DID, h, func(a *Agent) bool { return a.isLeft(h) })
	if err != nil {
		r.Logger.ErrorContext(ctx, "the records of autonomous agents do not say yet that their host is a person's", "host", h.ID, "error", err)
	}
}

// answer makes what a person says of a question.
func (r *Room) answer(ctx context.Context, c *change, who Person, q *Question, said *Answer, nonce []byte) (added []string, err error) {
	a, h, now := q.Agent, q.Host, r.Now()
	set := r.set.Load()
	kind := a.Ask.Kind
	as := asking.Denied
	if said.Approve {
		as = asking.Approved
	}
	if err := r.swap(ctx, c, a, approvals.Swap{As: as, By: who.DID, Reason: said.Reason}, nil); err != nil {
		return nil, err
	}
	for i := range q.Pending {
		a.decides(q.Pending[i].Capability)
	}
	if !said.Approve {
		c.says(nil, who.DID, "approve", a, string(denied))
		c.end(a, denied, now, func(g *Grant) bool { return g.Status == Pending })
		if a.Status == Pending {
			a.Status = rejected
		}
		c.agent(a, now)
		return nil, nil
	}
	if q.leavesAll(said) {
		return nil, errNothing
	}
	if !said.isOf(q, set) {
		return nil, errTerms
	}
	if err := r.strong(ctx, c, who, q, said, nonce); err != nil {
		return nil, err
	}
	if c.same(h); h.User.IsZero() {
		h.User, h.Status = who.DID, Active
		c.host(h, now)
	}
	if kind == kindClaim {
		c.says(nil, who.DID, "approve", a, string(Claimed))
		c.row.Detail = kindClaim
		r.over(c, a, Claimed)
		return nil, nil
	}
	if a.Status == Pending {
		a.User = who.DID
		r.activate(a)
	}
	for i := range a.Grants {
		g := &a.Grants[i]
		if g.Status != Pending {
			continue
		}
		if !said.approves(g) {
			g.Status, g.Updated = denied, now.UnixMilli()
			continue
		}
		if g.Constraints, err = g.Constraints.and(said.Capabilities[g.Capability]); err != nil {
			return nil, err
		}
		if err := r.issue(ctx, c, a, g, who.DID, said.until(now)); err != nil {
			return nil, err
		}
		added = append(added, g.Capability)
	}
	if r.set.Load() != set { // what was approved is what stood there
		return nil, &staleError{}
	}
	c.says(nil, who.DID, "approve", a, "approved")
	c.row.Detail = kind + ": " + strings.Join(added, " ")
	c.agent(a, now)
	return added, nil
}

var errNothing = refuse(InvalidRequest, "none of the capabilities that the agent asks for is approved: deny the request, name some, or leave the list out to approve all of them")

var errTerms = refuse(InvalidRequest, "what is asked for would give something else than it did: look at it again on the page of the venue, /agent/device, then approve")

// leavesAll reports whether an approval names none of what is asked for.
func (q *Question) leavesAll(said *Answer) bool {
	return len(q.Pending) > 0 && !slices.ContainsFunc(q.Pending, func(g Grant) bool { return said.approves(&g) })
}
