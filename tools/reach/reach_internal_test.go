package reach

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestIsPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true, "::ffff:93.184.216.34": true,
		"127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "0.0.0.0": false, "0.1.2.3": false,
		"100.64.0.1": false, "198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false, "::": false, "fe80::1": false, "fe80::1%eth0": false,
		"fd00::1": false, "ff02::1": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::127.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false,
	} {
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("isPublic(%s) = %v", text, got)
		}
	}
}

// A name that leads into this machine is refused as its address is.
func TestPrivateAddressesAreAllowedOnly(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	byName := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	for _, at := range []string{server.URL, byName} {
		for _, private := range []bool{false, true} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			res, err := Transport(10*time.Second, private).RoundTrip(req)
			if err == nil {
				_ = res.Body.Close()
			}
			if errors.Is(err, ErrPrivate) == private || private && err != nil {
				t.Errorf("%s, private allowed %v: %v", at, private, err)
			}
		}
	}
}
