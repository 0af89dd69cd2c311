package caps

import (
	"errors"
	"fmt"
	"strings"

	"usher/caps/value"
)

// maxResourceBytes bounds the canonical text of a resource.
const maxResourceBytes = 1024

// ParseResource returns the canonical resource that s spells. One leading and
// one trailing slash are not significant; "" and "/" are the root.
//
// Refused, with an error that says which rule was broken, where, and what to
// write: empty segments, "." and ".."; control characters, bidirectional
// controls, zero-width spaces; backslash, "*", "?", "#"; percent-encoded
// separators; invalid UTF-8 and text that is not in normal form NFC; more than
// 1024 bytes; a DID or a URI that is not in its canonical spelling.
func ParseResource(s string) (Resource, error) {
	text := strings.TrimPrefix(s, "/")
	if text == "" {
		return Resource{}, nil
	}
	text = strings.TrimSuffix(text, "/")
	if isPlain(text) {
		return Resource{text}, nil
	}
	return canonical(s, text)
}

// ParseSegments returns the resource whose segments are segs: the array spelling
// of [ParseResource]. The first segment may be a DID; no segment may hold a
// slash or be empty. No segments at all are the root.
func ParseSegments(segs []string) (Resource, error) {
	for i, seg := range segs {
		switch {
		case seg == "":
			return Resource{}, fmt.Errorf("resource segment %d is empty: leave it out", i)
		case strings.Contains(seg, "/"):
			return Resource{}, fmt.Errorf("resource segment %d, %s, holds a slash: write one array element for each segment", i, value.Quote(seg))
		}
	}
	if len(segs) == 0 {
		return Resource{}, nil
	}
	text := strings.Join(segs, "/")
	return canonical(text, text)
}

// canonical returns the resource of text, which s spells with the insignificant slashes.
func canonical(s, text string) (Resource, error) {
	if err := check(text); err != nil {
		return Resource{}, fmt.Errorf("resource %s: %w", value.Quote(s), err)
	}
	return Resource{text}, nil
}

func check(text string) error {
	if len(text) > maxResourceBytes {
		return fmt.Errorf("%d bytes long: use at most %d", len(text), maxResourceBytes)
	}
	if err := checkText(text); err != nil {
		return err
	}
	first, rest, more := strings.Cut(text, "/")
	scheme, colon := strings.CutSuffix(first, ":")
	switch {
	case hasFold(first, didPrefix):
		return checkAbsolute(text)
	case colon && more:
		return checkURI(scheme, rest)
	}
	return checkPath(text)
}

// checkPath checks a path within a namespace.
func checkPath(path string) error {
	if err := checkSegments(path); err != nil {
		return err
	}
	// Below a DID these would turn into something else when the owner's own DID
	// is taken off, so they are refused in both places.
	first, _, _ := strings.Cut(path, "/")
	if hasFold(first, didPrefix) {
		return errors.New("a DID stands at the beginning only: write one DID, then the path")
	}
	if scheme, ok := strings.CutSuffix(first, ":"); ok {
		return fmt.Errorf(`%q is a scheme without "://": write "%s://" and then the segments`, first, scheme)
	}
	return nil
}

func checkSegments(path string) error {
	for seg := range strings.SplitSeq(path, "/") {
		switch seg {
		case "":
			return errors.New("an empty segment (two slashes in a row): write a single slash")
		case ".", "..":
			return fmt.Errorf("a %q segment: write the full path without it", seg)
		}
	}
	return nil
}

// hasFold reports whether s begins with the lower-case ASCII prefix in any case.
func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// isPlain reports whether text is a canonical path as nearly all are: ASCII, of
// a namespace of one's own, without a colon, a percent sign, or a segment that
// begins with a dot. It is one pass over the bytes; what is not plain goes
// through [checkText] and [checkPath], which say the same of plain text.
func isPlain(text string) bool {
	if len(text) > maxResourceBytes {
		return false
	}
	bad, refused := byte(0), slash|dot|special // as after a slash
	for i := range len(text) {
		class := plainClasses[text[i]]
		bad |= class & refused
		refused = class >> refusedShift
	}
	return bad == 0 && refused&slash == 0
}

// The class of a byte in its low bits, and above them the classes that are
// refused in the byte that follows.
const (
	slash byte = 1 << iota
	dot
	special // refused wherever it stands

	refusedShift = 4
)

var plainClasses = func() (classes [256]byte) {
	for c := range classes {
		classes[c] = special << refusedShift
		if c < ' ' || c >= 0x7f {
			classes[c] |= special
		}
	}
	for _, c := range []byte(`\*?#%:`) {
		classes[c] |= special
	}
	classes['.'] |= dot
	classes['/'] = slash | (slash|dot|special)<<refusedShift
	return classes
}()
