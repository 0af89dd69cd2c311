// Package reach is the way of this program to servers whose addresses others name: a
// webhook, an agent's call, a document that a server has sent. [Transport] connects to
// public addresses alone, unless private ones are allowed, so that nobody has the program
// speak to the machine or the network that it stands in.
package reach

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrPrivate says that an address is none of the public internet.
var ErrPrivate = errors.New("its address is private")

// maxHeader bounds the header of an answer, in bytes.
const maxHeader = 64 << 10

// Transport makes a connection for each request, within wait. It looks at the address
// itself, whatever name led to it, and fails with an error that wraps [ErrPrivate] where that
// is none of the public internet, unless private ones are allowed.
func Transport(wait time.Duration, private bool) *http.Transport {
	dialer := &net.Dialer{Timeout: wait}
	if !private {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if !isPublic(at.Addr()) {
				return ErrPrivate
			}
			return nil
		}
	}
	return &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader}
}

// lookTime is how long the name of a host is looked for.
const lookTime = 3 * time.Second

// Check says why an URL is none that [Transport] would send to: an https one, without a user,
// of a host that is none of the public internet is [ErrPrivate], as is one that nobody knows.
// Private ones may be http, too, where they are allowed. It is for whoever names an URL that
// is used later, and looked at again then.
func Check(ctx context.Context, text string, private bool) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "":
		return errURL // the error of a parser repeats a password
	case u.Scheme != "https" && (u.Scheme != "http" || !private):
		return errPlain
	case private:
		return nil
	}
	if at, err := netip.ParseAddr(u.Hostname()); err == nil {
		if !isPublic(at) {
			return ErrPrivate
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil || !slices.ContainsFunc(list, isPublic) { // which of them is not told
		return ErrPrivate
	}
	return nil
}

// Host is the host of an URL in one spelling, with the port where that is not the scheme's.
func Host(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "https":
		return strings.TrimSuffix(host, ":443")
	case "http":
		return strings.TrimSuffix(host, ":80")
	}
	return host
}

var (
	errURL   = errors.New("it is no URL of a host without a user and a fragment")
	errPlain = errors.New("it is no https URL")
)

// special are networks that net/netip takes for global, and that lead elsewhere
// (IANA's special-purpose registries).
var special = func() (list []netip.Prefix) {
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}()

// isPublic reports whether an address is one of the public internet.
func isPublic(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(ip) })
}
