package caps

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"usher/caps/value"
)

// checkURI checks scheme://segment/segment. rest is what follows "scheme:/": it
// is empty for the whole scheme, and begins with a slash otherwise.
func checkURI(scheme, rest string) error {
	if scheme == "" || !isLower(scheme[0]) || strings.ContainsFunc(scheme, notSchemeRune) {
		lower := strings.ToLower(scheme)
		if lower != scheme && lower != "" && isLower(lower[0]) && !strings.ContainsFunc(lower, notSchemeRune) {
			return fmt.Errorf(`scheme %q: write "%s://" in lower case`, scheme, lower)
		}
		return fmt.Errorf("%q is no scheme: begin with a letter and use a-z, 0-9, +, . and - only", scheme+":")
	}
	if rest == "" {
		return nil
	}
	segments, ok := strings.CutPrefix(rest, "/")
	if !ok {
		return fmt.Errorf(`"%s:/" has one slash: write "%s://" and then the segments`, scheme, scheme)
	}
	if segments == "" {
		return fmt.Errorf(`an empty segment after "%s://": write "%s://" alone for the whole scheme`, scheme, scheme)
	}
	if err := checkSegments(segments); err != nil {
		return err
	}
	if scheme != "http" && scheme != "https" {
		return nil
	}
	authority, _, _ := strings.Cut(segments, "/")
	return checkAuthority(scheme, authority)
}

func notSchemeRune(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '.' || c == '-')
}

// checkAuthority checks the host and port of a web address. Several spellings
// reach the same server; one of them is canonical.
func checkAuthority(scheme, authority string) error {
	if strings.Contains(authority, "@") {
		return fmt.Errorf("a user name in %s: write the host alone", value.Quote(authority))
	}
	var host, port string
	var hasPort bool
	if strings.HasPrefix(authority, "[") {
		end := strings.LastIndexByte(authority, ']')
		if end < 0 {
			return fmt.Errorf("host %s: close the bracket", value.Quote(authority))
		}
		host, port = authority[:end+1], authority[end+1:]
		port, hasPort = strings.CutPrefix(port, ":")
		if !hasPort && port != "" {
			return fmt.Errorf("host %s: only a port may follow the bracket", value.Quote(authority))
		}
	} else {
		host, port, hasPort = strings.Cut(authority, ":")
	}
	if hasPort {
		if err := checkPort(scheme, port); err != nil {
			return err
		}
	}
	return checkHost(host)
}

func checkPort(scheme, port string) error {
	n, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || n == 0 || strconv.FormatUint(n, 10) != port:
		return fmt.Errorf("port %s: write a number from 1 to 65535 without leading zeros", value.Quote(port))
	case scheme == "http" && n == 80, scheme == "https" && n == 443:
		return fmt.Errorf("port %s is the default of %s: leave it out", port, scheme)
	}
	return nil
}

func checkHost(host string) error {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner = inner[:len(inner)-1]
		addr, err := netip.ParseAddr(inner)
		switch {
		case err != nil || !addr.Is6() || addr.Zone() != "":
			return fmt.Errorf("host %s: write an IPv6 address without a zone in the brackets", value.Quote(host))
		case addr.String() != inner:
			return fmt.Errorf("host %s: write [%s]", value.Quote(host), addr)
		}
		return nil
	}
	for _, c := range []byte(host) {
		switch {
		case isLower(c), isDigit(c), c == '-', c == '.', c == '_':
		case c >= 'A' && c <= 'Z':
			return fmt.Errorf("host %s: write %q", value.Quote(host), strings.ToLower(host))
		case c >= 0x80:
			return fmt.Errorf("host %s: write its ASCII form (xn--…)", value.Quote(host))
		default:
			return fmt.Errorf("host %s: only a-z, 0-9, - and . are allowed", value.Quote(host))
		}
	}
	switch {
	case host == "":
		return errors.New("an address without a host: write the host first")
	case strings.HasSuffix(host, "."):
		return fmt.Errorf("host %s: leave the trailing dot out", value.Quote(host))
	case strings.HasPrefix(host, "."), strings.Contains(host, ".."):
		return fmt.Errorf("host %s: two dots meet, or one begins it: write the plain host name", value.Quote(host))
	}
	return nil
}
