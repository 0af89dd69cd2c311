package venue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"usher/caps"
	"usher/prompt"
	"usher/tools"
	"usher/tools/delegation"
	"usher/ucan"
)

// delegationService answers the token operations for the principal behind the
// call: the user, or the independent agent.
type delegationService struct{ v *Venue }

var (
	_ delegation.Service = delegationService{}
	_ delegation.Clock   = delegationService{}
)

func (s delegationService) Now() time.Time { return s.v.now() }

// mayRoot lets the venue speak for the principals whose keys it has.
func (v *Venue) mayRoot(owner, issuer ucan.DID) bool {
	return issuer == v.DID() && v.keys.Hosts(owner)
}

// signer returns what an agent holds that signed a token. Of another venue's agent
// nothing is known here: its venue bounds it.
func (v *Venue) signer(ctx context.Context, agent string) (caps.Set, ucan.DID) {
	owner, err := ucan.ParseDID(tools.Life(agent).Owner())
	if err != nil {
		return caps.Set{}, ucan.DID{}
	}
	if !v.keys.Hosts(owner) {
		return caps.Unrestricted(), owner
	}
	return v.agents.Live(ctx, tools.Life(agent))
}

// byAgent bounds what an agent signs: the token names the agent, and those on whose
// behalf it acts, and lives a day unless the owner allows more.
func (s delegationService) byAgent(call tools.Call, d *ucan.Delegation) {
	for _, life := range call.Authority().Bound().Lives {
		d.Agents = append(d.Agents, string(life))
	}
	if len(d.Agents) > 0 {
		d.Latest = s.v.now().Add(s.v.delegationLife)
	}
}

// Issue signs with the venue's key. COG-13 limits it to the caller's own
// namespace: the venue would root any other, too, and must not be talked into it.
func (s delegationService) Issue(ctx context.Context, call tools.Call, r delegation.Request) (*ucan.Link, error) {
	owner := call.Owner()
	for _, c := range r.Capabilities {
		if did := c.Resource().In(owner.String()).DID(); did != "" {
			return nil, fmt.Errorf("%s is not in your own namespace: hand it on with ucan:delegate", c)
		}
	}
	issuer := ucan.Issuer{Key: s.v.keys.Venue(), Verifier: s.v.verifier, Rand: s.v.random}
	d := ucan.Delegation{Audience: r.Audience, Capabilities: r.Capabilities, Owner: owner, Expires: r.Expires, Format: ucan.JWT}
	s.byAgent(call, &d)
	links, err := issuer.Delegate(ctx, d)
	if err != nil {
		return nil, err
	}
	return links[0], nil
}

func (s delegationService) Delegate(ctx context.Context, call tools.Call, r delegation.Request) ([]*ucan.Link, error) {
	key, err := s.v.keys.Of(ctx, call.Owner())
	if err != nil {
		return nil, err
	}
	issuer := ucan.Issuer{Key: key, Verifier: s.v.verifier, Rand: s.v.random}
	d := ucan.Delegation{
		Audience: r.Audience, Capabilities: r.Capabilities, NotBefore: r.NotBefore, Expires: r.Expires, Shorten: r.Shorten,
		Proofs: r.Proofs, Format: r.Format, Inline: r.Inline,
	}
	s.byAgent(call, &d)
	return issuer.Delegate(ctx, d)
}

func (s delegationService) Revoke(ctx context.Context, call tools.Call, cid ucan.CID) (known bool, err error) {
	token, err := s.v.tokens.Get(ctx, cid)
	if known = err == nil; !known && !errors.Is(err, ucan.ErrMissingProof) {
		return false, err
	}
	if err := s.bounded(ctx, call, delegation.CanRevoke, token); err != nil {
		return known, err
	}
	key, err := s.v.keys.Of(ctx, call.Owner())
	if err != nil {
		return known, err
	}
	revocation, err := key.Revocation(cid, s.v.now())
	if err != nil {
		return known, err
	}
	return known, s.v.verifier.Revoke(ctx, revocation)
}

// bounded refuses a call whose capabilities do not reach to all that a token gives;
// nil is a token that is not known.
func (s delegationService) bounded(ctx context.Context, call tools.Call, ability caps.Ability, token *ucan.Link) error {
	var gives []caps.Capability
	if token != nil {
		var err error
		if gives, err = s.v.verifier.Effective(ctx, token); err != nil {
			return err
		}
	}
	if denial := delegation.Bounded(call, ability, gives); denial != nil {
		return denial
	}
	return nil
}

