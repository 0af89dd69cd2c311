package ucan

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"fmt"
	"slices"
	"time"

	"github.com/MetaMask/go-did-it"
	_ "github.com/MetaMask/go-did-it/verifiers/did-key" // the one DID method, which calls nobody
	"github.com/ipfs/go-cid"
	"github.com/ipld/go-ipld-prime/datamodel"
	"github.com/ucan-wg/go-ucan/token/delegation"
	"github.com/ucan-wg/go-ucan/token/invocation"
)

// guarded makes a panic inside go-ucan an error. What it could not survive, a
// stack overflow, does not come this far: the reader bounds size and depth.
func guarded(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("go-ucan panicked: %v", r)
		}
	}()
	return call()
}

// confirm has go-ucan decode a sealed token that the reader let through and verify
// its signature, once; open decodes the node and says where go-ucan reads another
// token than the reader did, which refuses it. What follows are the steps of
// go-ucan's FromSealed. Between the first two the token is written again and has
// to come out the same: go-ucan checks the signature over what it writes, so this
// is what ties the signature, and with it the CID, to the bytes that came.
//
// go-ucan knows the tags of release candidate 1. Under the released tags, whose
// payload is the same, the signature is checked here.
func (e *envelope) confirm(raw []byte, id CID, key ed25519.PublicKey, open func(datamodel.Node) error) error {
	known := e.tag == delegation.Tag || e.tag == invocation.Tag
	err := guarded(func() error {
		n, err := readNode(raw)
		switch {
		case err != nil:
			return err
		case !writesAs(n, raw):
			return ErrNotCanonical
		case !known:
			return nil
		}
		theirs, err := cid.V1Builder{Codec: cid.DagCBOR, MhType: multihashSHA256}.Sum(raw)
		if err != nil {
			return err
		}
		return cmp.Or(alike("CID", sameCID(theirs, id)), open(n))
	})
	switch {
	case err == nil && known:
		return nil
	case !ed25519.Verify(key, e.signed, e.sig): // go-ucan does not name this one
		return &VerifyError{Err: ErrSignature, CID: id}
	case err != nil:
		return &VerifyError{Err: ErrMalformed, CID: id, Cause: err}
	}
	return nil
}

const multihashSHA256 = 0x12

// compare decodes a delegation and compares it with the link; pol is the
// policy that the reader saw.
func (l *Link) compare(n datamodel.Node, pol []byte) error {
	t, err := delegation.FromIPLD(n)
	if err != nil {
		return err
	}
	p, err := t.Policy().ToIPLD()
	if err != nil {
		return err
	}
	return cmp.Or(
		alike("iss", sameDID(t.Issuer(), l.iss)),
		alike("aud", sameDID(t.Audience(), l.aud)),
		alike("sub", sameDID(t.Subject(), l.sub)),
		alike("cmd", t.Command().String() == commandOf(l.grants[0].can)),
		alike("pol", writesAs(p, pol)),
		alike("nonce", bytes.Equal(t.Nonce(), l.nonce)),
		alike("nbf", seconds(t.NotBefore()) == l.nbf),
		alike("exp", seconds(t.Expiration()) == l.exp && (t.Expiration() == nil) == l.eternal),
	)
}

// compare is that for an invocation; args are the arguments that the
// reader saw.
func (i *Invocation) compare(n datamodel.Node, args []byte) error {
	t, err := invocation.FromIPLD(n)
	if err != nil {
		return err
	}
	a, err := t.Arguments().ToIPLD()
	if err != nil {
		return err
	}
	return cmp.Or(
		alike("iss", sameDID(t.Issuer(), i.iss)),
		alike("aud", sameDID(t.Audience(), i.aud)),
		alike("sub", sameDID(t.Subject(), i.sub)),
		alike("cmd", t.Command().String() == commandOf(i.can)),
		alike("args", writesAs(a, args)),
		alike("prf", slices.EqualFunc(t.Proof(), i.prf, sameCID)),
		alike("nonce", bytes.Equal(t.Nonce(), i.nonce)),
		alike("exp", seconds(t.Expiration()) == i.exp && (t.Expiration() == nil) == i.eternal),
		alike("iat", seconds(t.IssuedAt()) == i.iat),
	)
}

func alike(part string, ok bool) error {
	if ok {
		return nil
	}
	return fmt.Errorf("go-ucan reads another %s", part)
}

func sameDID(theirs did.DID, ours DID) bool {
	if theirs == nil {
		return ours.IsZero()
	}
	return theirs.String() == ours.s
}

func sameCID(theirs cid.Cid, ours CID) bool { return bytes.Equal(theirs.Bytes(), ours.Bytes()) }

// seconds gives none as 0, as the reader does.
func seconds(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.Unix()
}
