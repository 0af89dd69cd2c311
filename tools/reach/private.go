package reach

import (
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// ErrPlain says that a server speaks plain HTTP.
var ErrPlain = errors.New("it speaks plain HTTP")

// dialTime is how long [Private] may take to connect.
const dialTime = 15 * time.Second

// Private are the servers that may have a private address and speak plain HTTP: all others are
// reached by https, at public addresses alone. The zero value has none. It is safe for
// concurrent use.
type Private struct{ hosts atomic.Pointer[[]string] }

// Set has other servers in place of those before, each as [Host] writes it.
func (p *Private) Set(hosts []string) { p.hosts.Store(&hosts) }

// RoundTrip sends one request. It fails with [ErrPlain], or an error that wraps [ErrPrivate],
// where the server would have to be one of them.
func (p *Private) RoundTrip(req *http.Request) (*http.Response, error) {
	list := p.hosts.Load()
	private := list != nil && slices.Contains(*list, Host(req.URL))
	if req.URL.Scheme != "https" && !private {
		return nil, ErrPlain
	}
	return Transport(dialTime, private).RoundTrip(req)
}
