package ucan

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"usher/caps"
	"usher/caps/value"
)

// A JWT is read here rather than with golang-jwt, because a token has to have one
// spelling: its CID is taken from its text, and revocation and replay go by the
// CID. Common readers take a signature in sixteen spellings (trailing bits),
// skip line ends inside base64, take a claim twice and under any case, and take
// headers that they do not know.

var b64 = base64.RawURLEncoding

// versions are the UCAN releases whose JWT says what COG-13's says. COG-13 itself
// names none, and a token without a version is COG-13's.
var versions = value.Form(`^0\.(8|9|10)\.(0|[1-9][0-9]{0,3})$`)

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
		return nil, formatError("a JWT has three parts, this has %d", len(parts))
	}
	var decoded [3][]byte
	for i, p := range parts {
		var err error
		if decoded[i], err = b64.AppendDecode(nil, p); err != nil {
			return nil, formatError("part %d is not base64url: %w", i+1, err)
		}
		if !bytes.Equal(b64.AppendEncode(nil, decoded[i]), p) {
			return nil, fmt.Errorf("%w: part %d has bits or line ends that say nothing", ErrNotCanonical, i+1)
		}
	}
	link := &Link{
		Format: JWT, raw: raw, CID: cidOf(codecRaw, raw),
		signed: raw[:len(parts[0])+1+len(parts[1])], sig: decoded[2],
	}
	kid, headerVersion, err := readHeader(decoded[0])
	if err != nil {
		return nil, err
	}
	if len(link.sig) != ed25519.SignatureSize {
		return nil, formatError("the signature has %d bytes, an Ed25519 signature %d", len(link.sig), ed25519.SignatureSize)
	}
	if err := l.readPayload(link, decoded[1], headerVersion, depth); err != nil {
		return nil, err
	}
	if kid != "" && !link.Issuer.IsKeyID(kid) {
		return nil, &VerifyError{Err: ErrKeyID, CID: link.CID, Detail: quoteShort(kid)}
	}
	return link, nil
}

func readHeader(data []byte) (kid, version string, err error) {
	f, err := jsonFields(data)
	if err != nil {
		return "", "", fmt.Errorf("header: %w", err)
	}
	// "crit", "jwk", "jku" and the like would ask for more than is done here.
	f.only("alg", "typ", "kid", "ucv")
	if alg, _ := f.m["alg"].(string); alg != "EdDSA" {
		f.fail(fmt.Errorf(`%w: alg is %s; it must be "EdDSA"`, ErrAlgorithm, quoteShort(fmt.Sprint(f.m["alg"]))))
	}
	if typ, _ := f.m["typ"].(string); typ != "JWT" {
		f.fail(formatError(`typ is %s; it must be "JWT"`, quoteShort(fmt.Sprint(f.m["typ"]))))
	}
	kid, ok := field[string](f, "kid")
	if ok && kid == "" {
		f.fail(fmt.Errorf("%w: it is empty", ErrKeyID))
	}
	version = f.version()
	return kid, version, f.err
}

func (f *fields) version() string {
	v, ok := field[string](f, "ucv")
	if ok && !versions().MatchString(v) {
		f.fail(fmt.Errorf("%w: ucv is %s; 0.8, 0.9 and 0.10 are read, with a patch number", ErrVersion, quoteShort(v)))
	}
	return v
}

// readPayload reads the claims of COG-13, "Token Structure", and UCAN 0.8 to
// 0.10. Claims without a meaning here are let through: the signature covers them
// and nothing acts on them.
func (l Limits) readPayload(link *Link, data []byte, headerVersion string, depth int) error {
	f, err := jsonFields(data)
	if err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	f.exact("iss", "aud", "exp", "nbf", "nnc", "fct", "att", "cap", "prf", "ucv")
	f.need("iss", "aud", "exp")
	version := f.version()
	if version != "" && headerVersion != "" && version != headerVersion {
		f.fail(fmt.Errorf("%w: the header says %s, the payload %s", ErrVersion, headerVersion, version))
	}
	link.Issuer, link.issKey = f.principal("iss")
	link.Audience, _ = f.principal("aud")
	link.exp, link.nbf = f.expiry("exp"), f.seconds("nbf") // Limits.Life decides whether never is taken
	field[string](f, "nnc")
	switch fct := f.m["fct"].(type) {
	case []any:
		for _, item := range fct {
			link.Agents = append(link.Agents, f.agents(item)...)
		}
	default:
		field[map[string]any](f, "fct")
		link.Agents = f.agents(fct)
	}
	link.grants = l.readCapabilities(f, version)
	l.readProofs(link, f, depth)
	return f.err
}

