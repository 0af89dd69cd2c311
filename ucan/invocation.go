package ucan

import (
	"bytes"
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
// of delegations gives them, once. It is immutable; [OpenInvocation] has verified
// its signature, and [Verifier.Invoke] decides it.
type Invocation struct {
	cid           CID
	iss, sub, aud DID
	can           caps.Ability
	args          map[string]any
	prf           []CID
	nonce         []byte
	exp, iat      int64
	eternal       bool
	raw           []byte
}

// OpenInvocation reads an invocation within the default [Limits] and verifies its
// signature.
func OpenInvocation(raw []byte) (*Invocation, error) { return Limits{}.OpenInvocation(raw) }

// OpenInvocation is the package's OpenInvocation within l.
func (l Limits) OpenInvocation(raw []byte) (*Invocation, error) {
	inv, env, issuer, err := l.decodeInvocation(raw)
	if err != nil {
		return nil, err
	}
	if !ed25519.Verify(issuer, env.signed, env.sig) {
		return nil, &VerifyError{Err: ErrSignature, CID: inv.cid}
	}
	return inv, nil
}

// decodeInvocation reads all but the signature, and gives the issuer's key.
func (l Limits) decodeInvocation(raw []byte) (*Invocation, *envelope, ed25519.PublicKey, error) {
	raw = bytes.Clone(raw)
	env, err := l.openEnvelope(raw)
	if err != nil {
		return nil, nil, nil, err
	}
	switch env.tag {
	case tagInvocation, tagInvocation1:
	case tagDelegation, tagDelegation1:
		return nil, nil, nil, malformed("it is a delegation; an invocation is wanted")
	default:
		return nil, nil, nil, fmt.Errorf("%w: %s", ErrVersion, quoteShort(env.tag))
	}
	inv := &Invocation{raw: raw, cid: cidOf(codecDagCBOR, raw)}
	var issuer keyed
	var cmd string
	var args []byte
	var seen fieldSet
	r := &env.payload
	r.fields(func(key string) {
		seen.add(key)
		switch key {
		case "iss":
			issuer = r.keyed("iss")
			inv.iss = issuer.did
		case "sub":
			inv.sub = r.keyed("sub").did
		case "aud":
			inv.aud = r.keyed("aud").did
		case "cmd":
			cmd = string(r.text())
		case "args":
			args = r.entries("args")
		case "prf":
			for n := r.length(cborArray, "a list of proofs"); n > 0 && r.err == nil; n-- {
				inv.prf = append(inv.prf, r.cid())
			}
		case "meta":
			r.entries("meta")
		case "nonce":
			inv.nonce = r.bytes()
		case "exp":
			if inv.eternal = r.null(); !inv.eternal {
				inv.exp = r.int()
			}
		case "iat":
			inv.iat = r.int()
		case "cause":
			r.link()
		default:
			r.fail("an invocation has no field %s", quoteShort(key))
		}
	})
	if err := r.end(); err != nil {
		return nil, nil, nil, err
	}
	if err := seen.need("iss", "sub", "cmd", "args", "prf", "nonce", "exp"); err != nil {
		return nil, nil, nil, err
	}
	if inv.can, err = abilityOf(cmd); err != nil {
		return nil, nil, nil, malformed("%w", err)
	}
	if len(inv.nonce) < minNonce && inv.can != revokeAbility { // which does the same each time
		return nil, nil, nil, malformed("the nonce has %d bytes; it needs %d", len(inv.nonce), minNonce)
	}
	if len(inv.prf) > l.chainDepth() {
		return nil, nil, nil, fmt.Errorf("%w: %d proofs, at most %d are taken (Limits.ChainDepth)", ErrTooDeep, len(inv.prf), l.chainDepth())
	}
	inv.args = decodeValue(args).(map[string]any)
	return inv, env, issuer.key, nil
}

// CID names the invocation by its exact bytes.
func (i *Invocation) CID() CID { return i.cid }

// Issuer is who calls.
func (i *Invocation) Issuer() DID { return i.iss }

// Subject is whom the chain of proofs is about.
func (i *Invocation) Subject() DID { return i.sub }

// Audience is who is to carry it out; zero says the subject is.
func (i *Invocation) Audience() DID { return i.aud }

// Ability is the command, as an ability.
func (i *Invocation) Ability() caps.Ability { return i.can }

// Args returns a copy of the arguments. Integers are int64. Derive the resource
// from what the operation will do, never from Args["with"] alone: it is the
// caller's word.
func (i *Invocation) Args() map[string]any { return maps.Clone(i.args) }

// Proofs lists the delegations that the caller names.
func (i *Invocation) Proofs() []CID { return slices.Clone(i.prf) }

// Bytes returns a copy of the sealed invocation.
func (i *Invocation) Bytes() []byte { return bytes.Clone(i.raw) }

// Expires returns the last second in which it may be used; ok is false where it
// names none.
func (i *Invocation) Expires() (t time.Time, ok bool) {
	return time.Unix(i.exp, 0).UTC(), !i.eternal
}

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
	return Limits{TokenBytes: len(raw)}.OpenInvocation(raw)
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
