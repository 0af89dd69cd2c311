package ucan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"usher/caps"
)

// Delegation is what [Issuer.Delegate] is asked to issue.
type Delegation struct {
	Audience     DID               // whom the authority goes to
	Capabilities []caps.Capability // a bare resource is in the namespace of Owner
	Owner        DID               // whose namespace bare resources mean; zero is the issuer's own
	NotBefore    time.Time         // when it begins; zero is at once
	Expires      time.Time         // in whole seconds; required, unless Limits.Life is negative

	// Shorten is how much sooner it may end, with the proofs, where these end before
	// Expires, instead of being refused; negative is any time.
	Shorten time.Duration

	// Proofs and Tokens, which need not be stored, are those by which the issuer holds
	// what it hands on. With none the store is searched. An owner needs none; where
	// nothing rests on those that are named, another namespace was meant, and they are
	// refused.
	Proofs []CID
	Tokens []*Link

	// Format of the new tokens; zero is Native. A native token holds one capability,
	// so several give several tokens; a JWT holds them all. Inline puts the proofs of a
	// JWT inside it, where they are JWTs, so that it can be shown elsewhere. Otherwise
	// they are named by CID.
	Format Format
	Inline bool

	// Agents names the lives of the agents that sign with the issuer's key: the
	// tokens say so, and count as far as [Verifier.Signer] says that these go. They end
	// at Latest: more is refused, or cut as far as Shorten lets it; zero is no bound.
	Agents []string
	Latest time.Time
}

// Issuer signs delegations with one key.
type Issuer struct {
	Key      Key
	Verifier *Verifier // decides what the key's principal holds; its store, if any, keeps what is issued
	Rand     io.Reader // makes nonces; crypto/rand.Reader outside tests
}

// Delegate issues tokens for d and stores them. It signs nothing unless the issuer
// holds every capability for the whole time: by being the owner, by being a root
// for the owner, or by a chain that [Verifier.Authorize] accepts now and that
// lives as long. Anything more is refused with [ErrNotHeld], which names the
// capability and wraps the reason.
func (is *Issuer) Delegate(ctx context.Context, d Delegation) ([]*Link, error) {
	links, err := is.delegate(ctx, &d)
	if err != nil {
		return nil, fmt.Errorf("delegate: %w", err)
	}
	for _, l := range links {
		if is.Verifier.Store == nil {
			break
		}
		if err := is.Verifier.Store.Put(ctx, l); err != nil {
			return nil, fmt.Errorf("delegate: %w", err)
		}
	}
	return links, nil
}

// Identity signs a token that grants nothing: it says to the audience, until it
// ends, who speaks.
func (is *Issuer) Identity(audience DID, expires time.Time) (*Link, error) {
	d := Delegation{Audience: audience, Expires: expires, Format: JWT}
	if err := is.checkTimes(&d); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	return is.signJWT(&d, nil)
}

// holding is one capability to hand on, and how the issuer holds it.
type holding struct {
	grant
	proof *Link // the issuer's own token; nil for a root
	sub   DID   // whom a native chain is about

	limits []any     // the statements of a native token
	until  time.Time // zero for no end of its own
}

