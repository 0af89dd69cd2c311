package ucan

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// A JWT is read here rather than with golang-jwt, because a token has to have one
// spelling: its CID is taken from its text, and revocation and replay go by the
// CID. Common readers take a signature in sixteen spellings (trailing bits),
// skip line ends inside base64, take a claim twice and under any case, and take
// headers that they do not know.

// b64 refuses trailing bits; alphabet refuses what it skips, line ends.
var b64 = base64.RawURLEncoding.Strict()

// versions are the UCAN releases whose JWT says what COG-13's says. COG-13 itself
// names none, and a token without a version is COG-13's.
var versions = regexp.MustCompile(`^0\.(8|9|10)\.(0|[1-9][0-9]{0,3})$`)

// decodeJWT reads a JWT and the proofs inside it, all but the signatures. depth
// counts from 1 for the outermost.
func (l Limits) decodeJWT(raw []byte, depth int) (*Link, error) {
	if len(raw) > l.jwtBytes() {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are taken (Limits.JWTBytes)", ErrTooLarge, len(raw), l.jwtBytes())
	}
	if depth > l.jwtDepth() {
		return nil, fmt.Errorf("%w: more than %d tokens (Limits.JWTDepth)", ErrTooDeep, l.jwtDepth())
	}
	raw = bytes.Clone(raw)
	parts := bytes.Split(raw, []byte{'.'})
	if len(parts) != 3 {
		return nil, malformed("a JWT has three parts, this has %d", len(parts))
	}
	var decoded [3][]byte
	for i, p := range parts {
		if j := bytes.IndexFunc(p, notBase64URL); j >= 0 {
			return nil, malformed("part %d has a character that is not base64url, at byte %d", i+1, j)
		}
		var err error
		if decoded[i], err = b64.AppendDecode(nil, p); err != nil {
			return nil, fmt.Errorf("%w: part %d: %w", ErrNotCanonical, i+1, err)
		}
	}
	link := &Link{
		format: JWT, raw: raw, cid: cidOf(codecRaw, raw), size: len(raw),
		signed: raw[:len(parts[0])+1+len(parts[1])], sig: decoded[2],
	}
	kid, headerVersion, err := readHeader(decoded[0])
	if err != nil {
		return nil, err
	}
	if len(link.sig) != ed25519.SignatureSize {
		return nil, malformed("the signature has %d bytes, an Ed25519 signature %d", len(link.sig), ed25519.SignatureSize)
	}
	if err := l.readPayload(link, decoded[1], headerVersion, depth); err != nil {
		return nil, err
	}
	if key := link.iss.multikey(); kid != "" && kid != key && kid != link.iss.s && kid != link.iss.s+"#"+key {
		return nil, &VerifyError{Err: ErrKeyID, CID: link.cid, Detail: quoteShort(kid)}
	}
	if link.complete() {
		// Nothing is missing, so what does not depend on the time is settled now.
		if _, err := link.resolve(nil); err != nil {
			return nil, err
		}
	}
	return link, nil
}

func notBase64URL(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
}

func readHeader(data []byte) (kid, version string, err error) {
	h, err := jsonObject(data)
	if err != nil {
		return "", "", fmt.Errorf("header: %w", err)
	}
	// "crit", "jwk", "jku" and the like would ask for more than is done here.
	if err := onlyKeys(h, "alg", "typ", "kid", "ucv"); err != nil {
		return "", "", fmt.Errorf("header: %w", err)
	}
	if alg, _ := h["alg"].(string); alg != "EdDSA" {
		return "", "", fmt.Errorf(`%w: alg is %s; it must be "EdDSA"`, ErrAlgorithm, quoteShort(fmt.Sprint(h["alg"])))
	}
	if typ, _ := h["typ"].(string); typ != "JWT" {
		return "", "", malformed(`typ is %s; it must be "JWT"`, quoteShort(fmt.Sprint(h["typ"])))
	}
	kid, ok, err := jsonText(h, "kid")
	if err == nil && ok && kid == "" {
		err = fmt.Errorf("%w: it is empty", ErrKeyID)
	}
	if err != nil {
		return "", "", err
	}
	version, err = readVersion(h)
	return kid, version, err
}

