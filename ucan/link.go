package ucan

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"usher/caps"
)

// Format is how a token is written.
type Format uint8

// Native is the sealed DAG-CBOR envelope of UCAN 1.0; JWT is COG-13's.
const (
	Native Format = iota + 1
	JWT
)

// String returns "ucan/1.0" or "jwt".
func (f Format) String() string {
	switch f {
	case Native:
		return "ucan/1.0"
	case JWT:
		return "jwt"
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// Link is one delegation, read from either format, its signature verified. It is
// immutable and safe to share. A link on its own grants nothing: only
// [Verifier.Authorize] follows it to a root.
type Link struct {
	cid      CID
	format   Format
	iss, aud DID
	sub      DID // native only: the principal that the chain is about
	issKey   ed25519.PublicKey
	grants   []grant
	policy   []statement // native only: what the recognised resource leaves over
	nbf, exp int64       // Unix seconds; nbf 0 is none
	eternal  bool        // no expiry
	nonce    []byte
	prf      []CID    // JWT only: its proofs, inline ones included
	inline   []*Link  // JWT only: those that it carries
	agents   []string // the lives of the agents that signed it, see Delegation.Agents
	size     int      // bytes of signatures and tokens below, for budgets

	raw, signed, sig []byte
	verified         atomic.Bool
	resolved         atomic.Pointer[resolved]
}

// grant is one capability of a link, its resource taken apart into the namespace
// and the path within it. A zero owner is a bare resource of a JWT, whose owner
// is the root issuer of its chain.
type grant struct {
	shown caps.Capability
	owner DID
	path  caps.Resource
	can   caps.Ability

	// passes says that a native link names no resource: it hands on that of its
	// proof, whatever it is. The owner and the path are then not its own.
	passes bool
}

// covers reports whether g, as a proof, grants all that c grants.
func (g *grant) covers(c *grant) bool {
	return g.coversResource(c) && g.can.Covers(c.can)
}

func (g *grant) coversResource(c *grant) bool {
	return g.passes || g.owner == c.owner && !g.owner.IsZero() && g.path.Covers(c.path)
}

// Open reads a delegation in either format, within the default [Limits], and
// verifies its signature and those of the proofs inside it. Nothing else about
// it is believed yet.
func Open(raw []byte) (*Link, error) { return Limits{}.Open(raw) }

// Open is the package's Open within l.
func (l Limits) Open(raw []byte) (*Link, error) {
	link, err := l.decode(raw)
	if err != nil {
		return nil, err
	}
	if err := link.verifyAll(); err != nil {
		return nil, err
	}
	return link, nil
}

// decode reads without verifying signatures: for what was verified before it was
// stored. The walker verifies again what it believes.
func (l Limits) decode(raw []byte) (*Link, error) {
	switch {
	case len(raw) == 0:
		return nil, malformed("it is empty")
	case raw[0] == envelopeHead:
		return l.decodeDelegation(raw)
	case raw[0] == 'e': // base64url of `{"`
		return l.decodeJWT(raw, 1)
	}
	return nil, malformed("it is neither a sealed UCAN 1.0 token nor a JWT; remove spaces, line ends and wrappers")
}

// verifyAll checks the signatures of the link and of its inline proofs.
func (l *Link) verifyAll() error {
	if !l.verify() {
		return &VerifyError{Err: ErrSignature, CID: l.cid}
	}
	for _, p := range l.inline {
		if err := p.verifyAll(); err != nil {
			return err
		}
	}
	return nil
}

// verify checks the signature once and remembers success.
func (l *Link) verify() bool {
	if l.verified.Load() {
		return true
	}
	if !ed25519.Verify(l.issKey, l.signed, l.sig) {
		return false
	}
	l.verified.Store(true)
	return true
}

// CID names the token by its exact bytes.
func (l *Link) CID() CID { return l.cid }

// Format says how the token is written.
func (l *Link) Format() Format { return l.format }

// Issuer is who signed.
func (l *Link) Issuer() DID { return l.iss }

// Audience is whom the token is made out to.
func (l *Link) Audience() DID { return l.aud }

// Subject is whom a native chain is about; zero for a JWT.
func (l *Link) Subject() DID { return l.sub }

// Capabilities lists what the token claims to grant, as written: resources of a
// native token are absolute, those of a JWT may be bare. A policy that is no
// resource may narrow it further, see [Link.Conditional].
func (l *Link) Capabilities() iter.Seq[caps.Capability] {
	return func(yield func(caps.Capability) bool) {
		for i := range l.grants {
			if !yield(l.grants[i].shown) {
				return
			}
		}
	}
}

// Namespace is whose namespace a bare resource of the token means: the root issuer
// of a JWT, once its proofs are known, or the subject of a native token. It is zero
// where that is unknown or the proofs disagree.
func (l *Link) Namespace() DID {
	if r := l.resolved.Load(); r != nil {
		return r.bareOwner
	}
	return DID{}
}

// Passes reports whether a native token names no resource, so that it hands on what
// its proof gives, whatever that is.
func (l *Link) Passes() bool { return l.format == Native && l.grants[0].passes }

// Conditional reports whether the token carries policy statements beyond its
// resource, so that it grants less than [Link.Capabilities] shows.
func (l *Link) Conditional() bool { return len(l.policy) > 0 }

// Expires returns the last second in which the token is valid; ok is false for a
// token that never expires.
func (l *Link) Expires() (t time.Time, ok bool) {
	if l.eternal {
		return time.Time{}, false
	}
	return time.Unix(l.exp, 0).UTC(), true
}

// NotBefore returns the first second in which the token is valid; ok is false
// where it names none.
func (l *Link) NotBefore() (t time.Time, ok bool) {
	if l.nbf == 0 {
		return time.Time{}, false
	}
	return time.Unix(l.nbf, 0).UTC(), true
}

// Proofs lists the proofs that a JWT names; nil for a native delegation, whose
// proofs the invoker names.
func (l *Link) Proofs() []CID { return slices.Clone(l.prf) }

// Inline lists the proofs that a JWT carries.
func (l *Link) Inline() []*Link { return slices.Clone(l.inline) }

// Bytes returns a copy of the token: CBOR, or the text of the JWT.
func (l *Link) Bytes() []byte { return bytes.Clone(l.raw) }

// String names the token for a log: format, CID, issuer and audience.
func (l *Link) String() string {
	return fmt.Sprintf("%s %s from %s to %s", l.format, l.cid, l.iss, l.aud)
}

// keyed is a DID with its key taken out of the base58 once.
type keyed struct {
	did DID
	key ed25519.PublicKey
}

func parseKeyed(s string) (keyed, error) {
	key, err := decodeDID(s)
	if err != nil {
		return keyed{}, fmt.Errorf("%w: %s: %w", ErrDID, quoteShort(s), err)
	}
	return keyed{DID{s}, key}, nil
}
