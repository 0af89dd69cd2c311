package ucan

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/MetaMask/go-did-it"
	"github.com/MetaMask/go-did-it/crypto"
	"github.com/MetaMask/go-did-it/crypto/ed25519"
	_ "github.com/MetaMask/go-did-it/verifiers/did-key" // the one DID method, which calls nobody
	"github.com/ipfs/go-cid"
	"github.com/ucan-wg/go-ucan/pkg/command"
	"github.com/ucan-wg/go-ucan/pkg/policy"
	"github.com/ucan-wg/go-ucan/pkg/policy/literal"
	"github.com/ucan-wg/go-ucan/token/delegation"
	"github.com/ucan-wg/go-ucan/token/invocation"
)

// signer lends a key to go-ucan for one signature, without a copy of the secret
// that [Key.Zero] would not reach.
type signer struct {
	ed25519.PrivateKey // empty: it knows the signature header, no more
	key                Key
}

var _ crypto.PrivateKeySigningBytes = signer{}

func (s signer) SignToBytes(msg []byte, _ ...crypto.SigningOption) ([]byte, error) {
	sig := s.key.Sign(msg)
	if sig == nil {
		return nil, errors.New("the key is zero or erased")
	}
	return sig, nil
}

// guard makes a panic inside go-ucan an error.
func guard(write func() ([]byte, cid.Cid, error)) (raw []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("go-ucan panicked: %v", r)
		}
	}()
	raw, _, err = write()
	return raw, err
}

// theirs is a DID in go-ucan's words.
func theirs(d DID) did.DID { return did.MustParse(d.s) }

// signNative has go-ucan write and seal a delegation. It does not check the key
// against the issuer, so what it wrote is opened like everybody else's token.
func (is *Issuer) signNative(d *Delegation, h *holding) (*Link, error) {
	nonce, err := nonceOr(nil, is.Rand)
	if err != nil {
		return nil, err
	}
	resource := absolute(h.owner, h.path)
	if _, _, err := splitAbsolute(resource); err != nil {
		return nil, fmt.Errorf("%s has no native form; use the format JWT: %w", h.shown, err)
	}
	if end := h.until; !end.IsZero() && (d.Expires.IsZero() || end.Before(d.Expires)) {
		sooner := *d
		sooner.Expires = end
		if err := is.checkTimes(&sooner); err != nil {
			return nil, err
		}
		d = &sooner
	}
	opts := []delegation.Option{delegation.WithNonce(nonce)}
	if !d.Expires.IsZero() {
		opts = append(opts, bound(d.Expires, delegation.WithExpiration, delegation.WithExpirationIn))
	}
	if !d.NotBefore.IsZero() {
		opts = append(opts, bound(d.NotBefore, delegation.WithNotBefore, delegation.WithNotBeforeIn))
	}
	if len(d.Agents) > 0 {
		opts = append(opts, delegation.WithMeta(agentsKey, d.Agents))
	}
	raw, err := guard(func() (raw []byte, _ cid.Cid, err error) {
		statements := append([]any{}, h.limits...)
		if !h.path.IsRoot() || h.owner != h.sub { // a whole namespace has none of its own, the subject saying whose
			statements = slices.Insert(statements, 0, resourceStatement(resource))
		}
		node, err := literal.Any(statements)
		if err != nil {
			return nil, cid.Undef, err
		}
		pol, err := policy.FromIPLD(node)
		if err != nil {
			return nil, cid.Undef, err
		}
		t, err := delegation.New(theirs(is.Key.DID()), theirs(d.Audience), command.MustParse(commandOf(h.can)), pol, theirs(h.sub), opts...)
		if err != nil {
			return nil, cid.Undef, err
		}
		return t.ToSealed(signer{key: is.Key})
	})
	var l *Link
	if err == nil {
		l, err = is.Verifier.Limits.open(raw)
	}
	if err == nil && (!l.Expires().Equal(d.Expires.Truncate(time.Second)) || l.nbf != 0 && l.nbf != d.NotBefore.Unix()) {
		err = errors.New("go-ucan wrote another time; the system's clock was moved meanwhile, try again")
	}
	if err != nil {
		return nil, fmt.Errorf("sign delegation: %w", err)
	}
	return l, nil
}

// bound sets a time. go-ucan refuses one that is past by the system's clock, which
// the venue's need not be, unless it is given as a distance from now.
func bound(t time.Time, at func(time.Time) delegation.Option, in func(time.Duration) delegation.Option) delegation.Option {
	t = time.Unix(t.Unix(), 0)
	if away := time.Until(t); away < time.Minute {
		return in(away)
	}
	return at(t)
}

// sealInvocation has go-ucan write and seal an invocation.
func (k Key) sealInvocation(c *Call, nonce []byte) (raw []byte, err error) {
	opts := []invocation.Option{
		invocation.WithNonce(nonce), invocation.WithExpiration(time.Unix(c.Expires.Unix(), 0)), invocation.WithoutIssuedAt(),
	}
	if !c.Issued.IsZero() {
		opts = append(opts, invocation.WithIssuedAt(c.Issued))
	}
	for key, v := range c.Args {
		if v == nil {
			return nil, fmt.Errorf("argument %s is null, which go-ucan writes and does not read; leave it out", quoteShort(key))
		}
		if named, ok := v.(CID); ok {
			if v, err = cid.Cast(named.Bytes()); err != nil {
				return nil, fmt.Errorf("argument %s: %w", quoteShort(key), err)
			}
		}
		opts = append(opts, invocation.WithArgument(key, v))
	}
	prf := make([]cid.Cid, len(c.Proofs))
	for i, p := range c.Proofs {
		if prf[i], err = cid.Cast(p.Bytes()); err != nil {
			return nil, fmt.Errorf("proof %d: %w", i, err)
		}
	}
	return guard(func() ([]byte, cid.Cid, error) {
		if !c.Audience.IsZero() && c.Audience != c.Subject {
			opts = append(opts, invocation.WithAudience(theirs(c.Audience)))
		}
		t, err := invocation.New(theirs(k.DID()), command.MustParse(commandOf(c.Can)), theirs(c.Subject), prf, opts...)
		if err != nil {
			return nil, cid.Undef, err
		}
		return t.ToSealed(signer{key: k})
	})
}
