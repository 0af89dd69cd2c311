package ucan

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/multiformats/go-multibase"

	"usher/caps"
)

// Format is how a token is written.
type Format string

// Native is the sealed DAG-CBOR envelope of UCAN 1.0; JWT is COG-13's.
const (
	Native Format = "ucan/1.0"
	JWT    Format = "jwt"
)

// Link is one delegation, read from either format. Read it, and change nothing in
// it: it is shared. A link on its own grants nothing: only [Verifier.Authorize]
// follows it to a root.
type Link struct {
	CID      CID // of its exact bytes
	Format   Format
	Issuer   DID      // who signed
	Audience DID      // whom it is made out to
	Subject  DID      // whom a native chain is about; zero for a JWT
	Proofs   []CID    // those that a JWT names; a native chain is named by who invokes it
	Inline   []*Link  // those of them that it carries
	Agents   []string // the lives of the agents that signed it, see [Delegation.Agents]

	issKey   ed25519.PublicKey
	grants   []grant
	policy   []condition // native only: what the recognised resource leaves over
	nbf, exp int64       // Unix seconds; nbf 0 is none, exp may be never

	raw, signed, sig []byte
	verified         atomic.Bool
	resolved         atomic.Pointer[resolution]
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
// verifies its signature and those of the proofs inside it, and that each of these
// carries what rests on it. Nothing else about it is believed yet.
func Open(raw []byte) (*Link, error) { return Limits{}.open(raw) }

func (l Limits) open(raw []byte) (*Link, error) { return pass(l.decode(raw)) }

// pass passes a token on that was read, unless something is wrong with it.
func pass(link *Link, err error) (*Link, error) {
	if err == nil {
		err = link.Err()
	}
	if err != nil {
		return nil, err
	}
	return link, nil
}

// decode reads without verifying signatures: for what was verified before it was
// stored. The walker verifies again what it believes.
func (l Limits) decode(raw []byte) (*Link, error) {
	switch {
	case len(raw) == 0:
		return nil, formatError("it is empty")
	case raw[0] == envelopeHead:
		return l.decodeDelegation(raw)
	case raw[0] == 'e': // base64url of `{"`
		return l.decodeJWT(raw, 1)
	}
	return nil, formatError("it is neither a sealed UCAN 1.0 token nor a JWT; remove spaces, line ends and wrappers")
}

// Err says what refuses the token whatever comes with it: a signature of its own or
// of a proof inside it, or a step from one to the other.
func (l *Link) Err() error {
	if !l.verify() {
		return &VerifyError{Err: ErrSignature, CID: l.CID}
	}
	for _, p := range l.Inline {
		if err := p.Err(); err != nil {
			return err
		}
	}
	// Where nothing is missing, what does not depend on the time is settled.
	if _, err := l.resolve(nil); !errors.Is(err, ErrMissingProof) {
		return err
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

// Capabilities lists what the token claims to grant, as written: resources of a
// native token are absolute, those of a JWT may be bare. A policy that is no
// resource may narrow it further, see [Link.Policy].
func (l *Link) Capabilities() []caps.Capability {
	list := make([]caps.Capability, len(l.grants))
	for i := range l.grants {
		list[i] = l.grants[i].shown
	}
	return list
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
func (l *Link) Passes() bool { return l.Format == Native && l.grants[0].passes }

// isConditional reports whether the token carries policy statements beyond its
// resource, so that it grants less than [Link.Capabilities] shows.
func (l *Link) isConditional() bool { return len(l.policy) > 0 }

// Expires returns the last second in which the token is valid, zero for a token
// that never expires.
func (l *Link) Expires() time.Time {
	if l.exp == never {
		return time.Time{}
	}
	return time.Unix(l.exp, 0).UTC()
}

// NotBefore returns the first second in which the token is valid, zero where it
// names none.
func (l *Link) NotBefore() time.Time {
	if l.nbf == 0 {
		return time.Time{}
	}
	return time.Unix(l.nbf, 0).UTC()
}

// Bytes returns a copy of the token: CBOR, or the text of the JWT.
func (l *Link) Bytes() []byte { return bytes.Clone(l.raw) }

// Text returns the token as text: a JWT as it is, a sealed UCAN 1.0 delegation in
// base64url multibase, which begins with "u".
func (l *Link) Text() string {
	if l.Format == JWT {
		return string(l.raw)
	}
	return inMultibase(multibase.Base64url, l.raw)
}

// Text returns the revocation in base64url multibase.
func (r *Revocation) Text() string { return inMultibase(multibase.Base64url, r.raw) }

// Text returns the invocation in base64url multibase.
func (i *Invocation) Text() string { return inMultibase(multibase.Base64url, i.Raw) }

// OpenInvocationText is [OpenInvocation] for the text that [Invocation.Text] makes, in any multibase.
func OpenInvocationText(text string) (*Invocation, error) { return fromText(text, OpenInvocation) }

// OpenText is [Open] for a token as text: a JWT, or a sealed one in any multibase.
func OpenText(text string) (*Link, error) { return pass(ReadText(text)) }

// ReadText is [OpenText] for a token that is to be shown, whatever is wrong with
// it: [Link.Err] says what. Its form is right.
func ReadText(text string) (*Link, error) { return fromText(text, Limits{}.decode) }

// OpenRevocationText reads the text that [Revocation.Text] makes, and verifies its signature.
func OpenRevocationText(text string) (*Revocation, error) { return fromText(text, openRevocation) }

func fromText[T any](text string, open func(raw []byte) (*T, error)) (*T, error) {
	raw, err := readText(text)
	if err != nil {
		return nil, err
	}
	return open(raw)
}

func readText(text string) ([]byte, error) {
	if len(text) == 0 || text[0] == 'e' { // a JWT, which is no multibase
		return []byte(text), nil
	}
	if most := 2*(Limits{}).tokenBytes() + 1; len(text) > most { // in hex
		return nil, &VerifyError{Err: ErrTooLarge, Detail: fmt.Sprintf("%d characters, at most %d are taken", len(text), most)}
	}
	_, raw, err := multibase.Decode(text)
	if err != nil || len(raw) == 0 || raw[0] != envelopeHead {
		return nil, formatError("it is neither a JWT (eyJ…) nor a sealed token in multibase (u…, which is base64url)")
	}
	if _, err := fromMultibase(text); err != nil {
		return nil, &VerifyError{Err: ErrNotCanonical, Detail: "the multibase text has another spelling"}
	}
	return raw, nil
}