func (l Limits) readProofs(link *Link, f *fields, depth int) {
	items, _ := field[[]any](f, "prf")
	if len(items) > l.proofs() {
		f.fail(fmt.Errorf("%w: %d proofs, at most %d are taken (Limits.Proofs)", ErrTooLarge, len(items), l.proofs()))
	}
	for i, item := range items {
		if f.err != nil {
			return
		}
		text, ok := item.(string)
		if !ok {
			f.fail(formatError("prf[%d] is not a text", i))
			return
		}
		if !strings.Contains(text, ".") {
			c, err := ParseCID(text)
			if err != nil {
				f.fail(formatError("prf[%d]: %w", i, err))
			}
			link.Proofs = append(link.Proofs, c)
			continue
		}
		proof, err := l.decodeJWT([]byte(text), depth+1)
		if _, refused := errors.AsType[*VerifyError](err); err != nil && !refused {
			err = fmt.Errorf("prf[%d]: %w", i, err)
		}
		if err != nil {
			f.fail(err)
			return
		}
		link.Proofs = append(link.Proofs, proof.CID)
		link.Inline = append(link.Inline, proof)
	}
}

// readCapabilities reads "att", or the "cap" of UCAN 0.9 and later.
func (l Limits) readCapabilities(f *fields, version string) (grants []grant) {
	add := func(with, can string) {
		g, err := newGrant(with, can)
		switch {
		case len(grants) == l.capabilities():
			f.fail(fmt.Errorf("%w: more than %d capabilities (Limits.Capabilities)", ErrTooLarge, len(grants)))
		case err != nil:
			f.fail(formatError("capability %d: %w", len(grants)+1, err))
		}
		if f.err == nil {
			grants = append(grants, g)
		}
	}
	_, hasAtt := f.m["att"]
	_, hasCap := f.m["cap"]
	switch {
	case hasAtt && hasCap:
		f.fail(formatError(`it has both "att" and "cap"; write one`))
	case hasCap && version == "":
		f.fail(formatError(`"cap" belongs to UCAN 0.9 and later, and "ucv" is missing`))
	case hasCap:
		readCapMap(f, add)
	case !hasAtt:
		f.fail(formatError(`the claim "att" is missing; write [] to grant nothing`))
	}
	items, _ := field[[]any](f, "att")
	for i, item := range items {
		m, _ := item.(map[string]any)
		c := fields{m: m}
		c.only("with", "can") // a third key would be a restriction that nobody here enforces
		c.need("with", "can")
		with, _ := field[string](&c, "with")
		can, _ := field[string](&c, "can")
		if c.err != nil {
			f.fail(fmt.Errorf("att[%d]: %w", i, c.err))
		}
		add(with, can)
	}
	return grants
}

// readCapMap reads {resource: {ability: [{}]}}. A caveat other than {} restricts
// in words that nobody here understands, so the token is refused.
func readCapMap(f *fields, add func(with, can string)) {
	byResource, _ := field[map[string]any](f, "cap")
	for _, with := range keysInOrder(byResource) {
		byAbility, _ := byResource[with].(map[string]any)
		if len(byAbility) == 0 {
			f.fail(formatError("cap[%s] is not an object of abilities", quoteShort(with)))
		}
		for _, can := range keysInOrder(byAbility) {
			if !reflect.DeepEqual(byAbility[can], []any{map[string]any{}}) {
				f.fail(formatError("cap[%s][%s] is not [{}]; no caveat is understood", quoteShort(with), quoteShort(can)))
			}
			add(with, can)
		}
	}
}

// newGrant reads {with, can}; the owner stays zero where with names none.
func newGrant(with, can string) (grant, error) {
	c, err := caps.NewCapability(with, can)
	if err != nil {
		return grant{}, err
	}
	g := grant{shown: c, path: c.Resource(), can: c.Can()}
	if d := g.path.DID(); d != "" {
		if g.owner, err = ParseDID(d); err != nil {
			return grant{}, err
		}
		g.path = g.path.In(d)
	}
	return g, nil
}
