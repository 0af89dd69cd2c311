package reach_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"usher/tools/reach"
)

// A server at a private address, and one that speaks plain HTTP, is reached only while it is
// one of those that may.
func TestPrivate(t *testing.T) {
	answers := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	plain, secure := httptest.NewServer(answers), httptest.NewTLSServer(answers)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	var servers reach.Private
	get := func(to string) error {
		res, err := reach.Client(&servers).Get(to)
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	}
	host := strings.TrimPrefix(plain.URL, "http://")
	for name, tc := range map[string]struct {
		private []string
		to      string
		want    error
	}{
		"plain":                   {nil, plain.URL, reach.ErrPlain},
		"plain, of another port":  {[]string{"127.0.0.1"}, plain.URL, reach.ErrPlain},
		"plain, and allowed":      {[]string{host}, plain.URL, nil},
		"plain, and public":       {[]string{host}, "http://example.com", reach.ErrPlain},
		"secure":                  {nil, secure.URL, reach.ErrPrivate},
		"secure, of another port": {[]string{host}, secure.URL, reach.ErrPrivate},
	} {
		servers.Set(tc.private)
		if err := get(tc.to); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}
