package ucan

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"usher/caps"
)

// Invocation is a signed call (UCAN 1.0, invocation): somebody uses what a chain
// of delegations gives them, once. [OpenInvocation] has verified its signature, and
// [Verifier.Invoke] decides on what was signed, whatever was written to it since.
type Invocation struct {
	CID      CID            // of its exact bytes
	Issuer   DID            // who calls
	Subject  DID            // whom the chain of proofs is about
	Audience DID            // who is to carry it out; zero says the subject is
	Can      caps.Ability   // the command
	Args     map[string]any // the caller's word: derive the resource from what the operation will do
	Proofs   []CID          // the delegations that the caller names
	Raw      []byte         // the sealed invocation

	nonce    []byte
	exp, iat int64
	opened   *Invocation // as it was verified; nil where nobody did
}

// OpenInvocation reads an invocation within the default [Limits] and verifies its
// signature.
func OpenInvocation(raw []byte) (*Invocation, error) { return Limits{}.openInvocation(raw) }

func (l Limits) openInvocation(raw []byte) (*Invocation, error) {
	raw = bytes.Clone(raw)
	env, err := l.openEnvelope(raw, tagInvocation, tagInvocation1)
	if err != nil {
		return nil, err
	}
	f := &env.payload
	f.only("iss", "sub", "aud", "cmd", "args", "prf", "meta", "nonce", "exp", "iat", "cause")
	f.need("iss", "sub", "cmd", "args", "prf", "nonce", "exp")
	inv := &Invocation{CID: cidOf(codecDagCBOR, raw), Raw: raw, Can: f.command(), Args: f.entries("args")}
	var key ed25519.PublicKey
	inv.Issuer, key = f.principal("iss")
	inv.Subject, _ = f.principal("sub")
	inv.Audience, _ = f.principal("aud")
	inv.exp, inv.iat = f.expiry("exp"), f.seconds("iat")
	if inv.nonce, _ = field[[]byte](f, "nonce"); inv.Can != revokeAbility { // which does the same each time
		f.nonce()
	}
	f.entries("meta")
	field[link](f, "cause")
	prf, _ := field[[]any](f, "prf")
	for _, p := range prf {
		named, _ := p.(link)
		c, ok := cidFromBytes([]byte(named))
		if !ok {
			f.fail(formatError("a proof is not the CID of a token"))
		}
		inv.Proofs = append(inv.Proofs, c)
	}
	switch {
	case f.err != nil:
		return nil, f.err
	case len(inv.Proofs) > l.chainDepth():
		return nil, fmt.Errorf("%w: %d proofs, at most %d are taken (Limits.ChainDepth)", ErrTooDeep, len(inv.Proofs), l.chainDepth())
	case !ed25519.Verify(key, env.signed, env.sig):
		return nil, &VerifyError{Err: ErrSignature, CID: inv.CID}
	}
	own := *inv
	own.Args, own.Proofs = maps.Clone(inv.Args), slices.Clone(inv.Proofs)
	inv.opened = &own
	return inv, nil
}

// Expires is the last second at which it holds.
func (i *Invocation) Expires() time.Time { return time.Unix(i.exp, 0) }

// Call is what [Key.Invoke] signs.
type Call struct {
	Subject  DID            // whom the chain is about
	Audience DID            // the venue that is to carry it out; zero is Subject
	Can      caps.Ability   // the ability, which becomes the command
	Args     map[string]any // arguments, none of them null; "with" is the absolute resource
	Proofs   []CID          // the chain, from the caller's own delegation to the root
	Issued   time.Time      // zero leaves it out
	Expires  time.Time      // required
	Nonce    []byte         // at least 12 bytes; nil takes 12 from rand
}

// Invoke signs a call. rand is crypto/rand.Reader outside tests.
func (k Key) Invoke(c Call, rand io.Reader) (*Invocation, error) {
	if _, err := caps.ParseAbility(string(c.Can)); err != nil {
		return nil, fmt.Errorf("sign invocation: %w", err)
	}
	if c.Subject.IsZero() || c.Expires.IsZero() {
		return nil, errors.New("sign invocation: it needs a subject and an expiry")
	}
	nonce, err := nonceOr(c.Nonce, rand)
	if err != nil {
		return nil, fmt.Errorf("sign invocation: %w", err)
	}
	raw, err := k.sealInvocation(&c, nonce)
	if err != nil {
		return nil, fmt.Errorf("sign invocation: %w", err)
	}
	return Limits{TokenBytes: len(raw)}.openInvocation(raw)
}

