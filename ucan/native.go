package ucan

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"

	"usher/caps"
)

// The envelope of UCAN 1.0: [signature, {"h": varsig, "ucan/…@…": payload}].
const (
	envelopeHead = 0x82 // a list of two

	tagDelegation = "ucan/dlg@1.0.0-rc.1" // release candidate 1, which is what gets written
	tagInvocation = "ucan/inv@1.0.0-rc.1"
	// The released tags of the specification. The payloads are the same.
	tagDelegation1 = "ucan/dlg@1.0.0"
	tagInvocation1 = "ucan/inv@1.0.0"

	minNonce = 12
)

// varsig is the one signature header that is taken: Ed25519 over DAG-CBOR with
// SHA2-512. Others are refused before anything interprets them.
var varsig = []byte{0x34, 0x01, 0xed, 0x01, 0xed, 0x01, 0x13, 0x71}

// envelope is a sealed token taken apart: the signature covers signed, which is
// a slice of the bytes that came.
type envelope struct {
	sig, signed []byte
	tag         string
	payload     cborReader
}

func (l Limits) openEnvelope(raw []byte) (*envelope, error) {
	if len(raw) > l.tokenBytes() {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are taken (Limits.TokenBytes)", ErrTooLarge, len(raw), l.tokenBytes())
	}
	r := cborReader{b: raw}
	if n := r.length(cborArray, "a sealed token"); r.err == nil && n != 2 {
		r.fail("an envelope has two parts")
	}
	sig := r.bytes()
	if r.err == nil && len(sig) != ed25519.SignatureSize {
		r.err = fmt.Errorf("%w: a signature of %d bytes", ErrAlgorithm, len(sig))
	}
	start := r.i
	if n := r.length(cborMap, "a map"); r.err == nil && n != 2 {
		r.fail("what is signed has two fields")
	}
	if key := r.text(); r.err == nil && string(key) != "h" {
		r.fail(`the signature header "h" is missing`)
	}
	if h := r.bytes(); r.err == nil && !bytes.Equal(h, varsig) {
		r.err = fmt.Errorf("%w: signature header %x", ErrAlgorithm, h[:min(len(h), 16)])
	}
	tag := r.text()
	if r.err != nil {
		return nil, r.err
	}
	return &envelope{sig: sig, signed: raw[start:], tag: string(tag), payload: r}, nil
}

// decodeDelegation reads a sealed delegation, all but its signature.
func (l Limits) decodeDelegation(raw []byte) (*Link, error) {
	raw = bytes.Clone(raw)
	env, err := l.openEnvelope(raw)
	if err != nil {
		return nil, err
	}
	switch env.tag {
	case tagDelegation, tagDelegation1:
	case tagInvocation, tagInvocation1:
		return nil, malformed("it is an invocation; a delegation is wanted")
	default:
		return nil, fmt.Errorf("%w: %s", ErrVersion, quoteShort(env.tag))
	}
	link := &Link{format: Native, raw: raw, signed: env.signed, sig: env.sig}
	var pol, meta []byte
	var cmd string
	var seen fieldSet
	r := &env.payload
	r.fields(func(key string) {
		seen.add(key)
		switch key {
		case "iss":
			iss := r.keyed("iss")
			link.iss, link.issKey = iss.did, iss.key
		case "aud":
			link.aud = r.keyed("aud").did
		case "sub":
			if r.null() {
				r.err = ErrPowerline
				return
			}
			link.sub = r.keyed("sub").did
		case "cmd":
			cmd = string(r.text())
		case "pol":
			pol = r.value()
		case "nonce":
			link.nonce = r.nonce()
		case "meta":
			meta = r.entries("meta")
		case "nbf":
			link.nbf = r.int()
		case "exp":
			if link.eternal = r.null(); !link.eternal {
				link.exp = r.int()
			}
		default:
			r.fail("a delegation has no field %s", quoteShort(key))
		}
	})
	if err := r.end(); err != nil {
		return nil, err
	}
	if !seen.has("sub") {
		return nil, ErrPowerline
	}
	if err := seen.need("iss", "aud", "cmd", "pol", "nonce", "exp"); err != nil {
		return nil, err
	}
	can, err := abilityOf(cmd)
	if err != nil {
		return nil, malformed("%w", err)
	}
	g, rest, err := readPolicy(pol, link.sub)
	if err != nil {
		return nil, err
	}
	if link.agents, err = readMeta(meta); err != nil {
		return nil, err
	}
	link.policy, g.can = rest, can
	g.passes = g.passes && link.sub != link.iss // a root has nothing to pass on but its own
	if g.shown, err = caps.NewCapability(absolute(g.owner, g.path), string(can)); err != nil {
		return nil, malformed("%w", err)
	}
	link.grants = []grant{g}
	link.cid = cidOf(codecDagCBOR, raw)
	link.size = len(raw)
	link.resolved.Store(&resolved{grants: link.grants, bareOwner: link.sub, depth: 1, count: 1})
	return link, nil
}

// keyed reads a DID.
func (r *cborReader) keyed(field string) keyed {
	text := r.text()
	if r.err != nil {
		return keyed{}
	}
	k, err := parseKeyed(string(text))
	if err != nil {
		r.err = malformed("%s: %w", field, err)
	}
	return k
}

func (r *cborReader) nonce() []byte {
	n := r.bytes()
	if r.err == nil && len(n) < minNonce {
		r.fail("the nonce has %d bytes; it needs %d", len(n), minNonce)
	}
	return n
}

// entries checks a map of arguments or metadata and returns its bytes. A null at
// its top says nothing that leaving the entry out does not, and other readers
// stumble over it, so it is refused.
func (r *cborReader) entries(what string) []byte {
	start := r.i
	if start < len(r.b) && r.b[start]>>5 != cborMap {
		r.fail("%s is a map", what)
	}
	r.fields(func(key string) {
		if r.null() {
			r.fail("%s: %s is null; leave it out", what, quoteShort(key))
		}
		r.skip(maxNesting - 1)
	})
	if r.err != nil {
		return nil
	}
	return r.b[start:r.i]
}

// fieldSet remembers which fields a payload had; maps have each once.
type fieldSet []string

func (s *fieldSet) add(key string) { *s = append(*s, key) }

func (s fieldSet) has(key string) bool {
	for _, k := range s {
		if k == key {
			return true
		}
	}
	return false
}

func (s fieldSet) need(keys ...string) error {
	for _, k := range keys {
		if !s.has(k) {
			return malformed("the field %q is missing", k)
		}
	}
	return nil
}

// A command is an ability with a slash before it; "/" is "*".

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
