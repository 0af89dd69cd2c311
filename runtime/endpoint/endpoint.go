// Package endpoint is what the providers of models behind an HTTP endpoint
// have in common, whatever they speak there: how settings, keys and headers
// are read and checked, where a request may go, and what its failures mean to
// the models above.
//
// A provider reads its configuration with [Read], checks where it leads with
// [Form.Base], and asks through a [Server], which takes the secrets out of
// whatever the other side says. A stream comes as [Events].
package endpoint

import (
	"net/netip"
	"net/url"
	"strings"
)

// Form is what a format's base addresses look like.
type Form struct {
	Default  string // the address where none is set; "" where one must be
	Example  string // shown where one is wrong, for example "https://host/v1"
	Endpoint string // the path that requests go to below it, for example "/chat/completions"
	Query    string // the settings that hold what some write as a query, for example "headers"
}

// Base parses text, which is the setting base_url, and refuses what would send
// key or conversation where they do not belong.
func (f Form) Base(text string, allowHTTP bool) (*url.URL, error) {
	if text == "" {
		text = f.Default
	}
	u, err := url.Parse(text)
	if err != nil {
		// The parser's error repeats the address, and a password with it.
		return nil, Bad("base_url", "is not an address: use one such as %s", f.Example)
	}
	switch {
	case u.User != nil:
		return nil, Bad("base_url", "holds a user name or password: remove it, and use key or headers")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, Bad("base_url", "ends in a query or fragment: remove it, and use %s", f.Query)
	case u.Hostname() == "":
		return nil, Bad("base_url", "%q names no host: use one such as %s", text, f.Example)
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), f.Endpoint):
		return nil, Bad("base_url", "%q names the endpoint itself: remove %s", text, f.Endpoint)
	case u.Scheme == "https":
	case u.Scheme != "http":
		return nil, Bad("base_url", "%q is neither https nor http: use one such as %s", text, f.Example)
	case !allowHTTP && !loopback(u.Hostname()):
		return nil, Bad("base_url", "%q sends key and conversation unencrypted to another machine: use https, or set allow_http: true", text)
	}
	return u, nil
}

func loopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Host is the server that u names: its host, and its port where that is not
// the scheme's own.
func Host(u *url.URL) string {
	switch {
	case u.Port() == "", u.Scheme == "https" && u.Port() == "443", u.Scheme == "http" && u.Port() == "80":
		return u.Hostname()
	}
	return u.Host
}