func readVersion(m map[string]any) (string, error) {
	v, ok, err := jsonText(m, "ucv")
	if err == nil && ok && !versions.MatchString(v) {
		err = fmt.Errorf("%w: ucv is %s; 0.8, 0.9 and 0.10 are read, with a patch number", ErrVersion, quoteShort(v))
	}
	return v, err
}

// readPayload reads the claims of COG-13, "Token Structure", and UCAN 0.8 to
// 0.10. Claims without a meaning here are let through: the signature covers them
// and nothing acts on them.
func (l Limits) readPayload(link *Link, data []byte, headerVersion string, depth int) error {
	p, err := jsonObject(data)
	if err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	if err := exactKeys(p, "iss", "aud", "exp", "nbf", "nnc", "fct", "att", "cap", "prf", "ucv"); err != nil {
		return err
	}
	version, err := readVersion(p)
	if err != nil {
		return err
	}
	if version != "" && headerVersion != "" && version != headerVersion {
		return fmt.Errorf("%w: the header says %s, the payload %s", ErrVersion, headerVersion, version)
	}
	for _, f := range []struct {
		name string
		set  func(keyed)
	}{
		{"iss", func(k keyed) { link.iss, link.issKey = k.did, k.key }},
		{"aud", func(k keyed) { link.aud = k.did }},
	} {
		text, ok, err := jsonText(p, f.name)
		if err == nil && !ok {
			err = malformed("the claim %q is missing", f.name)
		}
		if err != nil {
			return err
		}
		k, err := parseKeyed(strings.Clone(text))
		if err != nil {
			return malformed("%s: %w", f.name, err)
		}
		f.set(k)
	}
	if err := readTimes(link, p); err != nil {
		return err
	}
	nnc, _, err := jsonText(p, "nnc")
	if err != nil {
		return err
	}
	link.nonce = []byte(nnc)
	switch fct := p["fct"].(type) {
	case []any:
		for _, item := range fct {
			agents, err := readAgents(item)
			if err != nil {
				return err
			}
			link.agents = append(link.agents, agents...)
		}
	case map[string]any:
		if link.agents, err = readAgents(fct); err != nil {
			return err
		}
	default:
		if _, ok := p["fct"]; ok {
			return malformed("fct is %T; it must be an object or a list of objects", fct)
		}
	}
	if link.grants, err = l.readCapabilities(p, version); err != nil {
		return err
	}
	return l.readProofs(link, p, depth)
}

func readTimes(link *Link, p map[string]any) error {
	if exp, ok := p["exp"]; ok && exp == nil {
		link.eternal = true // UCAN 0.10; Limits.Life decides whether it is taken
	} else {
		var err error
		if link.exp, ok, err = jsonSeconds(p, "exp"); err != nil {
			return err
		} else if !ok {
			return malformed(`the claim "exp" is missing; write seconds since 1970`)
		}
	}
	var err error
	link.nbf, _, err = jsonSeconds(p, "nbf")
	return err
}

func (l Limits) readProofs(link *Link, p map[string]any, depth int) error {
	v, ok := p["prf"]
	if !ok {
		return nil
	}
	items, ok := v.([]any)
	if !ok {
		return malformed("prf is not a list")
	}
	if len(items) > l.proofs() {
		return fmt.Errorf("%w: %d proofs, at most %d are taken (Limits.Proofs)", ErrTooLarge, len(items), l.proofs())
	}
	for i, item := range items {
		text, ok := item.(string)
		if !ok {
			return malformed("prf[%d] is not a text", i)
		}
		if !strings.Contains(text, ".") {
			c, err := ParseCID(text)
			if err != nil {
				return malformed("prf[%d]: %w", i, err)
			}
			link.prf = append(link.prf, c)
			continue
		}
		proof, err := l.decodeJWT([]byte(text), depth+1)
		if err != nil {
			var v *VerifyError
			if errors.As(err, &v) {
				return err
			}
			return fmt.Errorf("prf[%d]: %w", i, err)
		}
		link.prf = append(link.prf, proof.cid)
		link.inline = append(link.inline, proof)
	}
	return nil
}
