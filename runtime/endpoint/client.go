package endpoint

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"usher/tools/reach"
)

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
