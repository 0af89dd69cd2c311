package cli

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"

	"usher/ucan"
)

// maxTokenFile bounds a file of tokens, in bytes.
const maxTokenFile = 4 << 20

// token is what one place of a file holds.
type token struct {
	source string     // file, and line where the file is text
	text   string     // a JWT, or a sealed token in multibase
	link   *ucan.Link // nil where it has not the form of a token
	err    error      // why it cannot be believed

	revocation *ucan.Revocation // where it is one, and neither of the others
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
	const sealedHead = 0x82 // a CBOR list of two, with which no text begins
	if len(data) > 0 && data[0] == sealedHead {
		return []token{readToken(name, "u"+base64.RawURLEncoding.EncodeToString(data))}
	}
	var tokens []token
	for i, line := range bytes.Split(data, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			tokens = append(tokens, readToken(fmt.Sprintf("%s:%d", name, i+1), string(line)))
		}
	}
	return tokens
}

func readToken(source, text string) token {
	t := token{source: source, text: text}
	if _, err := ucan.ParseCID(text); err == nil {
		t.err = fmt.Errorf("%w: it is the CID of a token: the token itself is needed", ucan.ErrMalformed)
	} else if strings.HasPrefix(text, "did:") {
		t.err = fmt.Errorf("%w: it is a DID, which names a principal and grants nothing", ucan.ErrMalformed)
	} else if t.link, t.err = ucan.ReadText(text); t.err == nil {
		t.err = t.link.Err()
	} else if r, err := ucan.OpenRevocationText(text); err == nil {
		t.revocation, t.err = r, nil
	}
	return t
}

// linksOf returns the tokens and revocations, or the error of the first bad one.
func linksOf(tokens []token) (links []*ucan.Link, revocations []*ucan.Revocation, err error) {
	for _, t := range tokens {
		switch {
		case t.err != nil:
			return nil, nil, fmt.Errorf("%s: %w", t.source, t.err)
		case t.revocation != nil:
			revocations = append(revocations, t.revocation)
		default:
			links = append(links, t.link)
		}
	}
	return links, revocations, nil
}
