package ucan

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"

	"usher/caps"
)

// The envelope of UCAN 1.0: [signature, {"h": varsig, "ucan/…@…": payload}].
const (
	envelopeHead = 0x82 // a list of two
	// The signature is a list's first item, two bytes of head and 64 of its own.
	envelopeSigned = 1 + 2 + ed25519.SignatureSize

	// The release candidate is what gets written; released tokens have the same payload.
	tagDelegation, tagDelegation1 = "ucan/dlg@1.0.0-rc.1", "ucan/dlg@1.0.0"
	tagInvocation, tagInvocation1 = "ucan/inv@1.0.0-rc.1", "ucan/inv@1.0.0"

	minNonce = 12
)

// varsig is the one signature header that is taken: Ed25519 over DAG-CBOR with
// SHA2-512. Others are refused before anything interprets them.
var varsig = []byte{0x34, 0x01, 0xed, 0x01, 0xed, 0x01, 0x13, 0x71}

// envelope is a sealed token taken apart: the signature covers signed, which is
// a slice of the bytes that came.
type envelope struct {
	sig, signed []byte
	payload     fields
}

// openEnvelope takes a token apart that is to have one of two tags.
func (l Limits) openEnvelope(raw []byte, tag, tag1 string) (*envelope, error) {
	if len(raw) > l.tokenBytes() {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are taken (Limits.TokenBytes)", ErrTooLarge, len(raw), l.tokenBytes())
	}
	v, err := decodeCBOR(raw)
	if err != nil {
		return nil, err
	}
	parts, _ := v.([]any)
	if len(parts) != 2 {
		return nil, formatError("an envelope is a list of two")
	}
	sig, okSig := parts[0].([]byte)
	signed, okSigned := parts[1].(map[string]any)
	header, okHeader := signed["h"].([]byte)
	switch {
	case !okSig || !okSigned || !okHeader || len(signed) != 2:
		return nil, formatError("an envelope has a signature, and what it covers: a header and the token")
	case len(sig) != ed25519.SignatureSize:
		return nil, fmt.Errorf("%w: a signature of %d bytes", ErrAlgorithm, len(sig))
	case !bytes.Equal(header, varsig):
		return nil, fmt.Errorf("%w: signature header %x", ErrAlgorithm, header[:min(len(header), 16)])
	}
	env := &envelope{sig: sig, signed: raw[envelopeSigned:]}
	var is string
	for is, v = range signed {
		if is != "h" {
			break
		}
	}
	payload, ok := v.(map[string]any)
	switch env.payload.m = payload; {
	case !ok:
		return nil, formatError("the token is not a map")
	case is == tag || is == tag1:
		return env, nil
	case slices.Contains([]string{tagDelegation, tagDelegation1, tagInvocation, tagInvocation1}, is):
		return nil, formatError("it is %s; %s is wanted", quoteShort(is), quoteShort(tag))
	}
	return nil, fmt.Errorf("%w: %s", ErrVersion, quoteShort(is))
}

// decodeDelegation reads a sealed delegation, all but its signature.
func (l Limits) decodeDelegation(raw []byte) (*Link, error) {
	raw = bytes.Clone(raw)
	env, err := l.openEnvelope(raw, tagDelegation, tagDelegation1)
	if err != nil {
		return nil, err
	}
	f := &env.payload
	if f.m["sub"] == nil {
		return nil, ErrPowerline
	}
	f.only("iss", "aud", "sub", "cmd", "pol", "nonce", "meta", "nbf", "exp")
	f.need("iss", "aud", "cmd", "pol", "nonce", "exp")
	link := &Link{CID: cidOf(codecDagCBOR, raw), Format: Native, raw: raw, signed: env.signed, sig: env.sig}
	link.Issuer, link.issKey = f.principal("iss")
	link.Audience, _ = f.principal("aud")
	link.Subject, _ = f.principal("sub")
	link.nbf, link.exp = f.seconds("nbf"), f.expiry("exp")
	link.Agents = f.agents(f.entries("meta"))
	f.nonce()
	can := f.command()
	pol, _ := field[[]any](f, "pol")
	if f.err != nil {
		return nil, f.err
	}
	g, rest, err := readPolicy(pol, link.Subject)
	if err != nil {
		return nil, err
	}
	link.policy, g.can = rest, can
	g.passes = g.passes && link.Subject != link.Issuer // a root has nothing to pass on but its own
	if g.shown, err = caps.NewCapability(absolute(g.owner, g.path), string(can)); err != nil {
		return nil, formatError("%w", err)
	}
	link.grants = []grant{g}
	link.resolved.Store(&resolution{grants: link.grants, bareOwner: link.Subject, depth: 1, count: 1})
	return link, nil
}

// command returns the ability of a command: an ability with a slash before it, and
// "/" is "*".
func (f *fields) command() caps.Ability {
	cmd, _ := field[string](f, "cmd")
	can, err := abilityOf(cmd)
	if err != nil {
		f.fail(formatError("%w", err))
	}
	return can
}

func abilityOf(cmd string) (caps.Ability, error) {
	if cmd == "/" {
		return caps.ParseAbility("*")
	}
	if cmd == "" || cmd[0] != '/' {
		return "", errors.New("a command begins with a slash")
	}
	if cmd == "/*" {
		return "", errors.New(`"/*" is no command; the one that covers all is "/"`)
	}
	return caps.ParseAbility(cmd[1:])
}

func commandOf(can caps.Ability) string {
	if can == "*" {
		return "/"
	}
	return "/" + string(can)
}

// absolute spells a path in a namespace.
func absolute(owner DID, path caps.Resource) string {
	if path.IsRoot() {
		return owner.s
	}
	return owner.s + "/" + path.String()
}
