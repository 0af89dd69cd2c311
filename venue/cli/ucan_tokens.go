package cli

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"usher/ucan"
)

// maxTokenFile bounds a file of tokens, in bytes.
const maxTokenFile = 4 << 20

// token is what one place of a file holds; link is nil where that cannot be
// believed, and err says why.
type token struct {
	source string // file, and line where the file is text
	raw    []byte // CBOR, or the text of a JWT
	link   *ucan.Link
	err    error
}

// text is what the place holds, for a venue to read.
func (t token) text() string {
	if len(t.raw) > 0 && t.raw[0] == sealedHead {
		return "u" + base64.RawURLEncoding.EncodeToString(t.raw)
	}
	return string(t.raw)
}

// readTokens reads the tokens of files, in their order. An unreadable file is an
// error; a bad token is one of the tokens.
func (s *streams) readTokens(names []string) ([]token, error) {
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		return nil, misusef("- is standard input, which can be read once")
	}
	var tokens []token
	for _, name := range names {
		data, err := s.readAll(name)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, tokensIn(name, data)...)
	}
	return tokens, nil
}

func (s *streams) readAll(name string) ([]byte, error) {
	in, err := s.source(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxTokenFile+1))
	if err != nil {
		return nil, misusef("read tokens: %w", err)
	}
	if len(data) > maxTokenFile {
		return nil, misusef("%s is larger than %d MiB: tokens are a few KiB each", name, maxTokenFile>>20)
	}
	return data, nil
}

// tokensIn takes a file apart: one sealed UCAN 1.0 token as it is, or lines of
// JWTs and of sealed tokens in multibase.
func tokensIn(name string, data []byte) []token {
	if name == "-" {
		name = "standard input"
	}
	if len(data) > 0 && data[0] == sealedHead {
		return []token{openToken(name, data)}
	}
	var tokens []token
	for i, line := range bytes.Split(data, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		tokens = append(tokens, openText(fmt.Sprintf("%s:%d", name, i+1), string(line)))
	}
	return tokens
}

func openToken(source string, raw []byte) token {
	link, err := ucan.Open(raw)
	return token{source: source, raw: raw, link: link, err: err}
}

// sealedHead is the first byte of a UCAN 1.0 envelope: a CBOR list of two. No
// text of a token begins with it.
const sealedHead = 0x82

// maxTokenText bounds a sealed token's text: the limit of 8 KiB, in hex.
const maxTokenText = 2*8<<10 + 1

// openText reads a token's text: a JWT as it is, a sealed one from multibase.
func openText(source, text string) token {
	switch _, err := ucan.ParseCID(text); {
	case err == nil:
		return token{source: source, err: fmt.Errorf("%w: it is the CID of a token: the token itself is needed", ucan.ErrMalformed)}
	case strings.HasPrefix(text, "did:"):
		return token{source: source, err: fmt.Errorf("%w: it is a DID, which names a principal and grants nothing", ucan.ErrMalformed)}
	case strings.HasPrefix(text, "ey"): // base64url of `{"`, which is no multibase
		return openToken(source, []byte(text))
	case strings.HasPrefix(text, "u"):
		link, err := ucan.OpenText(text)
		return token{source: source, raw: []byte(text), link: link, err: err}
	}
	raw, err := decodeMultibase(text)
	if err != nil {
		return token{source: source, err: err}
	}
	return openToken(source, raw)
}

// decodeMultibase reads the bases that sealed tokens are passed around in beside
// base64url. The token is known by the bytes below them, so it does not matter
// that some have two spellings.
func decodeMultibase(text string) ([]byte, error) {
	decode, ok := multibases[text[0]]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: it is neither a JWT (eyJ…) nor a sealed token in multibase (u…, which is base64url)", ucan.ErrMalformed)
	case len(text) > maxTokenText:
		return nil, fmt.Errorf("%w: its text has %d characters, at most %d are taken", ucan.ErrTooLarge, len(text), maxTokenText)
	}
	raw, err := decode(text[1:])
	if err != nil {
		return nil, fmt.Errorf("%w: it is neither a JWT (eyJ…) nor multibase: %w", ucan.ErrMalformed, err)
	}
	if len(raw) == 0 || raw[0] != sealedHead {
		return nil, fmt.Errorf("%w: the multibase text does not hold a sealed token", ucan.ErrMalformed)
	}
	return raw, nil
}

var multibases = map[byte]func(string) ([]byte, error){
	'U': base64.URLEncoding.DecodeString,
	'm': base64.RawStdEncoding.DecodeString,
	'M': base64.StdEncoding.DecodeString,
	'b': func(s string) ([]byte, error) {
		return base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(s))
	},
	'f': hex.DecodeString,
}

// linksOf returns the tokens without repetitions, or the error of the first bad
// one.
func linksOf(tokens []token) ([]*ucan.Link, error) {
	var links []*ucan.Link
	seen := map[ucan.CID]bool{}
	for _, t := range tokens {
		if t.err != nil {
			return nil, fmt.Errorf("%s: %w", t.source, t.err)
		}
		if !seen[t.link.CID()] {
			seen[t.link.CID()] = true
			links = append(links, t.link)
		}
	}
	return links, nil
}