func nonceOr(nonce []byte, rand io.Reader) ([]byte, error) {
	if nonce == nil {
		nonce = make([]byte, minNonce)
		if _, err := io.ReadFull(rand, nonce); err != nil {
			return nil, fmt.Errorf("make nonce: %w", err)
		}
	}
	if len(nonce) < minNonce {
		return nil, fmt.Errorf("the nonce has %d bytes; it needs %d", len(nonce), minNonce)
	}
	return nonce, nil
}

// Invoke decides an invocation and marks it as used: of several copies one is
// allowed. request is what the operation needs, derived by the venue from the
// operation and its input; its resource names the owner. The ability and, where
// the invocation names one, the resource have to be those that the caller signed
// for. tokens are delegations that came along; others are read from the store.
//
// The mark survives a killed process. It is not synced on its own, so a power cut
// within the five minutes that an invocation lives can forget it.
func (v *Verifier) Invoke(ctx context.Context, inv *Invocation, request caps.Request, tokens ...*Link) (Grant, error) {
	if v.Store == nil {
		return Grant{}, fmt.Errorf("invoke: %w", errNoStore)
	}
	if inv.opened == nil {
		return Grant{}, &VerifyError{Err: ErrSignature, CID: inv.CID, Detail: "it was never verified"}
	}
	inv = inv.opened
	g, err := v.examine(ctx, inv, request, tokens)
	if err != nil {
		return Grant{}, err
	}
	if err := v.Store.use(ctx, inv); err != nil {
		return Grant{}, err
	}
	return g, nil
}

// Current reports what is wrong with an invocation here and now, whatever it asks for: another is to
// carry it out, it has expired, or it lives too long.
func (v *Verifier) Current(inv *Invocation) error {
	refuse := func(err error, detail string) error {
		return &VerifyError{Err: err, CID: inv.CID, Detail: detail}
	}
	executor := inv.Audience
	if executor.IsZero() {
		executor = inv.Subject
	}
	if executor != v.Self {
		return refuse(ErrAudience, "it is to be carried out by "+executor.s)
	}
	now, life := v.now(), v.Limits.invocationLife()
	switch {
	case isExpired(inv.exp, now):
		return refuse(ErrExpired, "")
	case now.Before(time.Unix(inv.iat, 0)):
		return refuse(ErrNotYetValid, "it was issued in the future")
	case life >= 0 && inv.exp > now.Add(life).Unix():
		return refuse(ErrLifetime, "an invocation may live "+life.String()+" at most (Limits.InvocationLife)")
	}
	return nil
}

// examine is Invoke without the mark.
func (v *Verifier) examine(ctx context.Context, inv *Invocation, request caps.Request, tokens []*Link) (Grant, error) {
	if err := v.Current(inv); err != nil {
		return Grant{}, err
	}
	refuse := func(err error, detail string) (Grant, error) {
		return Grant{}, &VerifyError{Err: err, CID: inv.CID, Detail: detail}
	}
	q := Query{Caller: inv.Issuer, Request: request, Proofs: inv.Proofs, beside: tokens, Args: inv.Args}
	n, err := q.need()
	if err != nil {
		return Grant{}, err
	}
	if !inv.Can.Covers(n.can) {
		return refuse(ErrNotCovered, "it invokes "+string(inv.Can)+", the operation needs "+string(n.can))
	}
	if with, ok := inv.Args["with"]; ok && with != absolute(n.owner, n.path) {
		return refuse(ErrNotCovered, "it names another resource than the operation uses")
	}
	if inv.Issuer == n.owner {
		if inv.Subject != inv.Issuer && inv.Subject != v.Self {
			return refuse(ErrSubject, "the owner invokes in the name of "+inv.Subject.s)
		}
		return Grant{owner: n.owner}, nil
	}
	if len(inv.Proofs) == 0 {
		return refuse(ErrMissingProof, "the caller is not the owner and names no proof")
	}
	g, err := v.Authorize(ctx, q)
	if err != nil {
		return Grant{}, err
	}
	for _, l := range g.Links() {
		if l.Format == Native && l.Subject != inv.Subject {
			return refuse(ErrSubject, "the chain is about "+l.Subject.s)
		}
		// The caller signed for a command, so the chain must carry all of it.
		if l.Format == Native && !l.grants[0].can.Covers(inv.Can) {
			return refuse(ErrNotCovered, "the chain does not carry "+string(inv.Can))
		}
	}
	if inv.Subject != n.owner && inv.Subject != g.root() {
		return refuse(ErrSubject, "the invocation is about "+inv.Subject.s)
	}
	// The list is the chain, no more: in either order, since the specification
	// gives both.
	chain := g.Chain()
	for _, c := range inv.Proofs {
		if !slices.Contains(chain, c) {
			return refuse(ErrBrokenChain, "it names a proof that is no part of the chain: "+c.String())
		}
	}
	return g, nil
}