func (is *Issuer) delegate(ctx context.Context, d *Delegation) (links []*Link, err error) {
	limits := is.Verifier.Limits
	switch {
	case is.Key.IsZero():
		return nil, errors.New("the issuer has no key")
	case d.Audience.IsZero():
		return nil, errors.New("the audience is missing; give the DID of who receives the authority")
	case len(d.Capabilities) == 0:
		return nil, errors.New("there is no capability to delegate")
	case len(d.Capabilities) > limits.capabilities():
		return nil, fmt.Errorf("%w: %d capabilities, at most %d (Limits.Capabilities)", ErrTooLarge, len(d.Capabilities), limits.capabilities())
	}
	if err := is.checkTimes(d); err != nil {
		return nil, err
	}
	held := make([]holding, 0, len(d.Capabilities))
	for _, c := range d.Capabilities {
		limits, err := policyFor(c, d.Format)
		if err != nil {
			return nil, err
		}
		h, err := is.hold(ctx, d, c)
		if err != nil {
			return nil, err
		}
		h.limits, h.until = limits, c.Until()
		held = append(held, h)
	}
	if len(d.Proofs)+len(d.Tokens) > 0 && !slices.ContainsFunc(held, func(h holding) bool { return h.proof != nil }) {
		return nil, &VerifyError{Err: ErrUnusedProofs, Detail: fmt.Sprintf("the issuer needs none for %s: to hand on what another owns, name that owner", d.Capabilities[0])}
	}
	if over := d.Expires.Sub(d.Latest); !d.Latest.IsZero() && over > 0 {
		if d.Shorten >= 0 && over > d.Shorten {
			return nil, &VerifyError{Err: ErrLifetime, Detail: "what an agent hands on may live until " + d.Latest.UTC().Format(time.RFC3339) + " at most"}
		}
		d.Expires = d.Latest
	}
	// What it rests on may have moved its bounds.
	if err := is.checkTimes(d); err != nil {
		return nil, err
	}
	if d.Format == JWT {
		l, err := is.signJWT(d, held)
		return []*Link{l}, err
	}
	for i := range held {
		l, err := is.signNative(d, &held[i])
		if err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	return links, nil
}

func (is *Issuer) checkTimes(d *Delegation) error {
	life := is.Verifier.Limits.life()
	now := is.Verifier.now()
	switch {
	case d.Expires.IsZero() && life >= 0:
		return &VerifyError{Err: ErrLifetime, Detail: "give it an expiry"}
	case d.Expires.IsZero():
	case d.Expires.Unix() < now.Unix():
		return &VerifyError{Err: ErrExpired, Detail: "it would expire at " + d.Expires.UTC().Format(time.RFC3339)}
	case life >= 0 && d.Expires.Unix() > now.Add(life).Unix():
		return &VerifyError{Err: ErrLifetime, Detail: "it may live " + life.String() + " at most (Limits.Life)"}
	case !d.NotBefore.IsZero() && d.NotBefore.After(d.Expires):
		return &VerifyError{Err: ErrTimeBounds, Detail: "it would end before it begins"}
	}
	return nil
}

// hold finds by what the issuer holds a capability.
func (is *Issuer) hold(ctx context.Context, d *Delegation, c caps.Capability) (holding, error) {
	me := is.Key.DID()
	g, err := newGrant(c.With(), string(c.Can()))
	if err != nil {
		return holding{}, err
	}
	if g.owner.IsZero() {
		if g.owner = d.Owner; g.owner.IsZero() {
			g.owner = me
		}
	}
	h := holding{grant: g, sub: me}
	if is.Verifier.mayRoot(g.owner, me) {
		if g.owner == me && me == is.Verifier.Self && c.Resource().DID() == "" && d.Owner.IsZero() {
			return holding{}, &VerifyError{Err: ErrBareResource, Detail: c.String() + ": a venue names the owner"}
		}
		return h, nil
	}
	refuse := func(cause error) (holding, error) {
		return holding{}, &VerifyError{Err: ErrNotHeld, Detail: c.String(), Cause: cause}
	}
	chain, err := is.chain(ctx, d, g)
	if err != nil {
		return refuse(err)
	}
	if chain.n == is.Verifier.Limits.chainDepth() {
		return refuse(ErrTooDeep)
	}
	h.proof = chain.chain[0].link
	if d.Format == JWT && h.proof.resolved.Load().depth >= is.Verifier.Limits.jwtDepth() {
		return refuse(ErrTooDeep)
	}
	h.sub = g.owner
	for _, l := range chain.Links() {
		if l.Format == Native {
			h.sub = l.Subject
		}
		if nbf := l.NotBefore(); d.Format == JWT && d.NotBefore.Before(nbf) {
			d.NotBefore = nbf // it could not be used earlier, and a JWT has to say so
		}
	}
	return h, nil
}

// chain finds one by which the issuer holds g for as long as d is to live, or, if
// d may be shortened, one for as long as that has.
func (is *Issuer) chain(ctx context.Context, d *Delegation, g grant) (Grant, error) {
	q := Query{
		Caller: is.Key.DID(), Owner: g.owner, Request: caps.NeedOn(g.can, g.path), Proofs: d.Proofs, Tokens: d.Tokens, until: never,
	}
	if !d.Expires.IsZero() {
		q.until = d.Expires.Unix()
	}
	chain, err := is.Verifier.Authorize(ctx, q)
	if _, refused := errors.AsType[*VerifyError](err); d.Shorten == 0 || !refused {
		return chain, err
	}
	if q.until = 0; d.Shorten > 0 && !d.Expires.IsZero() {
		q.until = d.Expires.Add(-d.Shorten).Unix()
	}
	chain, err = is.Verifier.Authorize(ctx, q)
	if ends := chain.expires(); !ends.IsZero() && err == nil && (d.Expires.IsZero() || ends.Before(d.Expires)) {
		d.Expires = ends
	}
	return chain, err
}