// Export gives a token to those whom it concerns: who issued it, received it, owns
// what it gives, or has issued or received another token of the chain.
func (s delegationService) Export(ctx context.Context, call tools.Call, cid ucan.CID) ([]string, error) {
	token, err := s.v.tokens.Get(ctx, cid)
	if errors.Is(err, ucan.ErrMissingProof) {
		return nil, fmt.Errorf("no token %s is known here: ucan:list names yours", cid)
	}
	if err != nil {
		return nil, err
	}
	chain := []*ucan.Link{token}
	gives, err := s.v.verifier.Effective(ctx, token)
	if err != nil {
		return nil, err
	}
	for _, c := range gives {
		grant, err := s.v.verifier.Authorize(ctx, ucan.Query{
			Caller: token.Audience(), Owner: token.Namespace(), Request: caps.NeedOn(c.Can(), c.Resource()), Proofs: []ucan.CID{cid}, Search: true,
		})
		if err != nil {
			continue // what no longer holds goes alone
		}
		for _, c := range grant.Chain() {
			if l, err := s.link(ctx, c, chain); err == nil && !slices.Contains(chain, l) {
				chain = append(chain, l)
			}
		}
	}
	me := call.Owner()
	mine := func(l *ucan.Link) bool { return l.Issuer() == me || l.Audience() == me || speaksFor(l, me) }
	if !slices.ContainsFunc(chain, mine) {
		return nil, fmt.Errorf("no token %s is known here: ucan:list names yours", cid)
	}
	if err := s.bounded(ctx, call, delegation.CanRead, token); err != nil {
		return nil, err
	}
	var texts []string
	for _, l := range chain {
		texts = append(texts, ucan.Text(l))
		revocations, err := s.v.tokens.Revocations(ctx, l.CID())
		if err != nil {
			return nil, err
		}
		for _, r := range revocations {
			texts = append(texts, r.Text())
		}
	}
	return texts, nil
}

// Venue is the DID of the venue.
func (s delegationService) Venue() ucan.DID { return s.v.DID() }

// retire revokes what an independent agent has delegated, and forgets its key.
func (v *Venue) retire(ctx context.Context, life tools.Life, did ucan.DID) error {
	key, err := v.keys.Of(ctx, did)
	if err != nil {
		return err
	}
	for l, err := range v.tokens.ByIssuer(ctx, did) {
		if err != nil {
			return err
		}
		revocation, err := key.Revocation(l.CID(), v.now())
		if err != nil {
			return err
		}
		if err := v.verifier.Revoke(ctx, revocation); err != nil {
			return err
		}
	}
	return v.keys.Forget(ctx, life, did)
}

// Import puts revocations into effect, and stores tokens that carry authority now.
// Others would only stand in the way when a chain is searched for.
func (s delegationService) Import(ctx context.Context, _ tools.Call, links []*ucan.Link, revocations []*ucan.Revocation) error {
	for _, r := range revocations {
		if err := s.v.verifier.Revoke(ctx, r); err != nil {
			return fmt.Errorf("import revocation: %w", err)
		}
	}
	for len(links) > 0 {
		var refused error
		left := slices.DeleteFunc(slices.Clone(links), func(l *ucan.Link) bool {
			err := s.carries(ctx, l, links)
			if err == nil {
				err = s.v.tokens.Put(ctx, l)
			}
			if err != nil && refused == nil {
				refused = fmt.Errorf("import token %s: %w", l.CID(), err)
			}
			return err == nil
		})
		// What was stored may be the proof that another was waiting for.
		if len(left) == len(links) {
			return refused
		}
		links = left
	}
	return nil
}

// carries reports why a token gives its audience nothing, with the others that
// came with it and those that are stored.
func (s delegationService) carries(ctx context.Context, l *ucan.Link, others []*ucan.Link) error {
	if err := s.v.verifier.Check(ctx, l); err != nil {
		return err
	}
	gives, err := s.v.verifier.Effective(ctx, l)
	if err != nil {
		return err
	}
	if len(gives) == 0 && l.Passes() {
		return errors.New("it passes on what its proof gives, and no proof of it is known here")
	}
	for _, c := range gives {
		q := ucan.Query{Caller: l.Audience(), Owner: l.Namespace(), Request: caps.NeedOn(c.Can(), c.Resource()), Tokens: others, Search: true}
		if _, err := s.v.verifier.Authorize(ctx, q); err != nil {
			return fmt.Errorf("it does not carry %s: %w", c, err)
		}
	}
	return nil
}

// errNotYours is all that is said of authority between others.
var errNotYours = errors.New("send the tokens along: the venue's own are searched only for the caller and for the owner of the resource")

