// Package endpoint is what the providers of models behind an HTTP endpoint
// have in common, whatever they speak there: how settings, keys and headers
// are read and checked, where a request may go, how an answer is read, and what
// its failures mean to the models above.
//
// A provider says what its format looks like in a [Form], reads its
// configuration with [Read], checks it with [Form.Check] and [Form.Base], and
// asks through [Form.Serve]'s [Server], which reads the keys anew at each
// request. It reads answers as an [Answer], and has its [Exchange] take the
// secrets out of whatever the other side says.
package endpoint

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"usher/tools/reach"
)

// Form is what the endpoints of a provider look like.
type Form struct {
	Name     string            // the provider's
	Speaks   string            // what is spoken there, for example "the Messages API"
	Default  string            // the vendor's own address
	Example  string            // shown where one is wrong, for example "https://host/v1"
	Endpoint string            // the path that requests go to below it, for example "/chat/completions"
	Query    string            // the settings that hold what some write as a query, for example "headers"
	Variable string            // that commonly holds a key, for example "OPENAI_API_KEY"
	Model    string            // shown where none is named
	Hottest  float64           // the highest temperature
	Taken    map[string]string // headers that may not be given: why, by canonical name
}

// Base parses text, which is the setting base_url, and refuses what would send
// key or conversation where they do not belong.
func (f *Form) Base(text string, allowHTTP bool) (*url.URL, error) {
	text = cmp.Or(text, f.Default)
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

// NeedsKey is an error where requests go to the vendor, who answers nobody
// without a key, and there is none: a header may hold one, too.
func (f *Form) NeedsKey(o *Options) error {
	own, _ := url.Parse(f.Default)
	if at, err := url.Parse(o.BaseURL); o.BaseURL != "" && (err != nil || !strings.EqualFold(at.Hostname(), own.Host)) {
		return nil //nolint:nilerr // what is no address is told of by itself
	}
	if o.Key != "" || slices.ContainsFunc(slices.Collect(maps.Keys(o.Headers)), holdsKey) {
		return nil
	}
	return Bad(KeySetting, "is missing, and %s answers nobody without one: write where it stands, for example key: env:%s", own.Host, f.Variable)
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

// newClient makes the HTTP client for requests to base. It follows no redirect: a
// redirect would take the conversation, and headers that are keys, to a host
// that nobody named. A nil transport is one of the client's own, which for an
// http address connects to this machine alone unless allowHTTP is set.
func newClient(base *url.URL, allowHTTP bool, transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = ownTransport(base.Scheme == "http" && !allowHTTP)
	}
	return reach.Client(transport)
}

func ownTransport(hereOnly bool) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 16
	if !hereOnly {
		return t
	}
	// The name said loopback; what it resolves to must be.
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		if to, err := netip.ParseAddrPort(address); err != nil || !to.Addr().Unmap().IsLoopback() {
			return fmt.Errorf("%s is not this machine: use https, or set allow_http: true", address)
		}
		return nil
	}
	t.Proxy, t.DialContext = nil, dialer.DialContext
	return t
}
