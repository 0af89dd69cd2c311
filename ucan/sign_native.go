package ucan

import (
	"errors"
	"fmt"
	"time"

	"github.com/MetaMask/go-did-it"
	"github.com/MetaMask/go-did-it/crypto"
	"github.com/MetaMask/go-did-it/crypto/ed25519"
	_ "github.com/MetaMask/go-did-it/verifiers/did-key" // the one DID method, which calls nobody
	"github.com/ipfs/go-cid"
	"github.com/ucan-wg/go-ucan/pkg/command"
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

// guarded makes a panic inside go-ucan an error.
func guarded(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("go-ucan panicked: %v", r)
		}
	}()
	return call()
}

// signNative has go-ucan write and seal a delegation. It does not check the key
// against the issuer, so what it wrote is opened like everybody else's token.
func (is *Issuer) signNative(d *Delegation, h *holding) (*Link, error) {
	nonce, err := nonceOr(nil, is.Rand)
	if err != nil {
		return nil, err
	}
	if _, _, err := splitAbsolute(absolute(h.owner, h.path)); err != nil {
		return nil, fmt.Errorf("%s has no native form; use the format JWT: %w", h.shown, err)
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
	var raw []byte
	err = guarded(func() error {
		ids, err := theirDIDs(is.Key.DID(), d.Audience, h.sub)
		if err != nil {
			return err
		}
		cmd, err := command.Parse(commandOf(h.can))
		if err != nil {
			return err
		}
		pol, err := resourcePolicy(h.owner, h.path, h.sub)
		if err != nil {
			return err
		}
		t, err := delegation.New(ids[0], ids[1], cmd, pol, ids[2], opts...)
		if err != nil {
			return err
		}
		raw, _, err = t.ToSealed(signer{key: is.Key})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sign delegation: %w", err)
	}
	l, err := is.Verifier.Limits.open(raw)
	if err != nil {
		return nil, fmt.Errorf("sign delegation: %w", err)
	}
	if !l.Expires().Equal(d.Expires.Truncate(time.Second)) || l.nbf != 0 && l.nbf != d.NotBefore.Unix() {
		return nil, errors.New("sign delegation: go-ucan wrote another time; the system's clock was moved meanwhile, try again")
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
	err = guarded(func() error {
		ids, err := theirDIDs(k.DID(), c.Subject)
		if err != nil {
			return err
		}
		if !c.Audience.IsZero() && c.Audience != c.Subject {
			aud, err := did.Parse(c.Audience.s)
			if err != nil {
				return err
			}
			opts = append(opts, invocation.WithAudience(aud))
		}
		cmd, err := command.Parse(commandOf(c.Can))
		if err != nil {
			return err
		}
		t, err := invocation.New(ids[0], cmd, ids[1], prf, opts...)
		if err != nil {
			return err
		}
		raw, _, err = t.ToSealed(signer{key: k})
		return err
	})
	return raw, err
}

func theirDIDs(ours ...DID) ([]did.DID, error) {
	theirs := make([]did.DID, len(ours))
	for i, d := range ours {
		var err error
		if theirs[i], err = did.Parse(d.s); err != nil {
			return nil, err
		}
	}
	return theirs, nil
}
