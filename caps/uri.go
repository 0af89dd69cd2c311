package caps

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"usher/caps/value"
)

var (
	schemeForm = value.Form(`^[a-z][a-z0-9+.-]*$`)
	hostForm   = value.Form(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)
)

// checkURI checks scheme://segment/segment. rest is what follows "scheme:/": it
// is empty for the whole scheme, and begins with a slash otherwise.
func checkURI(scheme, rest string) error {
	if !schemeForm().MatchString(scheme) {
		if lower := strings.ToLower(scheme); schemeForm().MatchString(lower) {
			return fmt.Errorf(`scheme %q: write "%s://" in lower case`, scheme, lower)
		}
		return fmt.Errorf("%q is no scheme: begin with a letter and use a-z, 0-9, +, . and - only", scheme+":")
	}
	segments, slashes := strings.CutPrefix(rest, "/")
	switch {
	case rest == "":
		return nil
	case !slashes:
		return fmt.Errorf(`"%s:/" has one slash: write "%s://" and then the segments`, scheme, scheme)
	case segments == "":
		return fmt.Errorf(`an empty segment after "%s://": write "%s://" alone for the whole scheme`, scheme, scheme)
	}
	if err := checkSegments(segments); err != nil || scheme != "http" && scheme != "https" {
		return err
	}
	authority, _, _ := strings.Cut(segments, "/")
	return checkAuthority(scheme, authority)
}

// checkAuthority checks the host and port of a web address. Several spellings
// reach the same server; one of them is canonical.
func checkAuthority(scheme, authority string) error {
	if strings.Contains(authority, "@") {
		return fmt.Errorf("a user name in %s: write the host alone", value.Quote(authority))
	}
	host := authority
	if colon := strings.LastIndexByte(authority, ':'); colon > strings.LastIndexByte(authority, ']') {
		host = authority[:colon]
		port := authority[colon+1:]
		n, err := strconv.ParseUint(port, 10, 16)
		switch {
		case err != nil || n == 0 || strconv.FormatUint(n, 10) != port:
			return fmt.Errorf("port %s: write a number from 1 to 65535 without leading zeros", value.Quote(port))
		case scheme == "http" && n == 80, scheme == "https" && n == 443:
			return fmt.Errorf("port %s is the default of %s: leave it out", port, scheme)
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		switch {
		case err != nil || !addr.Is6() || addr.Zone() != "":
			return fmt.Errorf("host %s: write an IPv6 address without a zone in the brackets", value.Quote(host))
		case addr.Is4In6():
			return fmt.Errorf("host %s: write %s", value.Quote(host), addr.Unmap())
		case "["+addr.String()+"]" != host:
			return fmt.Errorf("host %s: write [%s]", value.Quote(host), addr)
		}
		return nil
	}
	lower := strings.ToLower(host)
	switch {
	case isNumber(lower[strings.LastIndexByte(lower, '.')+1:]):
		if addr, err := netip.ParseAddr(host); err != nil || addr.String() != host {
			return fmt.Errorf("host %s: write an IPv4 address as four decimal numbers without leading zeros", value.Quote(host))
		}
		return nil
	case hostForm().MatchString(host):
		return nil
	case hostForm().MatchString(lower):
		return fmt.Errorf("host %s: write %q", value.Quote(host), lower)
	}
	return fmt.Errorf("host %s: write the plain host name in a-z, 0-9, - and . only, in its ASCII form (xn--…), without a dot at either end", value.Quote(host))
}

// checkAbsolute checks did:<method>:<id>[/path]. Only lower-case "did" and
// method are canonical; the id is compared as it stands.
func checkAbsolute(text string) error {
	did, path, hasPath := strings.Cut(text, "/")
	method, id, _ := strings.Cut(did[len(didPrefix):], ":")
	switch {
	case !strings.HasPrefix(did, didPrefix):
		return fmt.Errorf("%q: write \"did:\" in lower case", did[:len(didPrefix)])
	case method == "" || id == "":
		return errors.New("a DID without method or id: write did:<method>:<id>, e.g. did:key:z6Mk…")
	case strings.ContainsFunc(method, func(c rune) bool { return !isLower(c) && !isDigit(c) }):
		return fmt.Errorf("DID method %q: use lower-case letters and digits only", method)
	case strings.HasSuffix(id, ":"):
		return errors.New("a DID that ends in a colon: write the id after it, or leave the colon out")
	}
	for i, c := range id {
		// checkText has refused the escapes of separators.
		_, escape := unescape(id[i:])
		if !isLower(c) && !isDigit(c) && (c < 'A' || c > 'Z') && !strings.ContainsRune("._:-", c) && !escape {
			return fmt.Errorf("DID id %s: only letters, digits, . _ : - and %%XX escapes are allowed", value.Quote(id))
		}
	}
	if !hasPath {
		return nil
	}
	return checkPath(path)
}

// unescape reads the %XX that text begins with, if it does.
func unescape(text string) (byte, bool) {
	if len(text) < 3 || text[0] != '%' {
		return 0, false
	}
	n, err := strconv.ParseUint(text[1:3], 16, 8)
	return byte(n), err == nil
}

func isLower(c rune) bool { return c >= 'a' && c <= 'z' }

func isDigit(c rune) bool { return c >= '0' && c <= '9' }

// isNumber reports whether the last part of a host makes an IPv4 address of it, which many programs
// read in any base and of fewer parts (WHATWG URL, "ends in a number").
func isNumber(part string) bool {
	hex, isHex := strings.CutPrefix(part, "0x")
	return part != "" && strings.Trim(part, "0123456789") == "" || isHex && strings.Trim(hex, "0123456789abcdef") == ""
}