func (s delegationService) Verify(ctx context.Context, call tools.Call, q delegation.Question) (ucan.Grant, []*ucan.Link, error) {
	me := call.Owner()
	if target := q.Need.In(me.String()).Resource().DID(); len(q.Tokens) == 0 && q.Caller != me && target != "" {
		return ucan.Grant{}, nil, errNotYours
	}
	verifier := *s.v.verifier
	if !q.At.IsZero() {
		verifier.Now = func() time.Time { return q.At }
	}
	grant, err := verifier.Authorize(ctx, ucan.Query{Caller: q.Caller, Owner: me, Request: q.Need, Tokens: q.Tokens})
	if err != nil {
		return grant, nil, err
	}
	links := make([]*ucan.Link, 0, len(q.Tokens))
	for _, cid := range grant.Chain() {
		l, err := s.link(ctx, cid, q.Tokens)
		if err != nil {
			return grant, nil, err
		}
		links = append(links, l)
	}
	return grant, links, nil
}

// link finds a token of a chain, among those given or in the store.
func (s delegationService) link(ctx context.Context, cid ucan.CID, given []*ucan.Link) (*ucan.Link, error) {
	for _, l := range given {
		if l.CID() == cid {
			return l, nil
		}
		if inner, err := s.link(ctx, cid, l.Inline()); err == nil {
			return inner, nil
		}
	}
	return s.v.tokens.Get(ctx, cid)
}

func (s delegationService) List(ctx context.Context, call tools.Call, received, issued bool) ([]delegation.Token, error) {
	var out []delegation.Token
	collect := func(direction string, l *ucan.Link) error {
		gives, err := s.v.verifier.Effective(ctx, l)
		if err != nil || delegation.Bounded(call, delegation.CanRead, gives) != nil {
			return err
		}
		t := delegation.Describe(l, false)
		t.Direction, t.Revoked, t.Capabilities = direction, errors.Is(s.v.verifier.Check(ctx, l), ucan.ErrRevoked), gives
		out = append(out, t)
		return nil
	}
	if received {
		for l, err := range s.v.tokens.ByAudience(ctx, call.Owner()) {
			if err != nil {
				return nil, err
			}
			if err := collect(delegation.Received, l); err != nil {
				return nil, err
			}
		}
	}
	if issued {
		for l, err := range s.v.tokens.ByIssuer(ctx, call.Owner()) {
			if err != nil {
				return nil, err
			}
			if err := collect(delegation.Issued, l); err != nil {
				return nil, err
			}
		}
		// The venue signs what ucan:issue makes for a principal.
		for l, err := range s.v.tokens.ByIssuer(ctx, s.v.DID()) {
			if err != nil {
				return nil, err
			}
			if speaksFor(l, call.Owner()) {
				if err := collect(delegation.Issued, l); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}

// speaksFor reports whether the token hands on something of owner's.
func speaksFor(l *ucan.Link, owner ucan.DID) bool {
	for c := range l.Capabilities() {
		if c.Resource().DID() == owner.String() {
			return true
		}
	}
	return false
}

// maxHeld bounds what a prompt lists of delegations.
const maxHeld = 32

// held lists what others have delegated to the principal behind auth, as far as
// it would be allowed at this moment: by a chain, and by the agent's own
// capabilities, of which a narrower one shows its own part.
func (v *Venue) held(ctx context.Context, auth tools.Authority) ([]prompt.Delegation, error) {
	set := auth.Caps()
	if !namesOthers(set) {
		return nil, nil
	}
	holdings, err := v.verifier.Holdings(ctx, auth.Owner(), ucan.DID{}, maxHeld)
	if err != nil {
		return nil, err
	}
	var out []prompt.Delegation
	for _, h := range holdings {
		for c := range set.Intersect(caps.Of(h.Capability)).All() {
			d := prompt.Delegation{Capability: c, Owner: h.Owner.String()}
			if !h.Expires.IsZero() {
				d.Expires = h.Expires.Format(time.RFC3339)
			}
			// The words of a resource are another's: nothing that reads as a
			// sentence gets into the prompt.
			if len(out) < maxHeld && plain(c.With()) && !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out, nil
}

// namesOthers reports whether a set could allow anything in another's namespace.
func namesOthers(set caps.Set) bool {
	if set.IsUnrestricted() {
		return true
	}
	for c := range set.All() {
		if c.Resource().DID() != "" {
			return true
		}
	}
	return false
}

// plain reports whether a resource is written without spaces and signs, and
// short enough for a line.
func plain(with string) bool {
	const signs = "-._~:/@+"
	return len(with) <= 256 && strings.IndexFunc(with, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(signs, r)
	}) < 0
}
